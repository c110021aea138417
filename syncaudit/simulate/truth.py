"""Ground truth of a simulated clip: the corrections of every source, and every fault."""

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from syncaudit.writing import replace_text

from .camera import CameraConfig
from .clocks import to_ns
from .light import FlashConfig
from .motion import FloatArray
from .pulse_shapes import Lamp, SquarePulse, XenonPulse

_KINDS = {SquarePulse: "square", XenonPulse: "xenon", Lamp: "lamp"}
VERSION = 1
FILE_NAME = "truth.json"
# Omitted from the file if empty.
_UNSTATED = ("shutter", "sound_delay_s", "light", "tap_ns", "frozen", "spoilt")


@dataclass(frozen=True, slots=True, kw_only=True)
class LightTruth:
    """Shape of all pulses of a clip; their onsets are the truth's `flash_ns`."""

    shape: str  # ``square``, ``xenon`` or ``lamp`` (on for longer than an exposure)
    width_s: float | None = None  # from switching on to switching off (square, lamp)
    # linear rise and time constant of the decay (xenon)
    rise_s: float | None = None
    decay_s: float | None = None
    # from the onset to the time at which half of the light has been emitted (not for a lamp)
    half_light_s: float | None = None

    @classmethod
    def of(cls, flash: FlashConfig | None) -> Self | None:
        """Return the truth of a flash that specifies its shape."""
        if flash is None or flash.shape is None:
            return None
        shape = flash.shape
        lengths = dataclasses.asdict(shape)
        return cls(shape=_KINDS[type(shape)], half_light_s=shape.half_light_s, **lengths)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutterTruth:
    """True exposure times of a camera's rows, and the light that only this camera saw."""

    line_delay_s: float
    exposure_s: float
    fps: float
    height_px: int
    stamp_at: str
    # middle of the exposure of the middle row of each encoded frame, reference time
    frame_ns: tuple[int, ...]
    # onsets of pulses that lit only this camera's view, reference time
    false_flash_ns: tuple[int, ...] = ()
    blind_ns: tuple[tuple[int, int], ...] = ()  # reference times between which no flash reached it

    @classmethod
    def of(
        cls, camera: CameraConfig, shown_s: FloatArray, *, start_ns: int, duration_s: float
    ) -> Self:
        """Return the truth of a camera whose encoded frames were captured at true times."""
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
        """Build the truth from its JSON form, in which tuples are lists."""
        plain: dict[str, Any] = {**fields, "blind_ns": _pairs(fields["blind_ns"])}
        for key in ("frame_ns", "false_flash_ns"):
            plain[key] = tuple(fields[key])
        return cls(**plain)


def _ns(times_s: FloatArray, start_ns: int) -> tuple[int, ...]:
    return tuple(to_ns(times_s, start_ns).tolist())


def _pairs(spans: NDArray[np.int64] | list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((int(start), int(stop)) for start, stop in spans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Step of a correction: from reference time `at_ns` it is larger by `by_s`."""

    at_ns: int
    by_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTruth:
    """Ground truth of one source.

    ``t_ref = t_src + offset_s + drift_ppm * 1e-6 * (t_src - at_ns) + sum of steps so far``, for the
    typical (median) timestamp. The clip's `at_ns` anchors offset and drift.
    """

    kind: str
    n_samples: int  # encoded frames, IMU samples, bus frames or table rows, audio samples
    n_stamps: int  # rows of timestamps (differs from `n_samples` where the files disagree)
    offset_s: float  # correction of the typical timestamp before any step
    # Correction of the least delayed timestamp, i.e. without one-sided latency.
    floor_offset_s: float
    drift_ppm: float
    steps: tuple[Step, ...] = ()  # clock steps, and one of a frame period where frames slipped
    jitter_std_s: float = 0.0
    delay_mean_s: float = 0.0
    is_synthetic: bool = False  # timestamps were made up as first + index / rate
    gaps_ns: tuple[tuple[int, int], ...] = ()  # reference times between which samples are missing
    # rows of the timestamps
    duplicate_stamps: tuple[int, ...] = ()
    backwards_stamps: tuple[int, ...] = ()
    # capture indices of frames that are lost or repeat the previous frame
    dropped: tuple[int, ...] = ()
    doubled: tuple[int, ...] = ()
    drop_mode: str | None = None
    # half-open ranges of capture indices at which one frame is shown throughout
    frozen: tuple[tuple[int, int], ...] = ()
    # what is shown instead of the scene, and the half-open range of positions in the file
    spoilt: tuple[tuple[str, int, int], ...] = ()
    defect: str | None = None  # description of the damage to the file
    shutter: ShutterTruth | None = None  # for a camera, if the flash specifies its pulse shape
    sound_delay_s: float | None = None  # how much later than its light a lamp's click is heard


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Ground truth of one clip."""

    clip_id: str
    style: str
    seed: int
    # window of the clip in reference time, and its middle
    start_ns: int
    end_ns: int
    at_ns: int
    sources: dict[str, SourceTruth]
    flash_ns: tuple[int, ...] = ()  # starts of the light pulses, reference time
    flash_width_s: float | None = None
    bump_ns: tuple[int, ...] = ()  # times at which an axle hit a bump, reference time
    light: LightTruth | None = None  # shape of the pulses, if the flash specifies it
    tap_ns: tuple[int, ...] = ()  # times at which someone tapped the rig, reference time


def write_truth(truths: Iterable[Truth], folder: Path) -> None:
    """Write ``truth.json`` into a folder: the truth of each clip under its id."""
    clips = {truth.clip_id: _fields(truth) for truth in truths}
    text = json.dumps({"version": VERSION, "clips": clips}, indent=1)
    replace_text(folder / FILE_NAME, f"{text}\n")


def read_truth(folder: Path) -> dict[str, Truth]:
    """Read ``truth.json`` of a folder, by clip id."""
    document = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    if document.get("version") != VERSION:
        raise ValueError(f"{folder / FILE_NAME}: version is not {VERSION}")
    return {clip_id: _truth(fields) for clip_id, fields in document["clips"].items()}


def _fields(truth: Truth) -> dict[str, Any]:
    fields = _stated(dataclasses.asdict(truth))
    fields["sources"] = {name: _stated(source) for name, source in fields["sources"].items()}
    return fields


def _stated(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value or key not in _UNSTATED}


def _truth(fields: dict[str, Any]) -> Truth:
    sources = {}
    for name, source in fields["sources"].items():
        plain = _with_tuples(source)
        plain["steps"] = tuple(Step(**step) for step in source["steps"])
        plain["gaps_ns"] = tuple((first, last) for first, last in source["gaps_ns"])
        for key in ("frozen", "spoilt"):
            plain[key] = tuple(tuple(spell) for spell in source.get(key, ()))
        if "shutter" in source:
            plain["shutter"] = ShutterTruth.from_json(source["shutter"])
        sources[name] = SourceTruth(**plain)
    plain = {**_with_tuples(fields), "sources": sources}
    if "light" in fields:
        plain["light"] = LightTruth(**fields["light"])
    return Truth(**plain)


def _with_tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}
