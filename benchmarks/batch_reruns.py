"""Kill re-runs over clips that change, and check what readers of the output folders accept."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.batch import VerdictFile, run_batch
from syncaudit.datasets import clip_to_row
from syncaudit.errors import UsageError
from syncaudit.ingest import VerdictIndex
from syncaudit.model import (
    Clip,
    ClipVerdict,
    EventsSpec,
    Finding,
    ReasonCode,
    SourceVerdict,
    Verdict,
)
from syncaudit.policy import load_policy

_KINDS = ("pass", "reject", "unverified")
# Auditing a clip takes this long, so that kills fall between clips as well as at the end.
_CLIP_S = 0.002


def audit(clip: Clip, *_: object, **__: object) -> ClipVerdict:
    """Return the verdict that the clip's own file specifies."""
    time.sleep(_CLIP_S)
    verdict = Verdict((Path(clip.base_uri) / f"{clip.clip_id}.csv").read_text(encoding="ascii"))
    source = SourceVerdict(verdict=verdict, kind="events", clock="trigger")
    code = ReasonCode.GAP if verdict is Verdict.REJECT else ReasonCode.UNOBSERVABLE
    reasons = () if verdict is Verdict.PASS else (Finding(code=code, message="as its file says"),)
    return ClipVerdict(
        clip_id=clip.clip_id,
        recording_id=clip.recording_id,
        verdict=verdict,
        reasons=reasons,
        sources={"trigger": source},
    )


def reruns(folder: Path, *, n_clips: int, n_kills: int, seed: int) -> dict[str, Any]:
    """Change some clips, run, kill at a random moment, check what readers report, and repeat.

    Returns
    -------
    dict
        How often a reader accepted the folder of a killed run (``believed``), a clip was admitted
        although its file specifies another verdict (``stale``), a verdict recorded in the ledger
        was missing (``lost``), and a run that was allowed to finish differed from the files
        (``wrong``).
    """
    rng = random.Random(seed)  # noqa: S311  # moments, not secrets
    names = [f"clip{k:04d}" for k in range(n_clips)]
    said = dict.fromkeys(names, "pass")
    for name in names:
        _say(folder, name, said[name])
    clips = [
        Clip(
            clip_id=name,
            recording_id=name,
            base_uri=str(folder),
            sources={"trigger": EventsSpec(uri=f"{name}.csv")},
        )
        for name in names
    ]
    out, result = folder / "out", Counter[str](kills=0, believed=0, stale=0, lost=0, wrong=0)
    began = time.monotonic()
    _start(clips, out).join()
    whole_s = time.monotonic() - began
    while result["kills"] < n_kills:
        for name in rng.sample(names, rng.choice((1, n_clips // 10, n_clips))):
            said[name] = rng.choice(_KINDS)
            _say(folder, name, said[name])
        before = _known(out)
        process = _start(clips, out)
        _await_mark(process, out)
        process.join(0.001 * (whole_s * 1000.0) ** rng.random())
        if process.exitcode is None:
            os.kill(process.pid or 0, rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGQUIT)))
            process.join()
            result["kills"] += 1
            _look(out, said, before, result)
        if process.exitcode == 0 or result["kills"] % 7 == 6:
            _start(clips, out).join()
            result["finished"] += 1
            index = VerdictIndex.load(out)
            result["wrong"] += sum(index.verdict(name) != said[name] for name in names)
    return {"clips": n_clips, **result}


def _look(out: Path, said: dict[str, str], before: set[str], result: Counter[str]) -> None:
    """Compare what readers report of a killed run with its summary, ledger and files."""
    is_complete = json.loads((out / "summary.json").read_text(encoding="utf-8"))["complete"]
    for name in ("verdicts.parquet", "verdicts.jsonl"):
        try:
            index = VerdictIndex.load(out / name)
        except UsageError:
            continue
        result["believed"] += is_complete is not True
        result["stale"] += any(said[clip_id] != Verdict.PASS for clip_id in index.admitted())
    result["lost"] += len(before - _known(out))


def _known(out: Path) -> set[str]:
    return set(VerdictFile(out / "verdicts.jsonl", partial=True).clip_ids)


def _say(folder: Path, name: str, text: str) -> None:
    path = folder / f"{name}.csv"
    path.write_text(text, encoding="ascii")
    # File systems may have a time resolution of some ms: no two changes may share a timestamp.
    os.utime(path, ns=(0, int(np.random.default_rng().integers(1, 2**60))))


def _start(clips: list[Clip], out: Path) -> Any:
    def run() -> None:
        run_batch(clips, load_policy(None), out=out, workers=0, audit=audit, to_row=clip_to_row)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    return process


def _await_mark(process: Any, out: Path) -> None:
    """Wait until a run has begun, as indicated by its summary."""
    while process.is_alive():
        summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        if summary["complete"] is not True:
            return
        time.sleep(0.0005)
