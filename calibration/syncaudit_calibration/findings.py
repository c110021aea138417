"""Describe the findings of a calibration that do not prevent it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from syncaudit.estimators.events import EventEvidence, is_by_camera
from syncaudit.formatting import word_count, word_duration, word_measure
from syncaudit.model import FlashEdges
from syncaudit_calibration.calibration import CalibratedSource
from syncaudit_calibration.seed import Seed, word_clipping

# Typical timestamp jitter is tens of microseconds; above this a warning is given.
MAX_JITTER_S = 2e-4
# Logs are known to a fraction of this where the length of the light is known.
MAX_LATENCY_STD_S = 5e-4


def find_warnings(
    items: Mapping[str, EventEvidence],
    seed: Seed,
    sources: Mapping[str, CalibratedSource],
    half_light_std_s: float,
) -> list[str]:
    """Return warnings: open loops, steps, clipping, jitter, how long the light stays on.

    `half_light_std_s` is the error of the time from the onset of a light to its half-light instant.
    """
    warnings = [
        f"{closure.source} and {closure.target} disagree with the path through the other "
        f"sources by {word_measure(closure.closure_s, closure.closure_std_s)}: left out"
        for closure in seed.closures
        if closure.is_contradicted
    ]
    warnings += [
        f"the clock of {name} steps by {word_measure(step.step_s, step.step_std_s)}"
        + _frames(step.frames)
        + f" between its timestamps {step.after_ns} and {step.before_ns}"
        for name, source in sources.items()
        for step in source.steps
    ]
    warnings += [words for item in items.values() if (words := word_clipping(item)) is not None]
    return warnings + _jitters(sources) + _open_length(items, half_light_std_s)


def _frames(n: int | None) -> str:
    if n is None:
        return ""
    return f" ({word_count(abs(n), 'frame period')}: {'lost' if n > 0 else 'doubled'} frames)"


def _open_length(items: Mapping[str, EventEvidence], half_light_std_s: float) -> list[str]:
    """Say what to state where the length of the light limits what is known of logs of onsets."""
    logs = sorted(name for name, item in items.items() if not is_by_camera(item))
    open_to = sorted(
        name
        for name, item in items.items()
        if isinstance(item, FlashEdges)
        and item.sense is None
        and None in (item.line_delay_s, item.exposure_s)
    )
    if not logs or not open_to or half_light_std_s < MAX_LATENCY_STD_S:
        return []
    return [
        f"the flashes do not show whether the light stays on for longer than the exposure of "
        f"{', '.join(open_to)}: against cameras, {', '.join(logs)} is known to "
        f"{word_duration(half_light_std_s)} at best. State line_delay_s and exposure_s of a camera "
        "that shows bands, or let cameras of different exposures see the light"
    ]


def _jitters(sources: Mapping[str, CalibratedSource]) -> list[str]:
    """Describe timestamps that jitter more than usual."""
    removed = {name: source.removed_jitter_s for name, source in sources.items()}
    left = {
        name: math.sqrt(max(0.0, source.jitter_s**2 - removed[name] ** 2))
        for name, source in sources.items()
        if source.jitter_s is not None
    }
    if len(left) == 2:
        # With two sources, only their difference is observable.
        left = {" or ".join(sorted(left)): math.hypot(*left.values())}
    return [
        f"the timestamps of {name} jitter by {word_duration(jitter_s)} (one sigma) about a "
        "regular clock, which was used to date its frames"
        for name, jitter_s in removed.items()
        if abs(jitter_s) > MAX_JITTER_S
    ] + [
        f"the timestamps of {name} jitter by {word_duration(jitter_s)} (one sigma), or the clock "
        "wanders: the errors were widened"
        for name, jitter_s in left.items()
        if jitter_s > MAX_JITTER_S
    ]
