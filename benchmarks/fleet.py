"""A simulated fleet by its measurements alone: no video is made; each clip's truth is known.

The measurements an audit would make of a clip are drawn: offsets of seven sources to the IMU with
the standard errors that audits of simulated drives have (0.3 to 3 ms for cameras, smaller the more
the car turns), and rejections if it hardly turns. Solving, judging, pooling and reporting are real.
Ten vehicles drive for twelve weeks. Each source has its own residual in every vehicle. Starting in
week 7, four vehicles run different software, which makes cam_rear 3 ms earlier; starting in week 9,
cam_left of vehicle v07 is 35 ms late.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from syncaudit.batch import BatchSummary, run_batch
from syncaudit.datasets import clip_to_row
from syncaudit.model import (
    CameraSpec,
    CanSpec,
    Clip,
    ClipRecord,
    ClipVerdict,
    ImuSpec,
    PairMeasurement,
    StampAudit,
)
from syncaudit.pipeline import conclude
from syncaudit.policy import Policy

CAMERAS = ("cam_front", "cam_left", "cam_right", "cam_rear", "cam_side_left", "cam_side_right")
SPAN_S = 20.0
SECOND_NS = 10**9
WEEK_NS = 7 * 86_400 * SECOND_NS
START_NS = 1_767_571_200 * SECOND_NS  # a Monday in January 2026
NEW_SOFTWARE, NEW_SHIFT_S = 6, 0.003
BROKEN, BROKEN_SINCE, BROKEN_S = "v07", 8, -0.035


@dataclass(frozen=True, kw_only=True)
class Drive:
    """One clip and its truth.

    Parameters
    ----------
    clip : Clip
        The manifest row.
    record : ClipRecord
        The measurements.
    offsets_s : dict of str to float
        What must truly be added to the timestamps of each source.
    """

    clip: Clip
    record: ClipRecord
    offsets_s: dict[str, float]


def fleet(
    seed: int, *, n_recordings: int = 150, n_clips: int = 2, is_changing: bool = True
) -> list[Drive]:
    """Return the clips of all recordings, in chronological order.

    Parameters
    ----------
    seed : int
        Seed of vehicles, recordings and clips.
    n_recordings, n_clips : int
        Total number of recordings, and clips per recording.
    is_changing : bool
        Whether the software changes and a camera breaks.
    """
    rng = np.random.default_rng(seed)
    names = (*CAMERAS, "can")
    vehicles = {
        f"v{k:02d}": dict(zip(names, rng.normal(0.0, 0.0015, len(names)), strict=True))
        for k in range(1, 11)
    }
    found = []
    for r in range(n_recordings):
        vehicle = list(vehicles)[r % len(vehicles)]
        week = 12 * r // n_recordings
        start_ns = START_NS + week * WEEK_NS + int(rng.uniform(0.0, 0.7) * WEEK_NS)
        is_new = is_changing and week >= NEW_SOFTWARE and int(vehicle[1:]) > 6
        is_night = rng.random() < 0.15
        about = {"vehicle": vehicle, "rig": "A" if int(vehicle[1:]) < 6 else "B"}
        about["software"] = "2.4" if is_new else "2.3"
        # Clock errors of one recording, in addition to the vehicle's residual.
        own = dict(zip(names, rng.normal(0.0, 0.0007, len(names)), strict=True))
        for c in range(n_clips):
            offsets = {name: vehicles[vehicle][name] + own[name] for name in names}
            if is_new:
                offsets["cam_rear"] += NEW_SHIFT_S
            if is_changing and vehicle == BROKEN and week >= BROKEN_SINCE:
                offsets["cam_left"] += BROKEN_S
            at_ns = start_ns + round((c + 0.5) * SPAN_S * 1e9)
            found.append(
                _drive(rng, f"{vehicle}-{r:03d}", c, at_ns, offsets, about, is_night=is_night)
            )
    return found


def _drive(
    rng: np.random.Generator,
    recording: str,
    number: int,
    at_ns: int,
    offsets_s: dict[str, float],
    about: dict[str, str],
    *,
    is_night: bool,
) -> Drive:
    is_standing = rng.random() < 0.06
    speed = 0.0 if is_standing else float(rng.uniform(3.0, 28.0))
    turning = 0.005 if is_standing else float(rng.lognormal(np.log(0.12), 0.7)) / (1 + speed / 40.0)
    light = float(rng.uniform(15.0, 38.0) if is_night else rng.uniform(60.0, 140.0))
    measurements = []
    for name, offset_s in offsets_s.items():
        is_camera = name in CAMERAS
        # Errors of simulated audits: about 0.6 ms at 0.12 rad/s, twice that at night.
        std_s = (0.00007 / turning) * (2.0 if is_night and is_camera else 1.0) + 0.0003
        pair = {
            "source": name,
            "target": "imu",
            "method": "rotation" if is_camera else "yaw_rate",
            "at_ns": at_ns,
        }
        if turning < 0.03:
            measurements.append(PairMeasurement(**pair, why="too little motion"))
            continue
        measured_s = offset_s + std_s * float(rng.normal())
        measurements.append(
            PairMeasurement(**pair, offset_s=measured_s, offset_std_s=std_s, accepted=True)
        )
    place = f"{recording}/{number}"
    sources = {name: CameraSpec(uri=f"{place}/{name}.mp4") for name in CAMERAS}
    sources |= {"imu": ImuSpec(uri=f"{place}/imu.csv"), "can": CanSpec(uri=f"{place}/can.csv")}
    rates = {name: 12.0 if name in CAMERAS else 100.0 for name in sources}
    clip = Clip(
        clip_id=place,
        recording_id=recording,
        sources=sources,
        reference="imu",
        about=about,
    )
    record = ClipRecord(
        at_ns=at_ns,
        span_s=SPAN_S,
        max_offset_s=2.0,
        stamps={n: StampAudit(samples=int(SPAN_S * hz), rate_hz=hz) for n, hz in rates.items()},
        measurements=tuple(measurements),
        conditions={"speed": speed, "turning": turning, "light": light},
    )
    return Drive(clip=clip, record=record, offsets_s=offsets_s)


def write_run(drives: list[Drive], policy: Policy, out: Path) -> BatchSummary:
    """Judge the clips and write what `syncaudit validate` would write."""
    records = {drive.clip.clip_id: drive.record for drive in drives}
    clips = [drive.clip for drive in drives]
    return run_batch(
        clips, policy, out=out, workers=0, audit=_auditing(records), to_row=clip_to_row
    )


def _auditing(records: dict[str, ClipRecord]) -> Callable[..., ClipVerdict]:
    def audit(clip: Clip, policy: Policy, **_: object) -> ClipVerdict:
        return conclude(clip, records[clip.clip_id], policy)[1]

    return audit
