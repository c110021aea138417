"""Coverage of the claimed errors: Monte Carlo of the estimators on signals, without images.

Motion, gyro and CAN signals come from the simulator; a camera is the exact rotation between its
frames plus white noise. This tests the estimation of offset, drift and their standard errors,
independently of how well rotation is tracked in real images (`accuracy.py`).
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from base_clips import OUT
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from tables import print_table, write_json

from syncaudit.estimators.inertial import measure_imu_imu
from syncaudit.estimators.rotation import measure_camera_camera, measure_camera_gyro
from syncaudit.estimators.vehicle import measure_can_imu
from syncaudit.model import Activity, PairMeasurement, Quantity, RotationIncrements
from syncaudit.simulate import SIX_CAMERAS, ImuConfig, Motion, simulate_motion
from syncaudit.simulate.can_bus import sample_signals
from syncaudit.simulate.imu import measure_imu

Floats = NDArray[np.float64]

MAX_OFFSET_S = 1.0
FRAME_RATE_HZ = 12.0
JITTER_STD_S = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Clock model: ``t_ref = t_src + offset_s + drift * (t_src - middle_s)``."""

    offset_s: float
    drift: float
    middle_s: float

    def stamps(self, times_s: Floats) -> Floats:
        """Return the source's timestamps of reference times."""
        return self.middle_s + (times_s - self.middle_s - self.offset_s) / (1 + self.drift)

    def offset_at(self, stamp_s: float) -> float:
        """Return the offset at one timestamp."""
        return self.offset_s + self.drift * (stamp_s - self.middle_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One drive with its clock fault and random streams."""

    motion: Motion
    duration_s: float
    clock: Clock
    rng: np.random.Generator
    noise_rad: float
    frame_rate_hz: float = FRAME_RATE_HZ

    def times(self, rate_hz: float) -> Floats:
        """Return true sample times with a random phase."""
        return np.arange(self.rng.uniform(0, 1 / rate_hz), self.duration_s, 1 / rate_hz)

    def stamps(self, times_s: Floats, *, is_source: bool) -> Floats:
        """Return jittered timestamps on the source's or on the reference clock."""
        exact = self.clock.stamps(times_s) if is_source else times_s
        return exact + self.rng.normal(0.0, JITTER_STD_S, exact.size)

    def imu(
        self, name: str, *, is_source: bool, rate_hz: float = 200.0
    ) -> dict[Quantity, Activity]:
        """Return the IMU's measurements."""
        times = self.times(rate_hz)
        reading = measure_imu(self.motion, times, ImuConfig(rate_hz=rate_hz), self.rng)
        stamps = self.stamps(times, is_source=is_source)
        return {
            quantity: Activity(
                source=name, quantity=quantity, epoch_ns=0, times_s=stamps, values=values
            )
            for quantity, values in (
                (Quantity.ANGULAR_RATE, reading[:, :3]),
                (Quantity.SPECIFIC_FORCE, reading[:, 3:]),
            )
        }

    def camera(self, name: str, *, is_source: bool) -> RotationIncrements:
        """Return the rotation increments of one of the six cameras."""
        mount = SIX_CAMERAS[name].body_from_camera()
        times = self.times(self.frame_rate_hz)
        pose = self.motion.orientation(times) @ mount
        change = np.einsum("nji,njk->nik", pose[:-1], pose[1:])
        angles = Rotation.from_matrix(change).as_rotvec()
        stamps = self.stamps(times, is_source=is_source)
        zeros = np.zeros((len(angles), 3, 3))
        return RotationIncrements(
            source=name,
            epoch_ns=0,
            start_s=stamps[:-1],
            stop_s=stamps[1:],
            angles_rad=angles + self.rng.normal(0.0, self.noise_rad, angles.shape),
            std_rad=np.full_like(angles, self.noise_rad),
            row_moments_px=zeros,
            row_moves_px=zeros,
            height_px=480,
            line_delay_s=0.0,
            has_focal=True,
        )

    def can(self) -> dict[Quantity, Activity]:
        """Return yaw rate and accelerations of the bus at 50 Hz."""
        times = self.times(50.0)
        values = sample_signals(self.motion, times, np.empty(0), self.rng)
        stamps = self.stamps(times, is_source=True)
        return {
            quantity: Activity(
                source="can",
                quantity=quantity,
                epoch_ns=0,
                times_s=stamps,
                values=factor * values[role][:, None],
            )
            for role, quantity, factor in (
                ("yaw_rate", Quantity.YAW_RATE, np.pi / 180),
                ("lateral_accel", Quantity.LATERAL_ACCEL, 1.0),
                ("long_accel", Quantity.LONG_ACCEL, 1.0),
            )
        }


def _camera_gyro(case: Case) -> list[PairMeasurement]:
    gyro = case.imu("imu", is_source=False)[Quantity.ANGULAR_RATE]
    camera = case.camera("cam_front", is_source=True)
    return [measure_camera_gyro(camera, gyro, max_offset_s=MAX_OFFSET_S)]


def _camera_camera(case: Case) -> list[PairMeasurement]:
    source = case.camera("cam_front_left", is_source=True)
    target = case.camera("cam_front", is_source=False)
    return [measure_camera_camera(source, target, max_offset_s=MAX_OFFSET_S)]


def _imu_imu(case: Case) -> list[PairMeasurement]:
    source = case.imu("imu_b", is_source=True, rate_hz=100.0)
    target = case.imu("imu_a", is_source=False)
    return [
        measure_imu_imu(source[quantity], target[quantity], max_offset_s=MAX_OFFSET_S)
        for quantity in (Quantity.ANGULAR_RATE, Quantity.SPECIFIC_FORCE)
    ]


def _can_imu(case: Case) -> list[PairMeasurement]:
    return measure_can_imu(case.can(), case.imu("imu", is_source=False), max_offset_s=MAX_OFFSET_S)


PAIRS: dict[str, Callable[[Case], list[PairMeasurement]]] = {
    "camera-gyro": _camera_gyro,
    "camera-camera": _camera_camera,
    "imu-imu": _imu_imu,
    "can-imu": _can_imu,
}


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--duration", type=float, default=20.0, help="seconds")
    parser.add_argument("--drift", type=float, default=100.0, help="greatest drift, ppm")
    parser.add_argument("--noise", default="0.02,0.15", help="deg a frame, lowest and highest")
    parser.add_argument("--fps", type=float, default=FRAME_RATE_HZ, help="frames a second")
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--only", default="", help=f"of {', '.join(PAIRS)}, with commas")
    parser.add_argument("--out", type=Path, default=OUT / "coverage.json")
    options = parser.parse_args()
    begun = time.time()
    rows: list[dict[str, Any]] = []
    for name, measure in PAIRS.items():
        if options.only and name not in options.only.split(","):
            continue
        for k in range(options.cases):
            case, style = _draw(options, k)
            rows += [
                _row(f"{name} {pair.method}", style, case, pair)
                for pair in measure(case)
                if not pair.is_baseline_only
            ]
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["pair"], []).append(row)
        groups.setdefault(f"  {row['pair']}, {row['style']}", []).append(row)
    stats = {name: _stats(groups[name]) for name in sorted(groups, key=str.strip)}
    print_table(
        f"{options.cases} drives of {options.duration:.0f} s without images",
        ("pair", *next(iter(stats.values()))),
        [(name, *figures.values()) for name, figures in stats.items()],
    )
    refusals: dict[str, int] = {}
    for row in rows:
        if row["why"]:
            why = f"{row['pair']}: {row['why'].split(':')[0].split('(')[0].strip()}"
            refusals[why] = refusals.get(why, 0) + 1
    for why, count in sorted(refusals.items(), key=lambda item: -item[1]):
        print(f"  refused {count} x {why}")
    print(f"  {time.time() - begun:.0f} s")
    write_json(
        options.out,
        {
            "stats": {name.strip(): s for name, s in stats.items()},
            "refusals": refusals,
            "rows": rows,
        },
    )
    return 0


def _draw(options: argparse.Namespace, k: int) -> tuple[Case, str]:
    rng = np.random.default_rng([options.seed, k])
    style = ("city", "highway")[k % 2]
    lowest, highest = (float(part) for part in options.noise.split(","))
    case = Case(
        motion=simulate_motion(style, options.duration, rng),
        duration_s=options.duration,
        clock=Clock(
            offset_s=float(rng.uniform(-0.2, 0.2)),
            drift=1e-6 * float(rng.uniform(-options.drift, options.drift)),
            middle_s=options.duration / 2,
        ),
        rng=rng,
        noise_rad=float(np.radians(np.exp(rng.uniform(np.log(lowest), np.log(highest))))),
        frame_rate_hz=options.fps,
    )
    return case, style


def _row(pair_name: str, style: str, case: Case, pair: PairMeasurement) -> dict[str, Any]:
    row: dict[str, Any] = {
        "pair": pair_name,
        "style": style,
        "noise_rad": case.noise_rad,
        "offset_s": case.clock.offset_s,
        "drift_ppm": 1e6 * case.clock.drift,
        "accepted": pair.accepted,
        "why": pair.why,
        "diagnostics": dict(pair.diagnostics),
        "has_drift": pair.drift_ppm is not None,
        "has_step": pair.step_s is not None,
    }
    if pair.accepted and pair.offset_s is not None and pair.offset_std_s is not None:
        error_s = pair.offset_s - case.clock.offset_at(1e-9 * pair.at_ns)
        row |= {"error_s": error_s, "std_s": pair.offset_std_s, "z": error_s / pair.offset_std_s}
        if pair.drift_ppm is not None and pair.drift_std_ppm:
            row["drift_z"] = (pair.drift_ppm - 1e6 * case.clock.drift) / pair.drift_std_ppm
    return row


def _stats(rows: list[dict[str, Any]]) -> dict[str, Any]:
    used = [row for row in rows if row["accepted"]]
    error = 1e3 * np.array([row["error_s"] for row in used])
    z = np.array([row["z"] for row in used])
    drift_z = np.array([row["drift_z"] for row in used if "drift_z" in row])
    if not used:
        return dict.fromkeys(_COLUMNS) | {"accepted": 0.0}
    return dict(
        zip(
            _COLUMNS,
            (
                len(used) / len(rows),
                float(np.sqrt(np.mean(error**2))),
                float(error.mean()),
                float(np.abs(error).max()),
                float(np.sqrt(np.mean([1e6 * row["std_s"] ** 2 for row in used]))),
                float(np.mean(np.abs(z) < 1.96)),
                float(np.sqrt(np.mean(z**2))),
                len(drift_z),
                float(np.mean(np.abs(drift_z) < 1.96)) if len(drift_z) else None,
                sum(row["has_step"] for row in used),
            ),
            strict=True,
        )
    )


_COLUMNS = (
    "accepted",
    "rmse ms",
    "bias ms",
    "worst ms",
    "claimed ms",
    "|z|<1.96",
    "rms z",
    "n drift",
    "drift |z|<1.96",
    "false steps",
)

if __name__ == "__main__":
    sys.exit(main())
