"""Convert the solution of a bundle to a calibration, with the findings that do not prevent it.

One of them: clicks that a video plays align with its frames and do not date its light.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set

import numpy as np

from syncaudit.estimators.events import MESSAGE_STD_S, EventEvidence, is_by_camera
from syncaudit.estimators.events.flash_bands import EDGE_SHIFT_PX
from syncaudit.formatting import word_count, word_duration, word_measure
from syncaudit.model import EventTrain, FlashEdges, Quantity
from syncaudit.model.arrays import Floats
from syncaudit_calibration.adjustment import Adjustment
from syncaudit_calibration.calibration import (
    CalibratedFlash,
    CalibratedSource,
    CalibratedStep,
    Calibration,
)
from syncaudit_calibration.seed import Seed, word_clipping
from syncaudit_calibration.unknowns import light_lasts

DAY_S = 86_400.0
# Path lengths of sound that differ by a metre, one sigma.
SOUND_WAY_STD_S = 3e-3
# Standard error of a median relative to that of a mean, for normal errors.
MEDIAN_ERROR = math.sqrt(0.5 * math.pi)
# A step counts as whole frames if it is a multiple of the frame period to this fraction of it.
FRAME_SHARE = 0.03
# Encoders shift all bands of a camera by this part of a row: 0.05 rows rms in 50 cameras whose
# offsets hardly anything else limits (H.264, 240 to 720 lines); twice that for other encoders.
ROW_STD_PX = 0.1

# Typical timestamp jitter is tens of microseconds; above this a warning is given.
MAX_JITTER_S = 2e-4
# Logs are known to a fraction of this where the length of the light is known.
MAX_LATENCY_STD_S = 5e-4

# Offset between sound and light of a video: ITU-R BT.1359 accepts 90 ms early to 185 ms late, and
# displays and speakers make use of that range (one sigma of a uniform distribution).
PLAYED_STD_S = 0.275 / 12**0.5
# Frame rate of videos made for screens; the search includes 59.94 Hz and errors of player clocks.
FRAME_RATE_HZ = 60.0
RATE_REACH = 1.2e-3
# Programs that switch lamps wait for multiples of 50 ms, which are whole frames as well.
TICKS_PER_PROGRAM = 3
# Maximum p-value of a grid (Rayleigh's test of a common phase, times the number of rates tried).
MAX_CHANCE = 1e-4


def calibration_of(
    evidence: Sequence[EventEvidence],
    solved: Adjustment,
    refused: Mapping[str, str],
    latent: Set[str],
    warnings: Sequence[str],
) -> Calibration:
    """Convert a solution to a calibration.

    `refused` names the sources that are not among them, and why; `latent` the counters that were
    sent at every flash with an unknown latency. `warnings` are earlier ones.
    """
    items = {item.source: item for item in evidence}
    observations, seed = solved.observations, solved.observations.seed
    at_ns = observations.anchor_ns[seed.reference]
    shared = {name: _shared_std(items[name], solved) for name in observations.sources}
    played = {name for name in observations.sources if is_played(items[name])}
    sources = {
        name: _source(
            items[name],
            solved,
            at_ns,
            np.hypot(shared[name], shared[seed.reference]),
            math.hypot(
                MESSAGE_STD_S if {name, seed.reference} & latent else 0.0,
                PLAYED_STD_S if (name in played) != (seed.reference in played) else 0.0,
                SOUND_WAY_STD_S if _hangs_on_sound(name, items, solved) else 0.0,
            ),
        )
        for name in observations.sources
    }
    half_light = observations.column("half_light")
    latency_s, latency_std_s = solved.value_of(half_light)
    return Calibration(
        reference=seed.reference,
        at_ns=at_ns,
        sources=sources,
        flashes=_flashes(
            solved,
            at_ns,
            0.0 if light_lasts(items.values()) else latency_s,
        ),
        refused=dict(refused),
        warnings=(
            *_find_warnings(items, seed, sources, latency_std_s),
            *warnings,
            *_played_words(played),
        ),
        half_light_s=latency_s,
        half_light_std_s=latency_std_s,
    )


def _played_words(played: Set[str]) -> list[str]:
    if not played:
        return []
    return [
        f"the clicks of {', '.join(sorted(played))} follow the frames of a video: speakers and "
        "screens are late by tens of milliseconds, each by its own amount: the error was widened"
    ]


def _optional(solved: Adjustment, kind: str, name: str) -> tuple[float, float] | tuple[None, None]:
    column = solved.observations.column(kind, name)
    return (None, None) if column is None else solved.value_of(column)


def _hangs_on_sound(name: str, items: Mapping[str, EventEvidence], solved: Adjustment) -> bool:
    """Return whether a source of clicks or taps shares most of its events only with such sources.

    A tap is heard at once, the click of a lamp later: the path differs from event to event.
    """
    observations = solved.observations
    is_sound = np.array([_is_sound(items[source]) for source in observations.sources])
    number = observations.sources.index(name)
    others = ~is_sound & (np.arange(is_sound.size) != number)
    seen = observations.flash[others[observations.source] & solved.is_used]
    own = np.unique(observations.flash[(observations.source == number) & solved.is_used])
    return bool(is_sound[number] and np.isin(own, seen).sum() < 0.5 * own.size)


def _is_sound(item: EventEvidence) -> bool:
    return isinstance(item, EventTrain) and item.quantity is Quantity.CLICK


def _source(
    item: EventEvidence, solved: Adjustment, at_ns: int, shared: Floats, other_s: float
) -> CalibratedSource:
    name, observations = item.source, solved.observations
    x, covariance = _clock(solved, name)
    anchor_ns = observations.anchor_ns[name]
    since_s = (at_ns - anchor_ns) * 1e-9
    own_at_ns = at_ns
    if abs(since_s) > DAY_S:
        own_at_ns, since_s = anchor_ns, 0.0
    steps = _steps(item, solved)
    is_late = np.array([float(own_at_ns >= step.at_ns) for step in steps])
    move = np.eye(x.size)
    move[0, 1], move[0, 2:] = since_s, is_late
    covariance = move @ covariance @ move.T
    systematic = np.hypot(shared, [other_s, 0.0]) * float(name != observations.seed.reference)
    covariance[:2, :2] += np.diag(systematic**2)
    own = observations.source == observations.sources.index(name)
    used = own & solved.is_used
    residuals = solved.residuals_s[used]
    drift = float(x[1])
    # The reference's anchor is the zero of reference time: correction = reference time - own time.
    offset_s = float(x[0]) + since_s * (1.0 + drift) + float(is_late @ x[2:])
    offset_s += (at_ns - own_at_ns) * 1e-9
    line_delay_s, line_delay_std_s = _optional(solved, "line_delay", name)
    exposure_s, exposure_std_s = _optional(solved, "exposure", name)
    jitter_s = float(solved.jitter_s[observations.sources.index(name)])
    removed_s = _removed_jitter_s(item, solved)
    return CalibratedSource(
        offset_s=offset_s,
        offset_std_s=float(np.sqrt(covariance[0, 0])),
        drift_ppm=1e6 * drift,
        drift_std_ppm=1e6 * float(np.sqrt(covariance[1, 1])),
        at_ns=own_at_ns,
        covariance=covariance,
        flashes_seen=int(np.unique(observations.flash[used]).size),
        residual_rms_s=float(np.sqrt(np.mean(residuals**2))) if residuals.size else 0.0,
        outliers=int(np.count_nonzero(own & ~solved.is_used)),
        residuals_s=residuals,
        residual_at_s=solved.flash_s[observations.flash[used]],
        systematic_std_s=float(systematic[0]),
        jitter_s=None if math.isnan(jitter_s) else math.hypot(jitter_s, removed_s),
        removed_jitter_s=removed_s,
        steps=steps,
        line_delay_s=line_delay_s,
        line_delay_std_s=line_delay_std_s,
        exposure_s=exposure_s,
        exposure_std_s=exposure_std_s,
        scan=item.scan if isinstance(item, FlashEdges) else None,
    )


def _removed_jitter_s(item: EventEvidence, solved: Adjustment) -> float:
    """Return the scatter of a camera's timestamps about the even clock that exposed its frames."""
    share, _ = _optional(solved, "jitter", item.source)
    return share * item.jitter_s if share is not None and isinstance(item, FlashEdges) else 0.0


def _clock(solved: Adjustment, name: str) -> tuple[Floats, Floats]:
    """Return offset, drift and steps of a source, and their covariance; zero if not unknowns."""
    observations = solved.observations
    columns = [observations.column(kind, name) for kind in ("offset", "drift")]
    columns += observations.steps(name)
    x, covariance = np.zeros(len(columns)), np.zeros((len(columns), len(columns)))
    known = [k for k, column in enumerate(columns) if column is not None]
    taken = [column for column in columns if column is not None]
    x[known] = solved.x[taken]
    covariance[np.ix_(known, known)] = solved.covariance[np.ix_(taken, taken)]
    return x, covariance


def _steps(item: EventEvidence, solved: Adjustment) -> tuple[CalibratedStep, ...]:
    """Return the steps of a source, each between the last flash before it and the first after."""
    observations = solved.observations
    own = observations.source == observations.sources.index(item.source)
    stamps_s = np.unique(observations.stamp_s[own & solved.is_used])
    found = []
    for column in observations.steps(item.source):
        step_s, std_s = solved.value_of(column)
        place = int(np.searchsorted(stamps_s, observations.unknowns[column].at_s))
        after, before = stamps_s[max(0, place - 1)], stamps_s[min(place, stamps_s.size - 1)]
        found.append(
            CalibratedStep(
                after_ns=item.epoch_ns + round(float(after) * 1e9),
                before_ns=item.epoch_ns + round(float(before) * 1e9),
                step_s=step_s,
                step_std_s=std_s,
                frames=_frames(item, step_s, std_s),
            )
        )
    return tuple(found)


def _shared_std(item: EventEvidence, solved: Adjustment) -> Floats:
    """Return the errors of offset and drift that all events of a source share, shape (2,), s, s/s.

    Line delay and exposure are unknowns of the bundle, and so is the time from the timestamp to the
    middle row; the exposure estimated from edges is off by as much as encoders move the edges
    apart. An even clock is known only as well as the scatter of the timestamps about it allows.
    """
    if not isinstance(item, FlashEdges):
        return np.array([item.systematic_std_s, 0.0])
    line_delay_s, _ = _optional(solved, "line_delay", item.source)
    is_by_edges = item.stamp_part != 0.0 and item.exposure_s is None
    stamp_px = abs(item.stamp_part) * EDGE_SHIFT_PX if is_by_edges else 0.0
    rows_s = math.hypot(ROW_STD_PX, stamp_px) * (line_delay_s or 0.0)
    found = np.array([math.hypot(rows_s, item.rise_std_s), 0.0])
    frame_s = np.unique(item.watched_s)
    if frame_s.size > 1:
        each_s = _removed_jitter_s(item, solved) / math.sqrt(frame_s.size)
        found = np.hypot(found, each_s * np.array([MEDIAN_ERROR, 1.0 / np.std(frame_s)]))
    return found


def _frames(item: EventEvidence, step_s: float, std_s: float) -> int | None:
    """Return the step in whole frame periods, or None if it is not a multiple."""
    if not isinstance(item, FlashEdges) or not item.watched_s.size:
        return None
    period_s = float(np.median(np.diff(item.watched_s, axis=1)))
    n = round(step_s / period_s)
    is_whole = abs(step_s - n * period_s) <= FRAME_SHARE * period_s
    return n if n and is_whole and std_s < FRAME_SHARE * period_s else None


def _flashes(solved: Adjustment, at_ns: int, latency_s: float) -> tuple[CalibratedFlash, ...]:
    observations, found = solved.observations, []
    for k in np.argsort(solved.flash_s, kind="stable"):
        seen = np.unique(observations.source[(observations.flash == k) & solved.is_used])
        if seen.size < 2:
            continue
        found.append(
            CalibratedFlash(
                t_ns=at_ns + round(float(solved.flash_s[k] - latency_s) * 1e9),
                std_s=float(solved.flash_std_s[k]),
                seen_by=tuple(observations.sources[s] for s in seen),
            )
        )
    return tuple(found)


def _find_warnings(
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
        + _word_frames(step.frames)
        + f" between its timestamps {step.after_ns} and {step.before_ns}"
        for name, source in sources.items()
        for step in source.steps
    ]
    warnings += [words for item in items.values() if (words := word_clipping(item)) is not None]
    return warnings + _jitters(sources) + _open_length(items, half_light_std_s)


def _word_frames(n: int | None) -> str:
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


def is_played(item: EventEvidence) -> bool:
    """Return whether the clicks of a source align with the frames of a video."""
    if not isinstance(item, EventTrain) or item.quantity is not Quantity.CLICK:
        return False
    return (
        _chance(item.times_s, FRAME_RATE_HZ)
        < MAX_CHANCE
        <= _chance(item.times_s, FRAME_RATE_HZ / TICKS_PER_PROGRAM)
    )


def _chance(times_s: Floats, rate_hz: float) -> float:
    """Return the p-value of a common phase of the events at a rate near this one."""
    if times_s.size < 2:
        return 1.0
    reach_hz = RATE_REACH * rate_hz
    n_rates = 1 + int(np.ceil(8.0 * reach_hz * float(np.ptp(times_s))))
    rates_hz = rate_hz + np.linspace(-reach_hz, reach_hz, n_rates)
    turns = np.exp(2j * np.pi * rates_hz[:, None] * (times_s - times_s[0]))
    return float(n_rates * np.exp(-(np.max(np.abs(turns.sum(axis=1))) ** 2) / times_s.size))
