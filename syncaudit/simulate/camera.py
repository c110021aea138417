"""The simulated cameras: mounting, lens and shutter."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .clocks import ClockFault
from .frame_faults import FrameFault
from .light_faults import LightFault
from .motion import FloatArray

STAMP_AT = ("mid_exposure_mid_row", "start_of_frame", "end_of_frame")
CODECS = ("h264", "hevc", "mjpeg", "images")


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraConfig:
    """Describe one camera. Optical axes: x right, y down, z forward; pinhole, square pixels."""

    # direction of view in the body: yaw to the left, pitch downwards
    mount_yaw_rad: float = 0.0
    mount_pitch_rad: float = 0.03
    # position in the body (x forward, y left, z up)
    lever_arm_m: tuple[float, float, float] = (1.5, 0.0, 1.5)
    size_px: tuple[int, int] = (428, 240)  # width and height, both even
    fov_deg: float = 75.0  # horizontal field of view
    fps: float = 12.0
    # true capture time of frame 0; drawn from the seed if None, so cameras differ
    phase_s: float | None = None
    line_delay_s: float = 5e-5  # from one row's exposure to the next row's; 0 is a global shutter
    exposure_s: float = 0.008
    # Poses averaged over the exposure. 1 leaves moving things sharp, as with a short exposure; 2 or
    # more blur them, at that multiple of the rendering cost.
    n_subexposures: int = 1
    photon_noise: float = 0.012  # noise variance per level of luma
    read_noise: float = 0.8  # noise standard deviation in the dark, levels
    gain_wobble: float = 0.015  # standard deviation of slow auto-exposure changes, relative
    codec: str = "h264"  # one of `CODECS`
    crf: int = 26  # quality of H.264 and HEVC; mjpeg and images use JPEG quality 90
    gop: int = 24  # frames from one key frame to the next
    n_b_frames: int = 0
    stamp_at: str = "mid_exposure_mid_row"  # what a timestamp refers to, one of `STAMP_AT`
    # whether the manifest states them
    is_line_delay_stated: bool = True
    is_exposure_stated: bool = True
    stamp_jitter_s: float = 1e-4  # standard deviation of a healthy driver's timestamps
    clock: ClockFault = field(default_factory=ClockFault)
    frames: FrameFault = field(default_factory=FrameFault)
    light: LightFault = field(default_factory=LightFault)

    def __post_init__(self) -> None:
        width, height = self.size_px
        if width < 16 or height < 16 or width % 2 or height % 2:
            raise ValueError(f"size_px is {self.size_px}, expected even numbers from 16 up")
        if not 10.0 <= self.fov_deg <= 130.0:
            raise ValueError(f"fov_deg is {self.fov_deg}, expected 10 to 130")
        if not self.fps > 0:
            raise ValueError(f"fps is {self.fps}, expected a positive rate")
        if self.line_delay_s < 0 or self.exposure_s <= 0:
            raise ValueError("line_delay_s must not be negative and exposure_s must be positive")
        if self.readout_s > 1 / self.fps:
            raise ValueError(f"read-out takes {self.readout_s} s, longer than a frame period")
        if self.n_subexposures < 1:
            raise ValueError(f"n_subexposures is {self.n_subexposures}, expected 1 or more")
        for name, value, known in (
            ("stamp_at", self.stamp_at, STAMP_AT),
            ("codec", self.codec, CODECS),
        ):
            if value not in known:
                raise ValueError(f"{name} is {value!r}, expected one of {', '.join(known)}")

    @property
    def focal_px(self) -> float:
        """Return the focal length in pixels."""
        return float(self.size_px[0] / 2 / np.tan(np.radians(self.fov_deg) / 2))

    @property
    def readout_s(self) -> float:
        """Return the time from the first row's exposure to the last row's."""
        return (self.size_px[1] - 1) * self.line_delay_s

    @property
    def stamp_shift_s(self) -> float:
        """Return the stamped time minus the mid-exposure time of the middle row."""
        half = (self.readout_s + self.exposure_s) / 2
        return {"mid_exposure_mid_row": 0.0, "start_of_frame": -half, "end_of_frame": half}[
            self.stamp_at
        ]

    def row_times_s(self, time_s: float) -> FloatArray:
        """Return mid-exposure times of all rows of the frame whose middle row is at `time_s`."""
        rows = np.arange(self.size_px[1]) - (self.size_px[1] - 1) / 2
        return np.asarray(time_s + rows * self.line_delay_s)

    def body_from_camera(self) -> FloatArray:
        """Return the rotation that takes optical-frame vectors to the body, shape (3, 3)."""
        cy, sy = np.cos(self.mount_yaw_rad), np.sin(self.mount_yaw_rad)
        cp, sp = np.cos(self.mount_pitch_rad), np.sin(self.mount_pitch_rad)
        right = np.array([sy, -cy, 0.0])
        forward = np.array([cy * cp, sy * cp, -sp])
        return np.stack([right, np.cross(forward, right), forward], axis=1)


_MOUNTS = {  # yaw in degrees, position in metres, field of view in degrees
    "cam_front": (0.0, (1.6, 0.0, 1.5), 75.0),
    "cam_front_left": (55.0, (1.5, 0.5, 1.5), 75.0),
    "cam_front_right": (-55.0, (1.5, -0.5, 1.5), 75.0),
    "cam_rear_left": (112.0, (0.9, 0.5, 1.5), 75.0),
    "cam_rear_right": (-112.0, (0.9, -0.5, 1.5), 75.0),
    "cam_rear": (180.0, (-1.0, 0.0, 1.4), 95.0),
}

SIX_CAMERAS: Mapping[str, CameraConfig] = {
    name: CameraConfig(mount_yaw_rad=float(np.radians(yaw)), lever_arm_m=place, fov_deg=fov)
    for name, (yaw, place, fov) in _MOUNTS.items()
}
