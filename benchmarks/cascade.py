"""Hold audits that decode parts of videos (`--sparse`) to those that decode all of them.

Distinct simulated clips of three cameras, key frames 12 to 250 frames apart (`gop_clips.py`). Each
is audited both ways as it is, with one camera off by up to half its limit, and with faults of one
to two limits in one camera: an offset, a step at any instant, a drift that reaches so far at both
ends. An audit errs where it passes a fault, or rejects a clip without one. Cost: CPU of the audit
over that of bare decoding.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from base_clips import DURATION_S, OUT, STYLES, BaseClip, restamped
from gop_clips import CAMERAS, GOPS, gop_clip
from tables import print_table, write_json

from syncaudit.datasets import load_manifest
from syncaudit.decode import iter_luma
from syncaudit.model import CameraStream, FrameFiles
from syncaudit.pipeline import Examination, examine
from syncaudit.simulate import ClockFault

LIMIT_S = 0.010  # of cameras, policy `driving`
FAULTS = ("none", "small", "offset", "step", "drift")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One variant of a clip, audited both ways."""

    clip: int
    style: str
    gop: int
    fault: str
    size_s: float
    whole: str
    sparse: str
    share: float  # of the frames that the sparse audit decoded
    cost_whole: float
    cost_sparse: float


def main() -> int:
    """Print the tables and return 0: it never gates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=int, default=80)
    parser.add_argument("--styles", default="city,highway")
    parser.add_argument("--gops", help="code clips again so in turn, like 12,24")
    parser.add_argument("--variants", type=int, default=4, help="of each clip, with other stamps")
    parser.add_argument("--size", default="428x240")
    parser.add_argument("--rate", type=float, default=12.0, help="of cameras, Hz")
    parser.add_argument("--seed", type=int, default=31000)
    parser.add_argument("--limit-s", type=float, default=1e9, help="begin no clip after so long")
    parser.add_argument("--out", type=Path, default=OUT / "cascade.json")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    width, height = (int(part) for part in options.size.split("x"))
    found: list[Outcome] = []
    begun_s = time.monotonic()
    gops = [int(gop) for gop in (options.gops or "").split(",") if gop]
    for index in range(options.clips):
        if STYLES[index % len(STYLES)] not in options.styles.split(","):
            continue
        if time.monotonic() - begun_s > options.limit_s:
            break
        gop = gops[index // 2 % len(gops)] if gops else None
        base = gop_clip(
            index, size_px=(width, height), rate_hz=options.rate, seed=options.seed, gop=gop
        )
        found += _outcomes(index, base, options.variants)
        print(f"clip {index}: {time.monotonic() - begun_s:.0f} s", file=sys.stderr)
    _print(found)
    write_json(
        options.out,
        {"size": options.size, "rate_hz": options.rate, "outcomes": [vars(one) for one in found]},
    )
    return 0


def _outcomes(index: int, base: BaseClip, n_variants: int) -> list[Outcome]:
    rng = np.random.default_rng([base.seed, 25])
    bare_s = _bare_seconds(base.folder)
    found = []
    for number in range(1 + n_variants):
        fault = FAULTS[number] if number < 2 else str(rng.choice(FAULTS[2:]))
        size_s = float(rng.choice((-1.0, 1.0)) * rng.uniform(1.0, 2.0) * LIMIT_S)
        size_s *= 0.25 if fault == "small" else 1.0
        clock = _clock(fault, size_s, float(rng.uniform(0.05, 0.95)) * DURATION_S)
        name = str(rng.choice(CAMERAS))
        folder = base.folder
        if fault != "none":
            own = base.config.cameras[name]
            cameras = {**base.config.cameras, name: replace(own, clock=clock)}
            config = replace(base.config, cameras=cameras)
            folder = restamped(base, config, OUT / "variant_cascade")
        (clip,) = load_manifest(str(folder / "manifest.jsonl"))
        audits, costs = [], []
        for is_sparse in (False, True):
            begun_s = time.process_time()
            audits.append(examine(clip, is_sparse=is_sparse))
            costs.append((time.process_time() - begun_s) / bare_s)
        found.append(
            Outcome(
                clip=index,
                style=base.config.style,
                gop=next(iter(base.config.cameras.values())).gop,
                fault=fault,
                size_s=size_s,
                whole=str(audits[0].verdict.verdict),
                sparse=str(audits[1].verdict.verdict),
                share=_decoded_share(audits[1]),
                cost_whole=costs[0],
                cost_sparse=costs[1],
            )
        )
    return found


def _clock(fault: str, size_s: float, at_s: float) -> ClockFault:
    """Return a clock that is off by a size throughout, from an instant on, or at both ends."""
    usual = ClockFault(jitter_std_s=1e-4)
    if fault in ("small", "offset"):
        return replace(usual, offset_s=size_s)
    if fault == "step":
        return replace(usual, step_at_s=at_s, step_by_s=size_s)
    if fault == "drift":
        return replace(usual, drift_ppm=2e6 * size_s / DURATION_S)
    return usual


def _bare_seconds(folder: Path) -> float:
    """Return the CPU time of decoding the videos of a clip, the least of two."""
    spent_s = []
    for _ in range(2):
        begun_s = time.process_time()
        for path in sorted(folder.glob("*.mp4")):
            for _ in iter_luma(FrameFiles(paths=(str(path),))):
                pass
        spent_s.append(time.process_time() - begun_s)
    return min(spent_s)


def _decoded_share(seen: Examination) -> float:
    """Return which part of the frames of all cameras was in the end decoded."""
    cameras = [one for one in seen.streams.values() if isinstance(one, CameraStream)]
    n_decoded = sum(
        int(seen.evidence.excerpts[one.name].sum())
        if one.name in seen.evidence.excerpts
        else one.time_ns.size
        for one in cameras
    )
    return n_decoded / sum(one.time_ns.size for one in cameras)


def _print(found: list[Outcome]) -> None:
    rows: list[tuple[Any, ...]] = []
    for style in STYLES:
        for gop in GOPS:
            good = [one for one in found if (one.style, one.gop, one.fault) == (style, gop, "none")]
            if good:
                costs = [np.median([getattr(one, key) for one in good]) for key in COSTS]
                n_fast = sum(one.share < 1.0 for one in good)
                rows.append((f"{style}, GOP {gop}", len(good), n_fast, *map(float, costs)))
    print_table("good clips: medians", ("", "n", "in part", "share", "whole", "sparse"), rows)
    rows = []
    for fault in FAULTS:
        own = [one for one in found if one.fault == fault]
        if own:
            counts = Counter((one.whole, one.sparse) for one in own)
            told = ", ".join(f"{a} and {b}: {n}" for (a, b), n in sorted(counts.items()))
            wrong = "reject" if fault in ("none", "small") else "pass"
            rows.append(
                (
                    fault,
                    len(own),
                    sum(one.whole == wrong for one in own),
                    sum(one.sparse == wrong for one in own),
                    sum(one.whole != wrong == one.sparse for one in own),
                    told,
                )
            )
    header = ("fault", "n", "wrong whole", "sparse", "sparse alone", "whole and sparse")
    print_table("verdicts", header, rows)


COSTS = ("share", "cost_whole", "cost_sparse")


if __name__ == "__main__":
    sys.exit(main())
