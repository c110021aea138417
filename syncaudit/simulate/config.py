"""The configuration of one simulated clip."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .camera import SIX_CAMERAS, CameraConfig
from .can_bus import CanConfig
from .clocks import NS_PER_S
from .driving import STYLES
from .imu import ImuConfig
from .light import FlashConfig, TriggerConfig
from .microphone import MicrophoneConfig
from .taps import TapConfig

DEVICES = frozenset({"imu", "can", "mic", "trigger"})
EPOCH_NS = 1_767_225_600_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RigConfig:
    """Describe one clip of a simulated vehicle."""

    clip_id: str = "clip"
    recording_id: str | None = None
    style: str = "city"  # a key of `syncaudit.simulate.driving.STYLES`
    duration_s: float = 20.0
    start_ns: int = EPOCH_NS  # reference time at the clip's start
    # by source name
    cameras: Mapping[str, CameraConfig] = field(default_factory=lambda: dict(SIX_CAMERAS))
    # None omits the part
    imu: ImuConfig | None = field(default_factory=ImuConfig)
    can: CanConfig | None = field(default_factory=CanConfig)
    microphone: MicrophoneConfig | None = None
    trigger: TriggerConfig | None = None
    flash: FlashConfig | None = None
    taps: TapConfig | None = None
    # render each camera's image once and only move it as the camera rotates: for vehicles at rest,
    # and many times faster
    is_still: bool = False
    n_movers: int = 2  # cars on the road (0 for a static world)
    reference: str | None = None  # written into the manifest if given

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise ValueError(f"unknown driving style {self.style!r}; known: {', '.join(STYLES)}")
        if not 0.5 <= self.duration_s <= 3600:
            raise ValueError(f"duration_s is {self.duration_s}, expected 0.5 to 3600")
        if self.is_still and max(STYLES[self.style].speeds_mps) > 0:
            raise ValueError(f"a clip of style {self.style!r} moves: is_still cannot be")
        taken = DEVICES & set(self.cameras)
        if taken:
            raise ValueError(f"camera names {sorted(taken)} are taken by other sources")
        if self.reference is not None and self.reference not in {*self.cameras, *DEVICES}:
            raise ValueError(f"reference {self.reference!r} is not a source of the clip")

    def camera(self, name: str) -> CameraConfig:
        """Return a camera by name."""
        if name not in self.cameras:
            raise ValueError(f"no camera {name!r}; there are {', '.join(self.cameras)}")
        return self.cameras[name]

    @property
    def at_ns(self) -> int:
        """Return the middle of the clip, where offsets are stated."""
        return self.start_ns + round(self.duration_s * NS_PER_S / 2)

    @property
    def end_ns(self) -> int:
        """Return the end of the clip."""
        return self.start_ns + round(self.duration_s * NS_PER_S)


def with_cameras(config: RigConfig, *names: str, **changes: Any) -> RigConfig:
    """Return a clip with changed settings for some cameras, or all if none is named."""
    changed = {name: replace(config.camera(name), **changes) for name in names or config.cameras}
    return replace(config, cameras={**config.cameras, **changed})
