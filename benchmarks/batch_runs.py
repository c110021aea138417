"""Runs of many clips: speed and memory over a run, kills, shards, and Ray vs. local workers."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from itertools import count
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from batch_clips import link_clips, video_clips

import syncaudit.pipeline  # noqa: F401  # forked runs must find it imported
from syncaudit.batch import merge_shards, read_shard, run_batch
from syncaudit.batch.memory import held_bytes
from syncaudit.datasets import clip_to_row, load_manifest
from syncaudit.errors import UsageError
from syncaudit.ingest import VerdictIndex
from syncaudit.policy import load_policy

# Integer results of a run that depend on how busy the machine is.
_TIMES = ("seconds", "stages")
_OUTPUTS = ("passed.jsonl", "rejected.jsonl", "unverified.jsonl", "recordings.jsonl")


def rows_of(out: Path) -> list[dict[str, Any]]:
    """Return the verdict rows without fields that depend on the machine's load."""
    with (out / "verdicts.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [{key: value for key, value in row.items() if key not in _TIMES} for row in rows]


def _validate(clips: Any, out: Path, **options: Any) -> Any:
    return run_batch(clips, load_policy(None), out=out, to_row=clip_to_row, **options)


class _Sampler(threading.Thread):
    """Record the memory of this process and its workers every half second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: list[tuple[float, float, float]] = []
        self._end = threading.Event()

    def run(self) -> None:
        while not self._end.wait(0.5):
            workers = [
                held_bytes(child.pid or -1) or 0 for child in multiprocessing.active_children()
            ]
            own = held_bytes(os.getpid()) or 0
            self.seen.append((time.monotonic(), own / 2**20, max(workers, default=0) / 2**20))

    def stop(self) -> None:
        self._end.set()
        self.join()


def scale(folder: Path, *, n_clips: int, workers: int) -> dict[str, Any]:
    """Audit many clips without video; return throughput and memory by tenths of the run."""
    clips = load_manifest(str(link_clips(folder, n_clips, per_recording=100)))
    marks: list[float] = []
    sampler = _Sampler()
    sampler.start()
    began = time.monotonic()
    summary = _validate(
        clips, folder / "out", workers=workers, on_progress=lambda _: marks.append(time.monotonic())
    )
    ended = time.monotonic()
    sampler.stop()
    tenths = []
    for k in range(10):
        first, last = marks[k * n_clips // 10], marks[(k + 1) * n_clips // 10]
        held = [seen for seen in sampler.seen if first <= seen[0] <= last]
        tenths.append(
            {
                "clips_per_s": (n_clips // 10) / (last - first),
                "own_mib": max((seen[1] for seen in held), default=0.0),
                "worker_mib": max((seen[2] for seen in held), default=0.0),
            }
        )
    before = time.monotonic()
    again = _validate(clips, folder / "out", workers=workers)
    return {
        "clips": n_clips,
        "workers": workers,
        "counts": summary.counts,
        "clips_per_s": n_clips / (marks[-1] - began),
        "cpu_s_per_clip": summary.tally.cpu_s / n_clips,
        "outputs_s": ended - marks[-1],
        "outputs_own_mib": max((s[1] for s in sampler.seen if s[0] > marks[-1]), default=0.0),
        "again_s": time.monotonic() - before,
        "again_reused": again.reused,
        "tenths": tenths,
    }


def run_on_ray(folder: Path, *, n_clips: int, workers: int) -> dict[str, Any]:
    """Audit video clips with local workers and with a Ray cluster on this machine."""
    import ray

    clips = load_manifest(str(video_clips(folder, n_clips)))
    local = _validate(clips, folder / "local", workers=workers)
    try:
        on_ray = _validate(clips, folder / "ray", workers=workers, engine="ray")
    finally:
        ray.shutdown()
    return {
        "clips": n_clips,
        "counts": local.counts,
        "wrong_clips": _differences(folder / "local", folder / "ray"),
        "local_s": local.wall_s,
        "ray_s": on_ray.wall_s,
    }


def shards(folder: Path, *, n_clips: int, workers: int, count: int = 8) -> dict[str, Any]:
    """Audit a manifest in one run, and as shards that are merged."""
    clips = load_manifest(str(link_clips(folder, n_clips)))
    _validate(clips, folder / "whole", workers=workers)
    parts = []
    for k in range(count):
        out, part = folder / f"part{k + 1}", clips[k::count]
        _validate(part, out, workers=workers, about={"shard": {"number": k + 1, "count": count}})
        parts.append(read_shard(out, part))
    merge_shards(parts, out=folder / "merged", to_row=clip_to_row)
    return {
        "clips": n_clips,
        "shards": count,
        "wrong_clips": _differences(folder / "whole", folder / "merged"),
        "wrong_files": _different_files(folder / "whole", folder / "merged"),
    }


def kills(folder: Path, *, n_clips: int, n_kills: int, seed: int) -> dict[str, Any]:
    """Kill runs at random moments and resume each time, until all clips are done.

    SIGKILL goes to the whole process group, at a moment after the run has opened its ledger that is
    log-uniform between 10 ms and the length of a whole run. Every fifth run uses the command line
    with two workers; the others audit in a process forked from this one, which starts immediately.
    After every fourth kill some bytes at the end of the ledger are lost as well, as after a power
    failure; every seventh run has a different policy. A run that ends before it is killed ends a
    series; the next one starts from scratch.
    """
    rng = random.Random(seed)  # noqa: S311  # moments, not secrets
    manifest, whole = link_clips(folder, n_clips), folder / "whole"
    _fork(manifest, whole, profile=None, is_command=True).join()
    wall_s = json.loads((whole / "summary.json").read_text())["wall_s"]
    result: dict[str, Any] = {
        "clips": n_clips,
        "kills": 0,
        "series": 0,
        "while_writing": 0,
        "believed": 0,
    }
    result |= {"torn": [], "wrong_clips": 0, "wrong_files": [], "left_over": []}
    runs = count()
    while True:
        out = folder / f"out{result['series']}"
        for run in runs:
            is_last = result["kills"] >= n_kills
            profile = "vla" if run % 7 == 6 and not is_last else None
            process = _fork(manifest, out, profile=profile, is_command=run % 5 == 0)
            _await_lock(process, out / ".verdicts.jsonl.lock")
            process.join(None if is_last else 0.01 * (wall_s * 100.0) ** rng.random())
            if process.exitcode is not None:
                if profile is None:
                    break
                continue
            os.killpg(process.pid or 0, signal.SIGKILL)
            process.join()
            result["kills"] += 1
            result["while_writing"] += any(out.glob(".*.part"))
            result["torn"] += _torn(out)
            result["believed"] += _is_believed(out)
            ledger = out / "verdicts.jsonl"
            if result["kills"] % 4 == 0 and ledger.exists():
                os.truncate(ledger, max(0, ledger.stat().st_size - rng.randrange(1, 400)))
        result["series"] += 1
        result["wrong_clips"] += _differences(whole, out)
        result["wrong_files"] += _different_files(whole, out)
        result["left_over"] += [
            path.name for path in out.glob(".*") if path.suffix not in (".lock", ".pooled")
        ]
        if is_last:
            return result


def _fork(manifest: Path, out: Path, *, profile: str | None, is_command: bool) -> ForkProcess:
    """Start a run in a process group of its own."""

    def run() -> None:
        os.setsid()
        if is_command:
            command = [sys.executable, "-c", "from syncaudit.cli import main; main()", "validate"]
            command += [str(manifest), "--out", str(out), "--quiet", "--fail-on", "never", "-j2"]
            command += ["--profile", profile] if profile else []
            os.execv(sys.executable, command)  # noqa: S606  # our own command
        rules = load_policy(None, profile=profile)
        run_batch(load_manifest(str(manifest)), rules, out=out, workers=0, to_row=clip_to_row)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    return process


def _await_lock(process: ForkProcess, path: Path) -> None:
    """Wait until a run has opened its ledger or has ended."""
    while process.is_alive():
        locks = Path("/proc/locks").read_text(encoding="ascii")
        if path.exists() and f":{path.stat().st_ino} " in locks:
            return
        time.sleep(0.01)


def _differences(one: Path, other: Path) -> int:
    """Return how many rows of two runs differ, including those that only one run has."""
    first, second = rows_of(one), rows_of(other)
    pairs = zip(first, second, strict=False)
    return sum(a != b for a, b in pairs) + abs(len(first) - len(second))


def _different_files(one: Path, other: Path) -> list[str]:
    names = [name for name in _OUTPUTS if (one / name).exists() or (other / name).exists()]
    return [name for name in names if (one / name).read_bytes() != (other / name).read_bytes()]


def _is_believed(out: Path) -> bool:
    """Return whether a loader accepts the output of a killed run that is not marked complete."""
    try:
        VerdictIndex.load(out)
    except UsageError:
        return False
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    return summary["complete"] is not True


def _torn(out: Path) -> list[str]:
    """Return the outputs that a reader could not use; the ledger's last line may be truncated."""
    broken = []
    for path in out.glob("[!.]*.json*"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if path.name == "verdicts.jsonl" and lines and not lines[-1].endswith("\n"):
            lines.pop()
        for line in lines if path.suffix == ".jsonl" else ["".join(lines)]:
            try:
                json.loads(line)
            except ValueError:
                broken.append(path.name)
                break
    return broken
