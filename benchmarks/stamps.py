"""Acceptance of true timestamps and rejection of wrong ones: real-world devices, and faults.

Each row is one kind of device (`stamp_processes.py`). Its true timestamps must not be rejected; the
same timestamps with a fault planted should be. Cameras are judged twice: by their timestamps alone,
and with the rotation of their frames against a gyroscope (exact rotations plus noise; no images).
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from base_clips import OUT
from numpy.typing import NDArray
from recordings import REALDATA
from stamp_processes import FAULTS, PROCESSES, Process
from stamp_recordings import real_columns
from tables import print_table, write_json

from syncaudit.detectors import audit_streams
from syncaudit.detectors.stamps.clock import regular_times_s
from syncaudit.estimators.rotation import measure_camera_gyro
from syncaudit.model import (
    Activity,
    AudioSpec,
    AudioStream,
    CameraSpec,
    CameraStream,
    CanSpec,
    Channel,
    Clip,
    ClipRecord,
    ClipVerdict,
    EventsSpec,
    EventStream,
    FrameFiles,
    ImuSpec,
    PairMeasurement,
    Quantity,
    RotationIncrements,
    SignalStream,
    SourceKind,
    SourceSpec,
    StateSpec,
    Stream,
)
from syncaudit.pipeline.conclude import conclude
from syncaudit.policy import Policy, load_policy

Floats = NDArray[np.float64]
EPOCH_NS = 1_767_225_600_000_000_000
STAMP_CODES = {"jitter", "gap", "missing_frames", "duplicate", "backwards", "step", "rate"}
SOUND_HZ = 16_000.0
GYRO_HZ = 200.0
SPECS: dict[str, SourceSpec] = {
    "camera": CameraSpec(uri="x.mp4"),
    "imu": ImuSpec(uri="x.csv"),
    "can": CanSpec(uri="x.csv"),
    "audio": AudioSpec(uri="x.wav"),
    "events": EventsSpec(uri="x.csv"),
    "state": StateSpec(uri="x.csv"),
}


class Motion:
    """Smooth random rotation about three axes, its angles known at any instant."""

    def __init__(self, rng: np.random.Generator) -> None:
        n = 80
        self.rates = np.exp(rng.uniform(np.log(0.3), np.log(18.0), n))  # rad/s: 0.05 to 3 Hz
        self.phases = rng.uniform(0.0, 2 * np.pi, (n, 3))
        self.sizes = rng.normal(0.0, 0.05, (n, 3)) / (1.0 + (self.rates / 6.0)[:, None])

    def rate(self, times: Floats) -> Floats:
        """Return rad/s, shape (n, 3)."""
        waves = np.sin(times[:, None, None] * self.rates[:, None] + self.phases)
        return np.asarray((waves * self.sizes).sum(axis=1))

    def angle(self, times: Floats) -> Floats:
        """Return rad, shape (n, 3)."""
        waves = np.cos(times[:, None, None] * self.rates[:, None] + self.phases)
        return np.asarray(-(waves * self.sizes / self.rates[:, None]).sum(axis=1))


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=30, help="per device and fault")
    parser.add_argument("--seed", type=int, default=7000)
    parser.add_argument("--only", default="", help="devices whose name holds this")
    parser.add_argument("--span", default="15,40", help="seconds, shortest and longest")
    parser.add_argument("--true-only", action="store_true", help="plant no faults")
    parser.add_argument("--stamps-only", action="store_true", help="measure no content")
    parser.add_argument("--profile", default="driving")
    parser.add_argument("--out", type=Path, default=OUT / "stamps.json")
    options = parser.parse_args()
    begun = time.time()
    policy = load_policy(profile=options.profile)
    spans = tuple(float(part) for part in options.span.split(","))
    faults = ("none",) if options.true_only else ("none", *FAULTS)
    rows: list[dict[str, Any]] = []
    for number, (name, process) in enumerate(PROCESSES.items()):
        if options.only not in name:
            continue
        with_content = process.kind == "camera" and not options.stamps_only
        for fault in faults:
            if fault != "none" and process.kind not in FAULTS[fault].kinds:
                continue
            for k in range(options.cases):
                rows += [
                    _case(name, process, fault, [options.seed, number, k], policy, spans, has)
                    for has in ((False, True) if with_content else (False,))
                ]
    _print_true(rows)
    if not options.true_only:
        _print_faults(rows)
    real = [] if options.only or not REALDATA.is_dir() else _recordings(policy)
    print(f"  {time.time() - begun:.0f} s")
    write_json(
        options.out,
        {"cases": options.cases, "seed": options.seed, "rows": rows, "recordings": real},
    )
    return 0


def _recordings(policy: Policy) -> list[dict[str, Any]]:
    """Return, and print, the verdicts on the true timestamps of real recordings."""
    rows = []
    for name, kind, stamps in real_columns():
        audit = audit_streams({"x": _stream(kind, stamps)})["x"]
        verdict = _judged(kind, audit, [], float(stamps[-1] - stamps[0]) * 1e-9, policy)
        is_rejected = str(verdict.sources["x"].verdict) == "reject"
        found = [f.message for f in verdict.reasons if f.source == "x"] if is_rejected else []
        rows.append({"column": name, "kind": kind, "is_rejected": is_rejected, "messages": found})
    counts: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        counts[f"{row['column'].split(',')[0]} ({row['kind']})"].append(row["is_rejected"])
    print_table(
        "Real recordings, whole and cut to windows",
        ("column", "cases", "rejected"),
        [(name, len(own), sum(own)) for name, own in counts.items()],
    )
    print(f"  rejected {sum(row['is_rejected'] for row in rows)} of {len(rows)}")
    return rows


def _case(
    name: str,
    process: Process,
    fault: str,
    seed: list[int],
    policy: Policy,
    spans_s: tuple[float, ...],
    has_content: bool,
) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    span_s = float(rng.uniform(*spans_s))
    times = process.sample(span_s, rng)
    tick_s = float(rng.choice(process.ticks_s))
    stamps = times
    if fault != "none":
        limits = policy.limits("x", process.kind)
        limit_s = limits.step_s if fault == "clock steps" else limits.jitter_s
        times, stamps = FAULTS[fault].spoil(times, limit_s or 0.01, rng)
    stamps = np.rint(stamps / tick_s) * tick_s
    stream = _stream(process.kind, EPOCH_NS + np.rint(stamps * 1e9).astype(np.int64))
    audit = audit_streams({"x": stream})["x"]
    measured = [_measured(times, stamps, rng)] if has_content else []
    verdict = _judged(process.kind, audit, measured, span_s, policy)
    of_source = [f for f in verdict.reasons if f.source == "x"]
    is_rejected = str(verdict.sources["x"].verdict) == "reject"
    codes = [str(f.code) for f in of_source] if is_rejected else []
    told = {str(f.code) for f in (*of_source, *verdict.warnings) if f.source == "x"}
    wanted = set(FAULTS[fault].codes) if fault != "none" else STAMP_CODES
    return {
        "device": name,
        "kind": process.kind,
        "fault": fault,
        "seed": seed,
        "has_content": has_content,
        "verdict": str(verdict.sources["x"].verdict),
        "codes": codes,
        "is_found": bool(wanted & set(codes)),
        "is_told": bool(wanted & told),
        "stamp_share": measured[0].diagnostics.get("stamp_share") if measured else None,
        "accepted": [m.accepted for m in measured],
        "messages": [f.message for f in of_source],
        "warnings": [f.message for f in verdict.warnings if f.source == "x"],
    }


def _stream(kind: str, stamps: NDArray[np.int64]) -> Stream:
    if kind == "camera":
        return CameraStream(
            name="x",
            clock="x",
            kind=SourceKind.CAMERA,
            time_ns=stamps,
            files=FrameFiles(paths=("x.mp4",)),
        )
    if kind == "audio":
        anchors = (np.arange(stamps.size) * SOUND_HZ).astype(np.int64)
        return AudioStream(
            name="x",
            clock="x",
            kind=SourceKind.AUDIO,
            time_ns=stamps,
            anchor_samples=anchors,
            rate_hz=SOUND_HZ,
            samples=np.zeros(int(anchors[-1]) + 1, dtype=np.float32),
        )
    if kind == "events":
        return EventStream(name="x", clock="x", kind=SourceKind.EVENTS, time_ns=stamps)
    channel = Channel(name="speed", time_ns=stamps, values=np.zeros((stamps.size, 1)))
    channels = () if kind == "imu" else (channel,)
    return SignalStream(
        name="x", clock="x", kind=SourceKind(kind), time_ns=stamps, channels=channels
    )


def _measured(times: Floats, stamps: Floats, rng: np.random.Generator) -> PairMeasurement:
    """Return what the rotation of frames, taken at `times`, shows about their timestamps."""
    motion = Motion(rng)
    noise_rad = np.radians(float(np.exp(rng.uniform(np.log(0.02), np.log(0.1)))))
    turned = np.diff(motion.angle(times), axis=0)
    usable = np.diff(stamps) > 1e-4
    gyro_s = np.arange(-3.0, times[-1] + 3.0, 1.0 / GYRO_HZ)
    zeros = np.zeros((int(usable.sum()), 3, 3))
    regular_s = regular_times_s(stamps)
    regular = (None, None) if regular_s is None else (regular_s[:-1][usable], regular_s[1:][usable])
    camera = RotationIncrements(
        source="x",
        epoch_ns=EPOCH_NS,
        start_s=stamps[:-1][usable],
        stop_s=stamps[1:][usable],
        angles_rad=(turned + rng.normal(0.0, noise_rad, turned.shape))[usable],
        std_rad=np.full((int(usable.sum()), 3), noise_rad),
        row_moments_px=zeros,
        row_moves_px=zeros,
        height_px=480,
        line_delay_s=0.0,
        has_focal=True,
        regular_start_s=regular[0],
        regular_stop_s=regular[1],
    )
    gyro = Activity(
        source="gyro",
        quantity=Quantity.ANGULAR_RATE,
        epoch_ns=EPOCH_NS,
        times_s=gyro_s,
        values=motion.rate(gyro_s) + rng.normal(0.0, 0.002, (gyro_s.size, 3)),
    )
    return measure_camera_gyro(camera, gyro, max_offset_s=2.0)


def _judged(
    kind: str, audit: Any, measured: list[PairMeasurement], span_s: float, policy: Policy
) -> ClipVerdict:
    clip = Clip(
        clip_id="case",
        recording_id="case",
        sources={"x": SPECS[kind], "gyro": ImuSpec(uri="gyro.csv")},
        base_uri="",
    )
    record = ClipRecord(
        at_ns=EPOCH_NS + int(0.5e9 * span_s),
        span_s=span_s,
        max_offset_s=2.0,
        stamps={"x": audit},
        measurements=tuple(measured),
    )
    return conclude(clip, record, policy)[1]


def _print_true(rows: list[dict[str, Any]]) -> None:
    groups: dict[tuple[str, bool], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["fault"] == "none":
            groups[row["device"], row["has_content"]].append(row)
    table = []
    for (device, has_content), own in groups.items():
        rejected = [row for row in own if row["is_found"]]
        codes = Counter(code for row in rejected for code in set(row["codes"]))
        most = max((max(Counter(r["codes"]).values(), default=0) for r in own), default=0)
        table.append(
            (
                device + (", with gyro" if has_content else ""),
                len(own),
                len(rejected),
                sum(row["verdict"] == "pass" for row in own) if has_content else None,
                most,
                ", ".join(f"{code} {n}" for code, n in codes.most_common()),
            )
        )
    print_table(
        "True stamps",
        ("device", "cases", "rejected", "passed", "reasons of one code", "codes"),
        table,
    )
    n = sum(len(own) for own in groups.values())
    print(f"  rejected {sum(line[2] for line in table)} of {n}")


def _print_faults(rows: list[dict[str, Any]]) -> None:
    groups: dict[tuple[str, str, bool], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["fault"] != "none":
            clock = "a clock" if PROCESSES[row["device"]].has_clock else "no clock"
            key = (row["fault"], f"{row['kind']}, {clock}", row["has_content"])
            groups[key].append(row)
    print_table(
        "Wrong stamps",
        ("fault", "kind", "cases", "rejected for it", "or warned of it", "rejected", "passed"),
        [
            (
                fault,
                kind + (", with gyro" if has_content else ""),
                len(own),
                sum(row["is_found"] for row in own),
                sum(row["is_told"] for row in own),
                sum(row["verdict"] == "reject" for row in own),
                sum(row["verdict"] == "pass" for row in own),
            )
            for (fault, kind, has_content), own in sorted(groups.items())
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
