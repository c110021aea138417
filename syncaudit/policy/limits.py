"""Define what is good enough: the limits of one source and the policy of a clip.

A policy is read from TOML: a shipped profile, or a file that extends one.
"""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, TypeAdapter, ValidationError

from syncaudit.errors import PolicyError, nearest_name, reason_of
from syncaudit.model import Clip, PairMeasurement, SourceKind, clock_of

DEFAULT_PROFILE = "driving"

_Kind = Annotated[SourceKind, Strict(False)]  # TOML has its text
_Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0.0, le=1.0)]
_Off = Literal["off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one source; None is not checked."""

    offset_s: float = 0.02  # largest offset at any instant of the clip
    offset_warning_s: float | None = None  # offset beyond which a transcript gets a warning
    # the same two for transcripts of words, whose times are less exact than those of phones
    words_offset_s: float | None = None
    words_offset_warning_s: float | None = None
    # largest drift; requiring it makes a source whose drift is unknown unverified
    drift_ppm: float | None = None
    step_s: float | None = None  # largest step of the clock inside the clip
    jitter_s: float | None = None  # largest symmetric jitter of the timestamps (one sigma)
    buffering_s: float | None = None  # largest mean one-sided delay of the timestamps
    # most time that one gap may lose: the excess of an interval over the usual one; one and a
    # half sample periods are always allowed: single samples are covered by `missing_share`
    max_gap_s: float | None = None
    max_gap_periods: float | None = None  # longest interval between neighbours in sample periods
    # largest share of samples missing, with equal timestamps, and stamped before their
    # predecessor; fewer, but not none, are a warning
    missing_share: float | None = None
    duplicate_share: float | None = None
    backwards_share: float | None = None
    # of a camera: largest share of frames with each kind of damage (undecoded, concealed, grey,
    # cut off, of another size); fewer, but not none, are a warning
    damaged_share: float | None = None
    # of a camera: longest repetition of one image while time goes on
    max_frozen_s: float | None = None
    # of a camera: largest share of frames that repeat the one before
    frozen_share: float | None = None
    # of a camera: longest spell of images of one colour, if it also shows others
    max_blank_s: float | None = None
    # of a camera that shows hardly anything else: largest share of such images; None leaves it
    # unverified, whatever the share
    blank_share: float | None = None
    rate_hz: float | None = None  # rate that the source must have
    rate_tolerance: float | None = None  # largest relative deviation from `rate_hz`

    def for_words(self) -> Limits:
        """Return the limits of a transcript of words."""
        return replace(
            self,
            offset_s=self.words_offset_s or self.offset_s,
            offset_warning_s=self.words_offset_warning_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Offset that a method shows on a healthy vehicle (steering, wheel speed)."""

    offset_s: float  # expected pair offset, with the sign of the measurement
    # allowed departure; default the wider offset limit of the two sources
    tolerance_s: float | None = None


def pair_baseline(method: str, source: str, target: str) -> str:
    """Return the name of the baseline of one pair of sources: ``steering: can to imu``."""
    return f"{method}: {source} to {target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Everything that turns figures into verdicts."""

    name: str  # profile or file it came from
    kinds: Mapping[str, Limits]  # limits per source kind
    # pattern of source names (shell wildcards) to the limits it changes, in order
    overrides: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    # kinds whose sources hold a clip back while unverified
    required_kinds: frozenset[str] = frozenset({"camera", "imu", "can", "transcript"})
    confidence: float = 0.95  # of the three-way test
    max_offset_s: float = 2.0  # search range of the estimators
    baseline_only: frozenset[str] = frozenset()  # methods that are never judged against zero
    # offset that such a method shows on a healthy vehicle; that of a pair of sources
    # (`pair_baseline`) takes precedence over that of its method
    baselines: Mapping[str, Baseline] = field(default_factory=dict)
    preference: tuple[str, ...] = ()  # kinds in order of trust, for ties of the consensus

    def limits(self, source: str, kind: SourceKind | str) -> Limits:
        """Return the limits of one source: its kind's, changed by every pattern that fits.

        Patterns apply in file order; an exact name comes last and wins.
        """
        limits = self.kinds.get(str(kind)) or Limits()
        if not self.overrides:
            return limits
        fitting = [p for p in self.overrides if p != source and fnmatch.fnmatchcase(source, p)]
        if source in self.overrides:
            fitting.append(source)
        for pattern in fitting:
            limits = replace(limits, **self.overrides[pattern])  # type: ignore[arg-type]  # names were validated
        return limits

    def is_required(self, kind: SourceKind | str) -> bool:
        """Return whether an unverified source of this kind holds the clip back."""
        return str(kind) in self.required_kinds

    def is_baseline_only(self, measurement: PairMeasurement) -> bool:
        """Return whether a measurement must not be judged against zero."""
        return measurement.is_baseline_only or measurement.method in self.baseline_only

    def baseline_of(self, measurement: PairMeasurement) -> Baseline | None:
        """Return the baseline of a measurement: that of its pair, or else of its method."""
        method = measurement.method
        pair = pair_baseline(method, measurement.source, measurement.target)
        return self.baselines.get(pair) or self.baselines.get(method)

    def clock_tolerances(self, clip: Clip) -> dict[str, float]:
        """Return the offset limit of every clock: the tightest of its sources."""
        tolerances: dict[str, float] = {}
        for name, spec in clip.sources.items():
            clock = clock_of(name, spec)
            limit = self.limits(name, spec.kind).offset_s
            tolerances[clock] = min(limit, tolerances.get(clock, limit))
        return tolerances

    def clock_preference(self, clip: Clip) -> tuple[str, ...]:
        """Return the clip's clocks, the most trusted first; of one kind, the stated reference."""
        rank = {kind: k for k, kind in enumerate(self.preference)}
        best: dict[str, tuple[int, bool]] = {}
        for name, spec in clip.sources.items():
            clock = clock_of(name, spec)
            is_stated = clip.reference in (clock, name)
            own = rank.get(spec.kind, len(rank)), not is_stated
            best[clock] = min(own, best.get(clock, own))
        return tuple(sorted(best, key=lambda clock: (best[clock], clock)))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _LimitsFile(_Strict):
    """Limits as users write them: milliseconds, and "off" for what is not checked."""

    offset_ms: _Positive | None = None
    offset_warning_ms: _Positive | _Off | None = None
    words_offset_ms: _Positive | None = None
    words_offset_warning_ms: _Positive | _Off | None = None
    drift_ppm: _Positive | _Off | None = None
    step_ms: _Positive | _Off | None = None
    jitter_ms: _Positive | _Off | None = None
    buffering_ms: _Positive | _Off | None = None
    max_gap_ms: _Positive | _Off | None = None
    max_gap_periods: Annotated[float, Field(ge=1.0, allow_inf_nan=False)] | _Off | None = None
    missing_share: _Share | _Off | None = None
    duplicate_share: _Share | _Off | None = None
    backwards_share: _Share | _Off | None = None
    damaged_share: _Share | _Off | None = None
    max_frozen_ms: _Positive | _Off | None = None
    frozen_share: _Share | _Off | None = None
    max_blank_ms: _Positive | _Off | None = None
    blank_share: _Share | _Off | None = None
    rate_hz: _Positive | _Off | None = None
    rate_tolerance: _Positive | _Off | None = None


class _BaselineFile(_Strict):
    offset_ms: _Finite
    tolerance_ms: _Positive | None = None


class _PolicyFile(_Strict):
    extends: str | None = None
    confidence: Annotated[float, Field(gt=0.5, lt=1.0)] | None = None
    required_kinds: list[_Kind] | None = None
    preference: list[_Kind] | None = None
    max_offset_s: _Positive | None = None
    baseline_only: list[str] | None = None
    kinds: dict[_Kind, _LimitsFile] = Field(default_factory=dict)
    sources: dict[str, _LimitsFile] = Field(default_factory=dict)
    baselines: dict[str, _BaselineFile] = Field(default_factory=dict)


def profile_names() -> tuple[str, ...]:
    """Return the names of the shipped profiles, the default first."""
    folder = resources.files("syncaudit.policy").joinpath("profiles")
    names = sorted(
        item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml")
    )
    return tuple(sorted(names, key=lambda name: name != DEFAULT_PROFILE))


def load_policy(path: str | None = None, *, profile: str | None = None) -> Policy:
    """Return the policy of a profile (default ``driving``), or of a TOML file on top of one.

    The file's ``extends`` names a profile or another file (relative to it); without that it extends
    `profile`. PolicyError if a file cannot be read, a key is unknown or a value makes no sense.
    """
    if path is None:
        name = profile or DEFAULT_PROFILE
        return _policy(name, _profile_chain(name, ()))
    chain = _file_chain(Path(path), profile, ())
    return _policy(path, chain)


def policy_from_plain(content: object) -> Policy:
    """Return the policy stated in a ``summary.json``: every field of `Policy` in base units.

    PolicyError if it is not a policy of this version.
    """
    try:
        return TypeAdapter(Policy).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise PolicyError(
            f"the policy in the summary does not fit this version: {where}: {first['msg']}",
            hint="Judge the clips again with 'syncaudit judge'.",
        ) from error


def _profile_chain(name: str, seen: tuple[str, ...]) -> list[_PolicyFile]:
    if name not in profile_names():
        raise PolicyError(f"no profile named '{name}'", hint=nearest_name(name, profile_names()))
    _refuse_cycle(name, seen)
    resource = resources.files("syncaudit.policy").joinpath("profiles", f"{name}.toml")
    layer = _parse(resource.read_text(encoding="utf-8"), f"profile {name}")
    below = [] if layer.extends is None else _profile_chain(layer.extends, (*seen, name))
    return [*below, layer]


def _file_chain(path: Path, profile: str | None, seen: tuple[str, ...]) -> list[_PolicyFile]:
    _refuse_cycle(str(path.resolve()), seen)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PolicyError(
            f"{path}: policy file not found",
            path=str(path),
            hint=f"Shipped profiles: {', '.join(profile_names())}.",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(
            f"{path}: cannot be read as text: {reason_of(error)}",
            path=str(path),
            hint="Name a policy file (TOML), see docs/policy.md.",
        ) from error
    layer = _parse(text, str(path))
    seen = (*seen, str(path.resolve()))
    if layer.extends is None:
        return [*_profile_chain(profile or DEFAULT_PROFILE, ()), layer]
    if profile is not None and layer.extends != profile:
        raise PolicyError(
            f"{path}: extends '{layer.extends}', but the profile '{profile}' was requested",
            path=str(path),
            hint="Name the profile in one place only.",
        )
    if layer.extends.endswith(".toml"):
        return [*_file_chain(path.parent / layer.extends, None, seen), layer]
    try:
        return [*_profile_chain(layer.extends, ()), layer]
    except PolicyError as error:
        raise PolicyError(f"{path}: {error.message}", path=str(path), hint=error.hint) from None


def _refuse_cycle(name: str, seen: tuple[str, ...]) -> None:
    if name in seen:
        raise PolicyError(f"policies extend each other in a circle: {' -> '.join((*seen, name))}")


def _parse(text: str, place: str) -> _PolicyFile:
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError(f"{place}: not valid TOML: {error}", path=place) from error
    try:
        return _PolicyFile.model_validate(table)
    except ValidationError as error:
        raise _worded(error, place) from None


_KEYS: Mapping[str, tuple[str, ...]] = {
    "kinds": tuple(_LimitsFile.model_fields),
    "sources": tuple(_LimitsFile.model_fields),
    "baselines": tuple(_BaselineFile.model_fields),
    "": tuple(_PolicyFile.model_fields),
}


def _worded(error: ValidationError, place: str) -> PolicyError:
    """Turn pydantic's first error into a sentence with place and remedy."""
    first = error.errors()[0]
    where = [str(part) for part in first["loc"]]
    if where[0] in ("kinds", "sources", "baselines"):
        # Beyond the field there are only names of union members.
        where = where[:3]
    else:
        where = where[:1] if where[0] != "required_kinds" else where[:2]
    key = ".".join(part for part in where if part != "[key]")
    found = first.get("input")
    if first["type"] == "extra_forbidden":
        known = _KEYS[where[0] if len(where) > 1 else ""]
        return PolicyError(
            f"{place}: unknown key '{key}'", path=place, hint=nearest_name(where[-1], known)
        )
    if where[0] == "kinds" and len(where) > 1 and where[1] not in set(SourceKind):
        return PolicyError(
            f"{place}: no kind of source named '{where[1]}'",
            path=place,
            hint=nearest_name(where[1], [str(kind) for kind in SourceKind]),
        )
    wanted = " or ".join(dict.fromkeys(_wanted(item) for item in _same_place(error, where)))
    return PolicyError(f"{place}: {key} is {found!r}, expected {wanted}", path=place)


def _same_place(error: ValidationError, where: list[str]) -> list[Any]:
    return [
        item
        for item in error.errors()
        if [str(part) for part in item["loc"]][: len(where)] == where
    ]


def _wanted(item: Mapping[str, Any]) -> str:
    message = str(item["msg"])
    for start in ("Input should be ", "Input should "):
        if message.startswith(start):
            return message.removeprefix(start)
    return message


def _in_base_units(table: _LimitsFile | _BaselineFile) -> dict[str, float | None]:
    """Return the figures that a table sets, in base units: the only place that handles `_ms`."""
    figures: dict[str, float | None] = {}
    for key in table.model_fields_set:
        value = getattr(table, key)
        is_ms = key.endswith("_ms")
        name = f"{key.removesuffix('_ms')}_s" if is_ms else key
        if value is None or value == "off":
            figures[name] = None
        else:
            figures[name] = float(value) * 1e-3 if is_ms else float(value)
    return figures


def _policy(name: str, chain: list[_PolicyFile]) -> Policy:
    """Merge layers, the later over the earlier, key by key."""
    kinds: dict[str, dict[str, float | None]] = {}
    sources: dict[str, dict[str, float | None]] = {}
    baselines: dict[str, Baseline] = {}
    settings: dict[str, Any] = {}
    for layer in chain:
        for kind, table in layer.kinds.items():
            kinds.setdefault(kind, {}).update(_in_base_units(table))
        for pattern, table in layer.sources.items():
            sources.setdefault(pattern, {}).update(_in_base_units(table))
        for method, baseline in layer.baselines.items():
            baselines[method] = Baseline(**_in_base_units(baseline))  # type: ignore[arg-type]  # offset_s is a number
        for key in ("confidence", "required_kinds", "preference", "max_offset_s", "baseline_only"):
            if getattr(layer, key) is not None:
                settings[key] = getattr(layer, key)
    return Policy(
        name=name,
        kinds={kind: Limits(**table) for kind, table in kinds.items()},  # type: ignore[arg-type]  # offset_s is never off
        overrides=sources,
        required_kinds=frozenset(settings["required_kinds"]),
        confidence=float(settings["confidence"]),
        max_offset_s=float(settings["max_offset_s"]),
        baseline_only=frozenset(settings["baseline_only"]),
        baselines=baselines,
        preference=tuple(settings["preference"]),
    )
