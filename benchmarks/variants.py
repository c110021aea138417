"""Compare variants derived from measurements with variants that are audited from files.

`syncaudit inject` writes changed timestamps of clips of ``sample_data`` and of real recordings
(``../shared/realdata``, skipped if absent), every variant is decoded and measured, and the same
errors are applied to the measurements of the originals. Reported are the largest difference between
the offsets of pairs, the verdicts and accepted pairs that differ, and the time of one variant
either way.
``python benchmarks/variants.py`` prints a table and writes ``benchmarks/out/variants.json``.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from syncaudit_calibration.inject import inject_variants
from tables import print_table, write_json

import syncaudit
from syncaudit.evaluation.change import Quantity, parse_changes
from syncaudit.evaluation.draw import Draw
from syncaudit.evaluation.injected import read_truth
from syncaudit.evaluation.replay import replayed_record
from syncaudit.evaluation.variants import moved_record
from syncaudit.model import Clip, ClipVerdict
from syncaudit.pipeline import conclude, examine

ROOT = Path(__file__).resolve().parents[1]
REAL = ROOT.parent / "shared" / "realdata"
OUT = ROOT / "benchmarks" / "out" / "variants.json"
SAMPLES = ("good", "cam_rear_early", "synthetic_stamps")
REALS = ("drive_can_imu", "phone_gyro", "two_imus")


def clips() -> list[Clip]:
    """Return the clips available on this machine."""
    found = syncaudit.load_manifest(str(ROOT / "sample_data" / "manifest.jsonl"))
    chosen = [clip for clip in found if clip.clip_id in SAMPLES]
    for name in REALS if REAL.is_dir() else ():
        chosen += syncaudit.load_manifest(str(REAL / name / "manifest.jsonl"))
    return chosen


def offsets(verdict: ClipVerdict) -> dict[tuple[str, str, str], float]:
    """Return the offsets of accepted pairs."""
    return {
        (pair.source, pair.target, pair.method): pair.offset_s
        for pair in verdict.pairs
        if pair.accepted and pair.offset_s is not None
    }


def reasons(verdict: ClipVerdict) -> set[tuple[str, str | None]]:
    """Return the codes and sources of a verdict's reasons."""
    return {(str(reason.code), reason.source) for reason in verdict.reasons}


def compared(one: ClipVerdict, other: ClipVerdict) -> tuple[float, bool, int]:
    """Return the largest offset difference, whether verdicts differ, and how many pairs do."""
    mine, theirs = offsets(one), offsets(other)
    worst_s = max((abs(mine[key] - theirs[key]) for key in mine.keys() & theirs), default=0.0)
    differs = one.verdict is not other.verdict or reasons(one) != reasons(other)
    return worst_s, differs, len(mine.keys() ^ theirs.keys())


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    policy = syncaudit.load_policy()
    rows = []
    for clip in clips():
        with TemporaryDirectory() as scratch:
            draw = Draw(parse_changes(["offset=5,20,50", "drift=100"]), np.random.default_rng(1))
            inject_variants([clip], Path(scratch), draw=draw, n_variants=8)
            truth = read_truth(str(Path(scratch) / "truth.jsonl"))
            written = syncaudit.load_manifest(str(Path(scratch) / "manifest.jsonl"))
            plain = syncaudit.audit(clip, policy)
            seen = examine(clip, policy, is_thorough=True)
            figures: dict[Quantity, list[tuple[float, bool, int, float, float]]] = {}
            for variant in written:
                row = truth[variant.clip_id]
                if row.is_control or plain.record is None:
                    continue
                began = time.process_time()
                audited = syncaudit.audit(variant, policy)
                audit_s = time.process_time() - began
                began = time.process_time()
                if row.change.quantity is Quantity.OFFSET:
                    record = moved_record(plain.record, row.moved, row.change.offset_s)
                else:
                    record = replayed_record(seen, row.moved, row.change, np.random.default_rng(0))
                _, made = conclude(replace(clip, recording_id=clip.clip_id), record, policy)
                made_s = time.process_time() - began
                figures.setdefault(row.change.quantity, []).append(
                    (*compared(audited, made), audit_s, made_s)
                )
            for quantity, found in figures.items():
                rows.append(
                    [
                        clip.clip_id, quantity.word, len(found),
                        1e6 * max(f[0] for f in found),
                        sum(f[1] for f in found),
                        sum(f[2] for f in found),
                        float(np.median([1e3 * f[3] for f in found])),
                        float(np.median([1e3 * f[4] for f in found])),
                    ]
                )  # fmt: skip
    header = [
        "clip", "moved", "n", "most (us)", "verdicts", "pairs", "audit (ms)", "made (ms)",
    ]  # fmt: skip
    print_table("Variants made of measurements, against audits of moved stamps", header, rows)
    write_json(OUT, {"rows": rows})


if __name__ == "__main__":
    main()
