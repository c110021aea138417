"""Check a manifest's clip for faults beyond wrong types."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping

from syncaudit.errors import nearest_name
from syncaudit.model import (
    AudioSpec,
    CameraSpec,
    CanSpec,
    Clip,
    Distortion,
    Origin,
    ReasonCode,
    SourceSpec,
    TranscriptSpec,
)
from syncaudit.model.clip import MOST_EPISODES, N_COEFFICIENTS
from syncaudit.model.units import fault_of_role
from syncaudit.readers.uris import FILE_KEYS

# Names are printed: line ends, control and format characters could forge lines, reverse the text
# or make two names look the same. Some scripts join letters with the two that are allowed.
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp"})
# Narrow lenses need large coefficients; far larger ones would overflow in the model of the lens.
_MOST_DISTORTION = 1e9
_JOINERS = frozenset("\u200c\u200d")


def clip_faults(clip: Clip) -> Iterator[tuple[str, str]]:
    """Yield (what is wrong, what to do) for a clip whose types are right."""
    for key, name in (
        ("clip_id", clip.clip_id),
        ("recording_id", clip.recording_id),
        *((f"the source {name!r}", name) for name in clip.sources),
        *((f"sources.{name}.clock", clock) for name, clock in clip.clocks.items()),
    ):
        if any(unicodedata.category(c) in _UNSEEN and c not in _JOINERS for c in name):
            yield (
                f"{key} holds invisible characters ({name[:40]!r})",
                "Leave out line ends, control characters and direction marks.",
            )
    if not clip.clip_id:
        yield "clip_id is empty", "Give every clip a unique id."
    if not clip.recording_id:
        yield "recording_id is empty", "Leave it out, or name the recording."
    if not clip.sources:
        yield "sources is empty", "Name at least one source."
    if clip.origin is not None:
        yield from _origin_faults(clip.origin)
    for key, time_ns in (("start_ns", clip.start_ns), ("end_ns", clip.end_ns)):
        yield from _range_faults(key, time_ns)
    if clip.start_ns is not None and clip.end_ns is not None and clip.end_ns <= clip.start_ns:
        yield (
            f"end_ns ({clip.end_ns}) is not after start_ns ({clip.start_ns})",
            "Both are nanoseconds on the reported time base.",
        )
    clocks = {*clip.clocks.values()}
    if clip.reference is not None and clip.reference not in clocks | set(clip.sources):
        yield (
            f"reference is '{clip.reference}', which is neither a clock nor a source",
            nearest_name(clip.reference, clocks | set(clip.sources)),
        )
    for name, spec in clip.sources.items():
        at = f"sources.{name}"
        if not name:
            yield "a source has an empty name", "Name every source."
        yield from _spec_faults(at, spec)
        if isinstance(spec, TranscriptSpec):
            yield from _transcript_faults(at, spec, clip.sources)


def _origin_faults(origin: Origin) -> Iterator[tuple[str, str]]:
    if not 0 <= origin.episode_index < 2**63:
        yield f"origin.episode_index is {origin.episode_index}", "Episodes are counted from 0."
    total = origin.total_episodes
    if total is not None and not 0 < total <= MOST_EPISODES:
        yield (
            f"origin.total_episodes is {total}, expected 1 to {MOST_EPISODES}",
            "Leave it out where it is unknown.",
        )


def _range_faults(key: str, time_ns: int | None) -> Iterator[tuple[str, str]]:
    if time_ns is not None and not -(2**63) <= time_ns < 2**63:
        yield f"{key} is {time_ns}, too large for int64", "Timestamps are nanoseconds."


def _spec_faults(at: str, spec: SourceSpec) -> Iterator[tuple[str, str]]:
    for key in (*FILE_KEYS, "clock", "stamps", "pictures"):
        value = getattr(spec, key, None)
        if value is not None and (not value.strip() or "\0" in value):
            yield f"{at}.{key} is {value!r}", "Name it, or leave the key out."
    start_ns = getattr(spec, "start_ns", None)
    if start_ns is not None:
        yield from _range_faults(f"{at}.start_ns", start_ns)
    for key in ("expected_offset_s", "line_delay_s", "exposure_s", "fov_deg", "focal_px"):
        value = getattr(spec, key, None)
        if value is not None and not math.isfinite(value):
            yield f"{at}.{key} is {value}, expected a finite number", "Give it, or leave it out."
    if not 0.0 <= spec.stamp_std_s < math.inf:
        yield f"{at}.stamp_std_s is {spec.stamp_std_s}, expected 0 s or more", "Leave it out for 0."
    for finding in spec.findings:
        code = finding.partition(":")[0]
        if code not in set(ReasonCode):
            yield (
                f"{at}.findings holds {finding[:60]!r}, expected 'code: text'",
                nearest_name(code, ReasonCode),
            )
    for key in ("rows", "pts_ns", "picture_rows"):
        limits = getattr(spec, key, None)
        if limits is None:
            continue
        if not (len(limits) == 2 and limits[0] < limits[1]):
            yield f"{at}.{key} is {limits}, expected [first, stop]", "The second is not included."
        elif not -(2**63) <= limits[0] < limits[1] < 2**63:
            yield f"{at}.{key} is {limits}, too large for int64", "Rows and timestamps are smaller."
        elif limits[0] < 0 and key != "pts_ns":
            yield f"{at}.{key} begins at {limits[0]}", "Rows are counted from 0."
    if isinstance(spec, CanSpec):
        for role, signal in spec.signals.items():
            fault = fault_of_role(role, signal)
            if fault is not None:
                yield f"{at}.{fault[0]}", fault[1]
    if isinstance(spec, CameraSpec):
        yield from _camera_faults(at, spec)


def _camera_faults(at: str, spec: CameraSpec) -> Iterator[tuple[str, str]]:
    if spec.stream < 0:
        yield f"{at}.stream is {spec.stream}", "Video streams are counted from 0."
    for key in ("line_delay_s", "exposure_s"):
        value = getattr(spec, key)
        if value is not None and not 0 <= value < 1:
            yield f"{at}.{key} is {value}, expected seconds from 0 to 1", "Convert it to seconds."
    if spec.fov_deg is not None and not 0 < spec.fov_deg < 180:
        yield (
            f"{at}.fov_deg is {spec.fov_deg}, expected degrees between 0 and 180",
            "Give the horizontal field of view, or 'focal_px' for wider lenses.",
        )
    if spec.focal_px is not None and spec.focal_px <= 0:
        yield f"{at}.focal_px is {spec.focal_px}, expected a positive number", "Give pixels."
    if spec.distortion is not None:
        yield from _distortion_faults(f"{at}.distortion", spec.distortion)
        if spec.focal_px is None and spec.fov_deg is None:
            yield (
                f"{at} has distortion without focal_px or fov_deg",
                "Distortion is calibrated together with the focal length: add that.",
            )
    if spec.focal_px is not None and spec.fov_deg is not None:
        yield f"{at} has both fov_deg and focal_px", "Keep the one that you measured."


def _distortion_faults(at: str, distortion: Distortion) -> Iterator[tuple[str, str]]:
    allowed = N_COEFFICIENTS[distortion.model]
    if len(distortion.k) not in allowed:
        yield (
            f"{at}.k has {len(distortion.k)} coefficients, expected "
            f"{' or '.join(map(str, allowed))} for {distortion.model}",
            "radtan takes k1, k2, p1, p2 (k3, or k3 to k6); fisheye takes k1 to k4.",
        )
    elif not all(abs(k) <= _MOST_DISTORTION for k in distortion.k):
        yield (
            f"{at}.k is {distortion.k}, expected numbers up to {_MOST_DISTORTION:g}",
            "Give them, or leave it out.",
        )


def _transcript_faults(
    at: str, spec: TranscriptSpec, sources: Mapping[str, SourceSpec]
) -> Iterator[tuple[str, str]]:
    named = sources.get(spec.audio)
    audio = [name for name, other in sources.items() if isinstance(other, AudioSpec)]
    if named is None:
        yield (
            f"{at}.audio is '{spec.audio}', which is not a source of this clip",
            nearest_name(spec.audio, audio),
        )
    elif not isinstance(named, AudioSpec):
        yield (
            f"{at}.audio is '{spec.audio}', which is of kind {named.kind}, not audio",
            nearest_name(spec.audio, audio),
        )
    if spec.uri is None and spec.text is None:
        yield f"{at} has neither uri nor text", "Name a file with times, or give the text."
