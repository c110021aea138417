"""The clips of the repository's sample data: what each shows and what should be found."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleClip:
    """Describe one sample clip.

    Attributes
    ----------
    config : RigConfig
    seed : int
    videos_from : str, optional
        Clip whose videos it shares (stamps differ, pictures do not).
    shows : str
        One sentence for the README.
    verdict : str
        ``pass``, ``reject`` or ``unverified``: what a perfect audit says.
    culprit : str, optional
        Source that a perfect audit rejects.
    reason : str, optional
        Reason code.
    """

    config: RigConfig
    seed: int
    shows: str
    verdict: str
    videos_from: str | None = None
    culprit: str | None = None
    reason: str | None = None


# The broken clips (`defects.DEFECTS`) are damaged copies of it.
BROKEN_FROM = "cam_rear_early"


def sample_clips() -> Mapping[str, SampleClip]:
    """Return the sample clips that are simulated, by clip id."""
    base = RigConfig(imu=ImuConfig(rate_hz=100.0))
    six = with_all_cameras(base, size_px=(428, 240), crf=29)
    three = with_all_cameras(six, names=("cam_front", "cam_rear_left", "cam_rear"))
    two = with_all_cameras(six, names=("cam_front", "cam_rear"))
    rear = "cam_rear"
    clips = {
        "good": SampleClip(
            config=replace(six, can=CanConfig(format="log"), microphone=MicrophoneConfig()),
            seed=101,
            shows="Nothing is wrong: six cameras, IMU, raw CAN log with DBC, microphone.",
            verdict="pass",
        ),
        "cam_rear_early": SampleClip(
            config=replace(
                with_cameras(six, rear, clock=ClockFault(offset_s=0.035)),
                microphone=MicrophoneConfig(),
            ),
            seed=102,
            shows="The stamps of cam_rear are 35 ms too early (offset_s = +0.035).",
            verdict="reject",
            culprit=rear,
            reason="offset",
        ),
        "imu_shifted": SampleClip(
            config=replace(three, imu=ImuConfig(rate_hz=100.0, clock=ClockFault(offset_s=-0.040))),
            seed=103,
            shows="The IMU's stamps are 40 ms too late; cameras and CAN agree with one another.",
            verdict="reject",
            culprit="imu",
            reason="offset",
        ),
        "can_shifted": SampleClip(
            config=replace(three, can=CanConfig(clock=ClockFault(offset_s=-0.080))),
            seed=103,
            videos_from="imu_shifted",
            shows="The CAN stamps are 80 ms too late.",
            verdict="reject",
            culprit="can",
            reason="offset",
        ),
        "drifting_camera": SampleClip(
            config=with_cameras(three, rear, clock=ClockFault(drift_ppm=2000.0)),
            seed=103,
            videos_from="imu_shifted",
            shows="The clock of cam_rear drifts by 2000 ppm: 20 ms off at both ends of the clip.",
            verdict="reject",
            culprit=rear,
            reason="drift",
        ),
        "jittering_camera": SampleClip(
            config=with_cameras(three, rear, clock=ClockFault(delay_mean_s=0.008)),
            seed=103,
            videos_from="imu_shifted",
            shows="cam_rear is stamped on receipt: one-sided delay of 8 ms mean (5.5 ms median).",
            verdict="reject",
            culprit=rear,
            reason="jitter",
        ),
        "clock_step": SampleClip(
            config=with_cameras(three, rear, clock=ClockFault(step_at_s=10.0, step_by_s=0.060)),
            seed=103,
            videos_from="imu_shifted",
            shows="The clock of cam_rear steps in the middle: from then on it is 60 ms too early.",
            verdict="reject",
            culprit=rear,
            reason="step",
        ),
        "synthetic_stamps": SampleClip(
            config=with_cameras(three, rear, clock=ClockFault(is_synthetic=True)),
            seed=103,
            videos_from="imu_shifted",
            shows="The stamps of cam_rear were made up as index / 12 Hz. They happen to be right, "
            "which only the pictures can show: a warning.",
            verdict="pass",
        ),
        "dropped_frames": SampleClip(
            config=with_cameras(two, rear, frames=FrameFault(dropped=(120, 121), drop_mode="slip")),
            seed=104,
            shows="cam_rear lost frames 120 and 121 and its stamps run on: from then on every "
            "frame is two periods late.",
            verdict="reject",
            culprit=rear,
            reason="step",
        ),
        "parked": SampleClip(
            config=replace(two, style="parked", n_movers=0),
            seed=105,
            shows="Nothing moves, so nothing can be shown either way.",
            verdict="unverified",
        ),
        "flashes": SampleClip(
            config=replace(
                with_cameras(
                    with_cameras(three, rear, clock=ClockFault(offset_s=0.0351)),
                    "cam_rear_left",
                    clock=ClockFault(offset_s=-0.006),
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
            seed=106,
            shows="Parked before a lamp that flashes in bursts, for a calibration: cam_rear is "
            "35.1 ms early, cam_rear_left 6 ms late (which is allowed); the CAN strobe counts the "
            "flashes and a logger stamps them. Natural motion shows nothing of it.",
            verdict="reject",
            culprit=rear,
            reason="offset",
        ),
    }
    return {
        clip_id: replace(clip, config=replace(clip.config, clip_id=clip_id))
        for clip_id, clip in clips.items()
    }
