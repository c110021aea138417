"""What really lit a recording: the pulses' shape, and each camera's shutter and own flashes."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .camera import CameraConfig
from .clocks import to_ns
from .light import FlashConfig
from .motion import FloatArray
from .pulse_shapes import Lamp, SquarePulse, XenonPulse

_KINDS = {SquarePulse: "square", XenonPulse: "xenon", Lamp: "lamp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LightTruth:
    """Hold the shape of all pulses of a clip; their onsets are the truth's `flash_ns`.

    Attributes
    ----------
    shape : str
        ``square``, ``xenon`` or ``lamp`` (on for longer than an exposure).
    width_s : float, optional
        From going on to going off (square, lamp).
    rise_s, decay_s : float, optional
        Linear rise and time constant of the decay (xenon).
    half_light_s : float, optional
        From the onset to the instant at which half of the light has come (not for a lamp).
    """

    shape: str
    width_s: float | None = None
    rise_s: float | None = None
    decay_s: float | None = None
    half_light_s: float | None = None

    @classmethod
    def of(cls, flash: FlashConfig | None) -> Self | None:
        """State the truth of a flash that names its shape."""
        if flash is None or flash.shape is None:
            return None
        shape = flash.shape
        return cls(
            shape=_KINDS[type(shape)],
            width_s=getattr(shape, "width_s", None),
            rise_s=getattr(shape, "rise_s", None),
            decay_s=getattr(shape, "decay_s", None),
            half_light_s=shape.half_light_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutterTruth:
    """Hold when a camera's rows really were exposed, and the light that only it saw.

    Attributes
    ----------
    line_delay_s, exposure_s, fps : float
    height_px : int
    stamp_at : str
    frame_ns : tuple of int
        Middle of the exposure of the middle row of each encoded frame, reference time.
    false_flash_ns : tuple of int
        Onsets of pulses that lit only this camera's view, reference time.
    blind_ns : tuple of (int, int)
        Reference times between which no flash reached it.
    """

    line_delay_s: float
    exposure_s: float
    fps: float
    height_px: int
    stamp_at: str
    frame_ns: tuple[int, ...]
    false_flash_ns: tuple[int, ...] = ()
    blind_ns: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(
        cls, camera: CameraConfig, shown_s: FloatArray, *, start_ns: int, duration_s: float
    ) -> Self:
        """State the truth of a camera whose encoded frames were captured at true times."""
        false_s = np.array(camera.light.false_flashes_s, dtype=float)
        return cls(
            line_delay_s=camera.line_delay_s,
            exposure_s=camera.exposure_s,
            fps=camera.fps,
            height_px=camera.size_px[1],
            stamp_at=camera.stamp_at,
            frame_ns=_ns(shown_s, start_ns),
            false_flash_ns=_ns(false_s[false_s < duration_s], start_ns),
            blind_ns=_pairs(
                to_ns(np.array(camera.light.blind_s, dtype=float), start_ns).reshape(-1, 2)
            ),
        )

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """Make the truth of what JSON made of it: lists for tuples."""
        plain: dict[str, Any] = {**fields, "blind_ns": _pairs(fields["blind_ns"])}
        for key in ("frame_ns", "false_flash_ns"):
            plain[key] = tuple(fields[key])
        return cls(**plain)


def _ns(times_s: FloatArray, start_ns: int) -> tuple[int, ...]:
    return tuple(to_ns(times_s, start_ns).tolist())


def _pairs(spans: NDArray[np.int64] | list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((int(start), int(stop)) for start, stop in spans)
