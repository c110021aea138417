"""Make a clip from an episode: a table of its numbers and a file of each camera's images."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.datasets.steps.arrays import (
    READ_ERRORS,
    Role,
    StepArray,
    is_blank,
    role_of,
    write_images,
)
from syncaudit.errors import UsageError, nearest_name, one_line
from syncaudit.formatting import word_count
from syncaudit.limits import ARRAY_BYTES
from syncaudit.model import CameraSpec, Clip, EventsSpec, SourceSpec, StateSpec
from syncaudit.model.arrays import Ints
from syncaudit.model.clip import StampKind

# A day at 100 Hz: an episode that claims more steps is damaged.
_MOST_STEPS = 10_000_000
# Nominal rate of rows whose rate is not stated: their stamp_kind is ``index``.
_NOMINAL_HZ = 10.0
# As nanoseconds, later times exceed int64: unix milliseconds, for one.
_MOST_S = 2**63 / 1e9
# Coarser timestamps are no times of steps: float32 holds unix seconds in steps of 128 s.
_COARSE_S = 0.002
# No robot is recorded more slowly: such times are milliseconds or finer.
_LONGEST_STEP_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stamps:
    """The timestamps of steps, int64 ns of shape (n,), and their kind."""

    time_ns: Ints
    kind: StampKind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Episode:
    """Rows of arrays that were recorded together."""

    clip_id: str  # unique in the data set; separates its files from others'
    # name, with ``/`` between groups, to an array with one row per step
    arrays: Mapping[str, StepArray]
    rows: tuple[int, int]  # first row and the one after the last
    rate_hz: float | None = None  # steps per second, if the data set states it
    findings: list[str] = field(default_factory=list)  # its faults, as ``code: text``


def clip_of(episode: Episode, job: Import, source: Source) -> Clip:
    """Return the clip of an episode, with its data written beside the manifest."""
    n_steps = episode.rows[1] - episode.rows[0]
    if not 0 < n_steps <= _MOST_STEPS:
        faults = [
            *episode.findings,
            f"corrupt: it holds {word_count(n_steps, 'step')}. Record or copy it again.",
        ]
        return broken_clip(episode.clip_id, faults, job, source)
    taken: dict[Role, dict[str, StepArray]] = {role: {} for role in Role}
    findings = list(episode.findings)
    for name, array in episode.arrays.items():
        try:
            role, why = role_of(name, array)
        except READ_ERRORS as error:
            findings.append(_unread(name, error))
            continue
        taken[role][name] = array
        job.note(f"ignored {name}: {why}" if role is Role.NONE else f"{name} -> {role}")
    numbers = {
        role: dict(_numbers(episode, taken[role], findings))
        for role in (Role.STATE, Role.ACTION, Role.STAMPS)
    }
    stamps = _stamps(episode, numbers[Role.STAMPS], findings, job)
    sources = dict(_cameras(episode, taken, stamps, findings, job))
    vectors = {str(role): numbers[role] for role in (Role.STATE, Role.ACTION) if numbers[role]}
    for title, arrays in vectors.items():
        short = _short_names(list(arrays))
        columns = {short[name]: _cells(values) for name, values in arrays.items()}
        table = job.sidecars.write_table(
            f"{episode.clip_id}/{title}.parquet", {"timestamp_ns": stamps.time_ns, **columns}
        )
        sources[title] = StateSpec(
            uri=table,
            columns={name: [name] for name in columns},
            stamp_kind=stamps.kind,
            findings=findings,
            is_command=title == Role.ACTION,
        )
    if not sources:
        faults = [*findings, "empty: it holds no images, state or actions"]
        return broken_clip(episode.clip_id, faults, job, source)
    return source.clip(episode.clip_id, sources)


def broken_clip(clip_id: str, findings: list[str], job: Import, source: Source) -> Clip:
    """Return a clip for an unreadable episode, so that it gets a verdict."""
    for text in findings:
        job.note(f"{clip_id}: {text.partition(': ')[2]}")
    empty = {"timestamp_ns": np.empty(0, np.int64)}
    table = job.sidecars.write_table(f"{clip_id}/episode.parquet", empty)
    return source.clip(clip_id, {"episode": EventsSpec(uri=table, findings=findings)})


def counted(n_steps: int, rate_hz: float | None, job: Import) -> Stamps:
    """Return timestamps that count steps at a rate, or number them if it is unknown."""
    kind: StampKind = "index" if rate_hz is None else "counter"
    time_ns = np.rint(np.arange(n_steps) * 1e9 / (rate_hz or _NOMINAL_HZ)).astype(np.int64)
    job.note(
        "nothing states a time or a rate: steps are numbered only, so nothing can pass. Give the "
        "rate with rate_hz in --rules"
        if rate_hz is None
        else f"timestamps are step / {rate_hz:g} Hz: a counter, not capture times"
    )
    return Stamps(time_ns=time_ns, kind=kind)


def rate_of_rules(rules: Mapping[str, Any]) -> float | None:
    """Return the rate that ``--rules`` set for all episodes.

    UsageError if they hold anything else.
    """
    for key in rules:
        if key != "rate_hz":
            raise UsageError(
                f"the rules hold the unknown key '{key}'", hint=nearest_name(key, ["rate_hz"])
            )
    rate_hz = rules.get("rate_hz")
    if rate_hz is None:
        return None
    is_number = isinstance(rate_hz, int | float) and not isinstance(rate_hz, bool)
    if not is_number or not 0 < rate_hz < 1e6:
        raise UsageError(f"rate_hz is {rate_hz!r}", hint="Give steps per second: rate_hz = 15.")
    return float(rate_hz)


def _unread(name: str, error: BaseException) -> str:
    return f"corrupt: {name} cannot be read and is left out ({one_line(error)})"


def _stamps(
    episode: Episode, stated: Mapping[str, NDArray[Any]], findings: list[str], job: Import
) -> Stamps:
    """Return the timestamps in the episode, else timestamps made from its rate."""
    for name, values in stated.items():
        largest = np.abs(values).max()
        if values.dtype.kind != "f" or not largest < _MOST_S:  # or NaN
            why = "not every item is a number of seconds"
        elif np.spacing(largest) > _COARSE_S:
            why = f"{values.dtype} holds them in steps of {np.spacing(largest):g} s"
        elif (step_s := np.ptp(values) / max(1, len(values) - 1)) > _LONGEST_STEP_S:
            why = f"as seconds its items would be {step_s:.3g} s apart"
        else:
            job.note(f"timestamps are {name}, taken as seconds")
            time_ns = np.rint(values.ravel().astype(np.float64) * 1e9).astype(np.int64)
            return Stamps(time_ns=time_ns, kind="receive")
        findings.append(f"manifest: {name} is not used: {why}")
    return counted(episode.rows[1] - episode.rows[0], episode.rate_hz, job)


def _cameras(
    episode: Episode,
    taken: Mapping[Role, Mapping[str, StepArray]],
    stamps: Stamps,
    findings: list[str],
    job: Import,
) -> Iterator[tuple[str, SourceSpec]]:
    arrays = {**taken[Role.ENCODED], **taken[Role.IMAGES]}
    table = ""
    for name, title in _short_names(list(arrays)).items():
        first, stop = episode.rows
        rows = first, min(stop, arrays[name].shape[0])
        if is_blank(arrays[name], rows):
            job.note(f"ignored {name} where it is one blank image: padding")
            continue
        path = job.sidecars.path(f"{episode.clip_id}/{title}")
        file, fault = write_images(path, arrays[name], rows, stamps.time_ns)
        own = list(findings)
        if fault:
            text = f"{name} is left out from image {file.n_kept} on: {fault}"
            own.append(f"unreadable: {text}")
        table = table or job.sidecars.write_table(
            f"{episode.clip_id}/stamps.parquet", {"timestamp_ns": stamps.time_ns}
        )
        yield (
            title,
            CameraSpec(
                uri=file.uri or table, timestamps=table, stamp_kind=stamps.kind, findings=own
            ),
        )


def _numbers(
    episode: Episode, arrays: Mapping[str, StepArray], findings: list[str]
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the episode's rows of each array that has all of them."""
    first, stop = episode.rows
    for name, array in arrays.items():
        try:
            n_bytes = (stop - first) * math.prod(array.shape[1:]) * array.dtype.itemsize
            if n_bytes > ARRAY_BYTES:
                raise ValueError(f"its rows take more than {ARRAY_BYTES >> 30} GiB")
            values = np.asarray(array[first:stop])
        except READ_ERRORS as error:
            findings.append(_unread(name, error))
            continue
        if len(values) == stop - first:
            yield name, values
        else:
            text = f"{name} has {len(values)} rows for {stop - first} steps, and is left out"
            findings.append(f"length_mismatch: {text}")


def _cells(values: NDArray[Any]) -> Any:
    """Return a column of numbers, or of lists of numbers."""
    plain = values.astype(np.float64)
    return plain if plain.ndim == 1 else list(plain)


def _short_names(names: list[str]) -> dict[str, str]:
    """Return the last part of every name, or the whole if not unique, with safe characters only."""
    plain = {name: re.sub(r"[^\w/.+-]", "_", name) for name in names}
    last = Counter(name.rpartition("/")[2] for name in plain.values())
    titles = {
        name: whole.rpartition("/")[2]
        if last[whole.rpartition("/")[2]] == 1
        else whole.replace("/", ".")
        for name, whole in plain.items()
    }
    taken = Counter(titles.values())
    return {
        name: title if taken[title] == 1 else f"{title}_{number}"
        for number, (name, title) in enumerate(titles.items())
    }
