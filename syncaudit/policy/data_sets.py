"""Describe what the clips of a data set have in common, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncaudit.formatting import word_correction, word_count, word_duration
from syncaudit.model import CommonOffset, DataSetClocks
from syncaudit.policy.case import Equivalence, compare, quantile
from syncaudit.policy.limits import Policy

_CURE = (
    "It is constant, so one correction removes it from all clips: `syncaudit apply` with "
    "`common_offsets.json` and the manifest, or `--calibration common_offsets.json` when "
    "validating. If it is intended, state it as `expected_offset_s`. Then look for a fixed "
    "delay in the recorder."
)
# Clips that are named in a sentence.
_NAMED = 3
# Scatter between recordings is reported if chance alone shows as much less often than this.
_CHANCE = 0.01


def is_outside(policy: Policy, offset_s: float, std_s: float, limit_s: float) -> bool:
    """Return whether an offset is shown to lie outside of a limit, as for a clip."""
    return compare(offset_s, std_s, limit_s, quantile(policy.confidence)) is Equivalence.OUTSIDE


def data_set_row(found: DataSetClocks) -> dict[str, Any]:
    """Return a data set's row of `summary.json`, with a sentence for each common offset."""
    return {
        "dataset": found.dataset,
        "clips": found.n_clips,
        "reference": found.reference,
        "is_undecided": found.is_undecided,
        "clocks": {
            clock.clock: {
                "sources": list(clock.sources),
                "offset_s": clock.offset_s,
                "offset_std_s": clock.offset_std_s,
                "between_std_s": clock.between_s,
                "between_chance": clock.between_chance,
                "limit_s": clock.limit_s,
                "is_outside": clock.is_outside,
                "clips": clock.n_clips,
                "measured": clock.n_measured,
                "alike": clock.n_agreeing,
                "unlike": [{"clip_id": name, "offset_s": value} for name, value in clock.differing],
            }
            for clock in found.clocks
        },
        "common": {
            clock.clock: _sentence(found, clock) for clock in found.clocks if clock.is_outside
        },
        "cure": None if found.common is None else _CURE,
    }


def _sentence(found: DataSetClocks, clock: CommonOffset) -> str:
    text = (
        f"{clock.clock} is {word_correction(clock.offset_s, clock.offset_std_s)} against "
        f"{found.reference} in {clock.n_agreeing} of {word_count(clock.n_clips, 'clip')}; limit "
        f"{word_duration(clock.limit_s)}"
    )
    if clock.between_chance < _CHANCE:
        text += f". It varies by {word_duration(clock.between_s)} from recording to recording"
    n_differing = clock.n_measured - clock.n_agreeing
    if n_differing:
        named = [_named(*one) for one in clock.differing[:_NAMED]]
        more = n_differing - len(named)
        text += f". {word_count(n_differing, 'clip')} differ{'s' if n_differing == 1 else ''}: "
        text += ", ".join(named) + (f" and {more} more" if more > 0 else "")
    if clock.n_clips > clock.n_measured:
        text += f". {word_count(clock.n_clips - clock.n_measured, 'clip')} could not be measured"
    if found.is_undecided:
        text += f". Nothing shows which side is wrong: {found.reference} is trusted in all clips"
    return text


def _named(clip_id: str, offset_s: float | None) -> str:
    return clip_id if offset_s is None else f"{clip_id} ({word_correction(offset_s)})"


def calibration_of(found: DataSetClocks, intended_s: Mapping[str, float]) -> dict[str, Any]:
    """Return the common offsets as a calibration (formats, section 4).

    There is one; it contains the intended offset of every source, `intended_s`.
    """
    reference = found.reference_sources[0]
    return {
        "version": 1,
        "reference": reference,
        "at_ns": None,
        "sources": {
            name: {
                "offset_s": clock.offset_s + intended_s.get(name, 0.0) - intended_s[reference],
                "offset_std_s": clock.offset_std_s,
                "drift_ppm": None,
                "drift_std_ppm": None,
            }
            for clock in found.clocks
            if clock.is_outside
            for name in clock.sources
        },
    }
