"""Every recording of ../shared/realdata: its clips, its policy and the known truth of its pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from planted import Known
from recordings import drive_clip, gimbal_clip, mocap_clip, phone_clip, pose_clip, two_imus_clip
from recordings_of_others import (
    bridge_clips,
    cabin_clip,
    decoded_drive_clip,
    fixed_cameras_clip,
    humanoid_clips,
    knocks_clip,
    racing_clip,
    speech_clip,
)

from syncaudit.model import Clip


@dataclass(frozen=True, kw_only=True)
class Recording:
    """Clips of one kind and their known truth (README of ../shared/realdata).

    Attributes
    ----------
    name : str
    needs : str
        Path in ../shared/realdata.
    make : callable
        Takes an empty folder, returns the clips.
    known : tuple of Known
    profile : str
        Of the policy.
    moved : tuple of str
        Sources in which errors are planted.
    """

    name: str
    needs: str
    make: Callable[[Path], Iterable[Clip]]
    known: tuple[Known, ...]
    profile: str = "driving"
    moved: tuple[str, ...] = ()


SPEECH = "speech/acoustic_corpus.wav"
HAND = "speech/acoustic_corpus_hand.TextGrid"
MFA = "speech/acoustic_corpus_mfa.TextGrid"
TOY = "mfa_output/align.long.TextGrid"
PHONE = Known(source="cam", target="imu", offset_s=9.98e-3, std_s=0.5e-3)
UNKNOWN = Known(source="cam", target="imu", offset_s=None)
RECORDINGS = (
    Recording(
        name="phone_gyro",
        needs="phone_gyro/frames.csv",
        make=lambda folder: [phone_clip(folder / "phone")],
        known=(PHONE,),
        moved=("cam", "imu"),
    ),
    Recording(
        name="phone_gyro, 10 Hz",
        needs="phone_gyro/frames.csv",
        make=lambda folder: [phone_clip(folder / "tenth", every=3)],
        known=(PHONE,),
        moved=("cam", "imu"),
    ),
    Recording(
        name="phone_gyro, 72 s of gyro",
        needs="phone_gyro/imu_72s.csv",
        make=lambda folder: [phone_clip(folder / "long", imu="imu_72s.csv")],
        known=(PHONE,),
        moved=("cam",),
    ),
    Recording(
        name="two_imus",
        needs="two_imus/phone.csv",
        make=lambda folder: [two_imus_clip(folder / "two")[0]],
        known=(Known(source="phone", target="mcu", offset_s=-947848.6384, std_s=1e-4),),
        moved=("phone", "mcu"),
    ),
    Recording(
        name="imu_mocap",
        needs="imu_mocap",
        make=lambda folder: [mocap_clip(folder / "mocap")],
        known=(Known(source="mocap", target="imu", offset_s=4.15e-3, std_s=1e-4),),
        moved=("mocap", "imu"),
    ),
    Recording(
        name="imu_mocap, 20 s",
        needs="imu_mocap",
        make=lambda folder: [
            mocap_clip(folder / f"mocap{start}", start_s=start, stop_s=start + 20.0)
            for start in (0.0, 40.0)
        ],
        known=(Known(source="mocap", target="imu", offset_s=4.15e-3, std_s=1.3e-4),),
        moved=("mocap", "imu"),
    ),
    Recording(
        name="drive_can_imu",
        needs="drive_can_imu/can.log",
        make=lambda _: [drive_clip()],
        known=(
            Known(source="can", target="imu", method="yaw_rate", offset_s=-31e-3, std_s=5e-3),
            Known(
                source="can", target="imu", method="lateral_accel", offset_s=-50.8e-3, std_s=3e-3
            ),
            Known(source="can", target="imu", method="steering", offset_s=55e-3, std_s=10e-3),
            Known(source="can", target="imu", method="speed", offset_s=None),
        ),
        moved=("can", "imu"),
    ),
    Recording(
        name="drive_can_imu, tables",
        needs="drive_can_imu/yaw_rate.csv",
        make=lambda folder: [decoded_drive_clip(folder / "decoded")],
        known=(
            Known(source="yaw_rate", target="imu", offset_s=-31e-3, std_s=5e-3),
            Known(source="lateral_accel", target="imu", offset_s=-50.8e-3, std_s=3e-3),
            Known(source="steering_angle", target="imu", offset_s=55e-3, std_s=10e-3),
            Known(source="speed", target="imu", offset_s=None),
        ),
    ),
    Recording(
        name="drive_can_imu, pose",
        needs="drive_can_imu/pose.csv",
        make=lambda folder: [pose_clip(folder / "pose")],
        known=(Known(source="pose", target="imu", offset_s=-2.6e-3, std_s=1.2e-3),),
        moved=("pose", "imu"),
    ),
    Recording(
        name="drone_gimbal",
        needs="drone_gimbal/karma.mp4",
        make=lambda folder: [
            gimbal_clip(folder / "gimbal"),
            gimbal_clip(folder / "gimbal70", fov_deg=70.0),
        ],
        known=(UNKNOWN,),
        moved=("cam",),
    ),
    Recording(
        name="drone_gimbal, sound",
        needs="drone_gimbal/karma.mp4",
        make=lambda folder: [knocks_clip(folder / "knocks")],
        # One device: both have the same clock, except for the latency of its audio chain.
        known=(Known(source="mic", target="accel", offset_s=0.0, std_s=0.03),),
        moved=("mic",),
    ),
    Recording(
        name="hero8_racebox",
        needs="hero8_racebox/racebox.csv",
        make=lambda folder: [
            racing_clip(folder / "race"),
            racing_clip(folder / "race20", span_s=(40.0, 60.0)),
        ],
        known=(
            Known(source="gopro", target="logger", offset_s=25e-3, std_s=10e-3),
            Known(source="gopro", target="bus", offset_s=25e-3, std_s=10e-3),
        ),
        moved=("gopro", "logger", "bus"),
    ),
    Recording(
        name="hero8_racebox, cabin",
        needs="hero8_racebox/gopro-hero8-black.mp4",
        make=lambda folder: [cabin_clip(folder / "cabin")],
        known=(UNKNOWN,),
    ),
    Recording(
        name="fixed_cameras",
        needs="fixed_cameras",
        make=lambda folder: [fixed_cameras_clip(folder / "fixed")],
        known=tuple(Known(source="cam1", target=f"cam{k}") for k in (2, 3, 4)),
        moved=("cam2",),
    ),
    Recording(
        name="lerobot_g1",
        needs="lerobot_g1",
        make=lambda folder: humanoid_clips(folder / "humanoid"),
        known=(
            Known(source="state", target="cam_high", offset_s=0.110, std_s=0.030),
            Known(source="action", target="state", offset_s=0.1125, std_s=0.006),
        ),
        profile="vla",
        moved=("cam_high", "state"),
    ),
    Recording(
        name="rlds_bridge",
        needs="rlds_bridge",
        make=lambda folder: bridge_clips(folder / "bridge"),
        known=(
            Known(source="image_0", target="state", offset_s=None),
            Known(source="action", target="state", offset_s=None),
        ),
        profile="vla",
    ),
    Recording(
        name="speech, by hand",
        needs="speech",
        make=lambda folder: [
            speech_clip(
                folder / "hand", SPEECH, {"phones": (HAND, "phone"), "words": (HAND, "word")}
            )
        ],
        known=(
            Known(source="phones", target="mic", offset_s=-1.9e-3, std_s=4e-3),
            Known(source="words", target="mic", offset_s=-1.9e-3, std_s=4e-3),
        ),
        profile="speech",
        moved=("phones", "words", "mic"),
    ),
    Recording(
        name="speech, aligner",
        needs="speech",
        make=lambda folder: [
            speech_clip(
                folder / "mfa", SPEECH, {"phones": (MFA, "phones"), "words": (MFA, "words")}
            )
        ],
        known=(
            Known(source="phones", target="mic", offset_s=8e-3, std_s=4e-3),
            Known(source="words", target="mic", offset_s=8e-3, std_s=4e-3),
        ),
        profile="speech",
        moved=("phones", "words"),
    ),
    Recording(
        name="speech, 1.9 s",
        needs="speech",
        make=lambda folder: [
            speech_clip(
                folder / "mary",
                "speech/mary.wav",
                {
                    "phones": ("speech/mary.TextGrid", "phone"),
                    "words": ("speech/mary.TextGrid", "word"),
                },
            )
        ],
        known=(
            Known(source="phones", target="mic", offset_s=0.0, std_s=0.01),
            Known(source="words", target="mic", offset_s=0.0, std_s=0.01),
        ),
        profile="speech",
        moved=("phones",),
    ),
    Recording(
        name="mfa_output",
        needs="mfa_output",
        make=lambda folder: [
            speech_clip(
                folder / "toy", SPEECH, {"phones": (TOY, "phones"), "words": (TOY, "words")}
            )
        ],
        known=(
            Known(source="phones", target="mic", offset_s=None),
            Known(source="words", target="mic", offset_s=None),
        ),
        profile="speech",
    ),
)
