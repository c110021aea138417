"""Scaling of an audit with cameras, seconds and clips; its memory; two workers against one."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from base_clips import BaseClip, manifest_row

from syncaudit.datasets import load_manifest
from syncaudit.model import CameraSpec, Clip
from syncaudit.pipeline import audit

N_CAMERAS = (1, 2, 4, 6)
SECONDS = (5, 10, 20)
N_CLIPS = (1, 2, 4)
# Peak resident memory of a program, in KiB; getrusage would include the peak of the parent.
_PEAK = "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
_IMPORTS = "import syncaudit.pipeline, syncaudit.datasets, av, cv2"
_AUDIT = """
import sys
from syncaudit.datasets import load_manifest
from syncaudit.pipeline import audit
(clip,) = load_manifest(sys.argv[1])
audit(clip)
"""


def growth(base: BaseClip, runs: int) -> dict[str, Any]:
    """Return CPU seconds by number of cameras, length and number of clips, with exponents."""
    (clip,) = load_manifest(str(base.folder / "manifest.jsonl"))
    works = {
        "cameras": [(n, [_with_cameras(clip, n)]) for n in N_CAMERAS],
        "seconds": [(n, [_of_length(clip, n)]) for n in SECONDS],
        "clips": [(n, [clip] * n) for n in N_CLIPS],
    }
    spent_s: dict[tuple[str, int], list[float]] = {}
    audit(clip)
    for _ in range(runs):
        for name, cases in works.items():
            for n, clips in cases:
                begun_s = time.process_time()
                for one in clips:
                    audit(one)
                spent_s.setdefault((name, n), []).append(time.process_time() - begun_s)
    found = {}
    for name, cases in works.items():
        counts = [n for n, _ in cases]
        seconds = [statistics.median(spent_s[name, n]) for n in counts]
        exponent = float(np.polyfit(np.log(counts), np.log(seconds), 1)[0])
        found[name] = {"counts": counts, "seconds": seconds, "exponent": exponent}
    return found


def _with_cameras(clip: Clip, n_cameras: int) -> Clip:
    cameras = [name for name, spec in clip.sources.items() if isinstance(spec, CameraSpec)]
    left_out = cameras[n_cameras:]
    sources = {name: spec for name, spec in clip.sources.items() if name not in left_out}
    return replace(clip, sources=sources)


def _of_length(clip: Clip, seconds: int) -> Clip:
    assert clip.start_ns is not None
    return replace(clip, end_ns=clip.start_ns + seconds * 10**9)


def memory(base: BaseClip) -> dict[str, float]:
    """Return the peak resident MiB of fresh processes: imports alone, and an audit."""
    return {
        "imports alone": _peak_mib(_IMPORTS, base.folder),
        "whole audit": _peak_mib(_AUDIT, base.folder),
    }


def _peak_mib(program: str, folder: Path) -> float:
    command = [sys.executable, "-c", f"{program}\n{_PEAK}", str(folder / "manifest.jsonl")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  # our own
    return int(done.stdout.split()[-1]) / 1024.0


def scaling(base: BaseClip, folder: Path, *, n_clips: int) -> dict[str, Any]:
    """Validate copies of the clip with one and two workers, in turn; return wall and CPU time."""
    manifest = _copies(base, folder, n_clips)
    rows = [_validate(manifest, folder / f"out{k}", n) for k, n in enumerate((1, 2, 2, 1))]
    wall_s = {n: min(row["wall_s"] for row in rows if row["workers"] == n) for n in (1, 2)}
    return {"clips": n_clips, "rows": rows, "speedup": wall_s[1] / wall_s[2]}


def _copies(base: BaseClip, folder: Path, n_clips: int) -> Path:
    lines = []
    for k in range(n_clips):
        place = folder / f"clip{k}"
        place.mkdir()
        for file in base.folder.iterdir():
            os.link(file, place / file.name)
        row = json.loads(json.dumps(manifest_row(base.folder)))
        for spec in row["sources"].values():
            for key in ("uri", "timestamps"):
                if key in spec:
                    spec[key] = f"{place.name}/{spec[key]}"
        lines.append(json.dumps(row | {"clip_id": f"clip{k}"}))
    path = folder / "manifest.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _validate(manifest: Path, out: Path, workers: int) -> dict[str, Any]:
    command: Sequence[str] = (
        *(sys.executable, "-c", "from syncaudit.cli import main; main()", "validate"),
        *(str(manifest), "--out", str(out), "--quiet", "--fail-on", "never", f"-j{workers}"),
    )
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  # our own
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    return {"workers": workers, "wall_s": summary["wall_s"], "cpu_s": summary["cpu_s"]}
