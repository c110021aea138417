"""The clips of the repository's sample data: what each shows and what should be found."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .can_bus import CanConfig
from .clocks import ClockFault
from .config import RigConfig, with_cameras
from .frame_faults import FrameFault
from .imu import ImuConfig
from .light import FlashConfig, TriggerConfig
from .microphone import MicrophoneConfig
from .pulse_shapes import SquarePulse
from .pulse_trains import BurstTrain
from .scenarios import with_all_cameras


@dataclass(frozen=True, slots=True)
class SampleClip:
    """Describe one sample clip."""

    config: RigConfig
    seed: int
    shows: str  # one sentence for the README
    verdict: str  # ``pass``, ``reject`` or ``unverified``: the verdict of a perfect audit
    culprit: str | None = None  # source that a perfect audit rejects
    reason: str | None = None  # reason code
    videos_from: str | None = None  # clip whose videos it shares (timestamps differ, images do not)


# The broken clips (`sample_data.DEFECTS`) are damaged copies of this clip.
BROKEN_FROM = "cam_rear_early"


def sample_clips() -> Mapping[str, SampleClip]:
    """Return the sample clips that are simulated, by clip id."""
    base = RigConfig(imu=ImuConfig(rate_hz=100.0))
    six = with_all_cameras(base, size_px=(428, 240), crf=29)
    three = with_all_cameras(six, names=("cam_front", "cam_rear_left", "cam_rear"))
    two = with_all_cameras(six, names=("cam_front", "cam_rear"))
    rear = "cam_rear"

    def stamped(
        config: RigConfig,
        shows: str,
        verdict: str,
        culprit: str | None = None,
        reason: str | None = None,
    ) -> SampleClip:
        """Return a clip with the content of `imu_shifted` and other timestamps."""
        return SampleClip(config, 103, shows, verdict, culprit, reason, "imu_shifted")

    def rear_clock(**fault: Any) -> RigConfig:
        return with_cameras(three, rear, clock=ClockFault(**fault))

    clips = {
        "good": SampleClip(
            replace(six, can=CanConfig(format="log"), microphone=MicrophoneConfig()),
            101,
            "Nothing is wrong: six cameras, IMU, raw CAN log with DBC, microphone.",
            "pass",
        ),
        BROKEN_FROM: SampleClip(
            replace(
                with_cameras(six, rear, clock=ClockFault(offset_s=0.035)),
                microphone=MicrophoneConfig(),
            ),
            102,
            "The timestamps of cam_rear are 35 ms too early (offset_s = +0.035).",
            *("reject", rear, "offset"),
        ),
        "imu_shifted": SampleClip(
            replace(three, imu=ImuConfig(rate_hz=100.0, clock=ClockFault(offset_s=-0.040))),
            103,
            "The IMU's timestamps are 40 ms too late; cameras and CAN agree with one another.",
            *("reject", "imu", "offset"),
        ),
        "can_shifted": stamped(
            replace(three, can=CanConfig(clock=ClockFault(offset_s=-0.080))),
            "The CAN timestamps are 80 ms too late.",
            *("reject", "can", "offset"),
        ),
        "drifting_camera": stamped(
            rear_clock(drift_ppm=2000.0),
            "The clock of cam_rear drifts by 2000 ppm: 20 ms off at both ends of the clip.",
            *("reject", rear, "drift"),
        ),
        "jittering_camera": stamped(
            rear_clock(delay_mean_s=0.008),
            "cam_rear is timestamped on receipt: one-sided delay of 8 ms mean (5.5 ms median).",
            *("reject", rear, "jitter"),
        ),
        "clock_step": stamped(
            rear_clock(step_at_s=10.0, step_by_s=0.060),
            "The clock of cam_rear steps in the middle: from then on it is 60 ms too early.",
            *("reject", rear, "step"),
        ),
        "synthetic_stamps": stamped(
            rear_clock(is_synthetic=True),
            "The timestamps of cam_rear were computed as index / 12 Hz. They happen to be right, "
            "which only the images can show: a warning.",
            "pass",
        ),
        "dropped_frames": SampleClip(
            with_cameras(two, rear, frames=FrameFault(dropped=(120, 121), drop_mode="slip")),
            104,
            "cam_rear lost frames 120 and 121 and its timestamps run on: from then on every "
            "frame is two periods late.",
            *("reject", rear, "step"),
        ),
        "parked": SampleClip(
            replace(two, style="parked", n_movers=0),
            105,
            "Nothing moves, so nothing can be shown either way.",
            "unverified",
        ),
        "flashes": SampleClip(
            replace(
                with_cameras(
                    rear_clock(offset_s=0.0351), "cam_rear_left", clock=ClockFault(offset_s=-0.006)
                ),
                style="parked",
                n_movers=0,
                can=CanConfig(format="log"),
                trigger=TriggerConfig(),
                flash=FlashConfig(
                    train=BurstTrain(n_pulses=5, span_s=1 / 12, mean_interval_s=0.9),
                    shape=SquarePulse(width_s=0.002),
                ),
            ),
            106,
            "Parked before a lamp that flashes in bursts, for a calibration: cam_rear is "
            "35.1 ms early, cam_rear_left 6 ms late (which is allowed); the CAN strobe counts the "
            "flashes and a logger timestamps them. Natural motion shows nothing of it.",
            *("reject", rear, "offset"),
        ),
    }
    return {
        clip_id: replace(clip, config=replace(clip.config, clip_id=clip_id))
        for clip_id, clip in clips.items()
    }
