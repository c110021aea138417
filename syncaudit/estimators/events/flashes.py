"""Measure a pair of sources by the flashes, strobes, triggers or clicks that both recorded."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy.stats import binom

from syncaudit.estimators.events.instants import (
    USUAL_HALF_LIGHT_S,
    EventEvidence,
    Instants,
    instants_of,
    phase_lock,
)
from syncaudit.estimators.events.light_length import find_light_length, shortened
from syncaudit.estimators.events.matching import MAX_DRIFT_PPM, match_events
from syncaudit.estimators.events.missed import why_contradicted
from syncaudit.estimators.events.pair_fit import (
    N_PLAIN,
    UNIFORM,
    EventMatch,
    PairFit,
    gates_s,
    residuals_s,
)
from syncaudit.model import (
    EventResiduals,
    EventTrain,
    FlashEdges,
    FlashIntervals,
    PairMeasurement,
    Quantity,
    nanoseconds,
)

UNKNOWN_LENGTH = (
    "one source dates the light going on and off, the other half-light, whose latency after the "
    "onset is unknown: state exposure_s and line_delay_s of both"
)
METHOD = "flash"
# Part of the standard error that no number of flashes removes (rows, the shape of pulses).
FLOOR_STD_S = 5e-6
# A drift is reported when it is this significant, or known this well.
DRIFT_Z = 3.5
DRIFT_STD_PPM = 20.0
# A line delay with a smaller error than this part of it counts as known.
KNOWN_SHARE = 0.02
# Latency from a flash to the message that counts it: interrupt, queue and bus arbitration.
MESSAGE_STD_S = 2e-4
# Share of the shorter train that must match where messages are taken for flashes: chance matches a
# few of the messages that are sent at regular intervals.
MIN_WHOLE = 0.8
# Probability that messages sent at regular intervals follow this many flashes equally closely.
MAX_CHANCE = 3e-4


def measure_flashes(
    source_evidence: EventEvidence, target_evidence: EventEvidence, *, max_offset_s: float = 30.0
) -> PairMeasurement:
    """Measure the offset, and the drift where observable, of a pair by common events.

    The events are matched by voting and fitted robustly (`match_events`). Flash bands date the
    half-light instant of a pulse, triggers and counters its onset: between the two kinds, the
    latency is subtracted, as measured by the camera, else 0.5 ± 0.5 ms. A camera's line delay that
    is not stated is fitted along with the offset (``diagnostics["source_line_delay_s"]``). Where
    the flashes do not determine it, because they stay on the same rows or because both cameras
    share one frame rate and phase, its uncertainty is part of `offset_std_s` and
    `systematic_std_s` (``diagnostics["source_line_delay_known"]`` is 0 there). The exposure is
    needed only where no band shows both edges, and is fitted in the same way
    (``diagnostics["source_exposure_s"]``).

    If a strobe counter's message is sent because the counter rose, the message dates the flash. If
    it is sent at regular intervals, it only bounds the flash by an interval.

    Using the same event in several receivers as a common time base is the idea of
    reference-broadcast synchronization (Elson, Girod & Estrin, OSDI 2002,
    doi:10.1145/844128.844143). Dating a flash by rows follows Smid & Matas, "Rolling shutter camera
    synchronization with sub-millisecond accuracy", VISAPP 2017, arXiv:1902.11084.

    Parameters
    ----------
    source_evidence, target_evidence : FlashEdges, FlashIntervals or EventTrain
        Events of the two sources on their own clocks.
    max_offset_s : float
        Largest offset searched for, either sign.

    Returns
    -------
    PairMeasurement
        Method ``flash``; refused, with the reason, where too few events match, an offset that
        differs by a period would fit as well, or a clock steps more than once.
    """
    match = _match_messages(source_evidence, target_evidence, max_offset_s=max_offset_s)
    if match is not None:
        return _measured(match, MESSAGE_STD_S)
    both = source_evidence, target_evidence
    match = _match_instants(*both, max_offset_s=max_offset_s)
    if match.n and match.source.half_s.any() and match.target.half_s.any():
        # Intervals as wide as frames hide that a train repeats itself.
        light = find_light_length(both, max_offset_s=max_offset_s)
        short = (shortened(own, light.likely_s) for own in both)
        of_light = _match_instants(*short, max_offset_s=max_offset_s)
        match = match if of_light.why is None else of_light
    return _measured(
        match,
        math.hypot(_counter_std_s(source_evidence), _counter_std_s(target_evidence)),
    )


def _match_instants(one: EventEvidence, other: EventEvidence, *, max_offset_s: float) -> EventMatch:
    """Match events dated by rows; if these do not suffice, those between two frames as well."""
    both = one, other
    source, target = (instants_of(own) for own in both)
    match = match_events(source, target, max_offset_s=max_offset_s)
    if match.why is None:
        return match
    wide_source, wide_target = (instants_of(own, with_intervals=True) for own in both)
    if (wide_source.n, wide_target.n) == (source.n, target.n):
        return match
    found = match_events(wide_source, wide_target, max_offset_s=max_offset_s)
    return found if found.why is None else match


def _counter_std_s(evidence: EventEvidence) -> float:
    """Return the systematic error of a counter.

    Where in an interval the flashes lie is unknown: their train need not fill it evenly.
    """
    if not isinstance(evidence, FlashIntervals) or evidence.quantity is not Quantity.STROBE:
        return 0.0
    return float(np.median(evidence.stop_s - evidence.start_s)) / math.sqrt(12.0)


def _measured(match: EventMatch, counter_std_s: float) -> PairMeasurement:
    source, target = match.source, match.target
    if match.why is not None or match.fit is None:
        return _refuse(match)
    fit = match.fit
    why = why_contradicted(source, target, fit)
    if why is not None:
        return _refuse(replace(match, why=why))
    if len(fit.steps) > 1:
        why = f"one of the clocks steps {len(fit.steps)} times within the clip"
        return _refuse(replace(match, why=why))
    step = fit.steps[0] if fit.steps else None
    latency = _latency(source, target)
    if latency is None:
        return _refuse(replace(match, why=UNKNOWN_LENGTH))
    latency_s, latency_std_s = latency
    interval_std_s = math.hypot(counter_std_s, _locked_std_s(match))
    epochs_s = (target.epoch_ns - source.epoch_ns) * 1e-9
    systematic_s = math.sqrt(
        FLOOR_STD_S**2
        + source.systematic_std_s**2
        + target.systematic_std_s**2
        + latency_std_s**2
        + interval_std_s**2
        + _timing_part(match) ** 2
    )
    random_s = math.sqrt(max(fit.covariance[0, 0] - _timing_part(match) ** 2, 1e-18))
    figures = _figures(match)
    drift_std = math.hypot(fit.drift_std, _wander(match, interval_std_s))
    is_useful = drift_std <= 1e-6 * DRIFT_STD_PPM or abs(fit.drift) > DRIFT_Z * drift_std
    return PairMeasurement(
        source=source.source,
        target=target.source,
        method=METHOD,
        at_ns=source.epoch_ns + nanoseconds(fit.anchor_s),
        offset_s=fit.offset_s
        + epochs_s
        + latency_s
        + (step.size_s if step is not None and fit.anchor_s >= step.at_s else 0.0),
        offset_std_s=math.hypot(random_s, systematic_s),
        systematic_std_s=systematic_s,
        drift_ppm=1e6 * fit.drift if is_useful else None,
        drift_std_ppm=1e6 * drift_std if is_useful else None,
        step_s=None if step is None else step.size_s,
        step_std_s=None if step is None else step.std_s,
        step_at_ns=None if step is None else source.epoch_ns + nanoseconds(step.at_s),
        accepted=True,
        diagnostics=figures,
        evidence=_residuals(match, fit),
    )


def _locked_std_s(match: EventMatch) -> float:
    """Return the error that the intervals of all pairs have in common.

    Where flashes lie in the frames of a source varies from flash to flash, and averages out, unless
    these keep their phase to the frames of the other: a rolling shutter dates what lies within its
    readouts, and two sources that both give intervals have all flashes in the same parts of them.
    """
    source, target = match.source.half_s[match.i], match.target.half_s[match.j]
    if not ((source > 0.0) | (target > 0.0)).all():
        return 0.0
    unknown = UNIFORM * float(np.mean(source**2 + target**2))
    locks = [
        phase_lock(own.take(at[half_s > 0.0]), other.evidence)
        for own, at, half_s, other in (
            (match.source, match.i, source, match.target),
            (match.target, match.j, target, match.source),
        )
        if half_s.any()
    ]
    # Of n phases at random, fewer than one in a hundred have a larger mean vector.
    return math.sqrt(unknown * max(0.0, max(locks) ** 2 - 5.0 / source.size))


def _residuals(match: EventMatch, fit: PairFit) -> EventResiduals | None:
    order = np.argsort(match.source.times_s[match.i], kind="stable")
    i, j = match.i[order], match.j[order]
    return EventResiduals.of(
        match.source.times_s[i] - fit.anchor_s,
        residuals_s(fit, match.source, match.target, i, j),
    )


def _refuse(match: EventMatch) -> PairMeasurement:
    source = match.source
    middle_s = float(np.median(source.times_s)) if source.n else 0.0
    figures = {"source_events": float(source.n), "target_events": float(match.target.n)}
    if match.period_s is not None:
        figures["period_s"] = match.period_s
    if match.fit is not None:
        figures |= {"matched": float(match.fit.n), "chance": match.chance}
    at_ns = source.epoch_ns + nanoseconds(middle_s)
    why = match.why or "no events in common"
    return PairMeasurement.refused(source.source, match.target.source, METHOD, at_ns, why, figures)


def _latency(source: Instants, target: Instants) -> tuple[float, float] | None:
    """Return the correction to the offset where the sides date different parts of a pulse.

    The correction and its standard error; None where one side saw the light go off, and the other
    did not measure the latency of half-light after the onset.
    """
    if source.is_onset == target.is_onset:
        return 0.0, 0.0
    camera, other, sign = (target, source, -1.0) if source.is_onset else (source, target, 1.0)
    if camera.half_light_s is not None:
        seen = camera.evidence
        rise_s = seen.unseen_rise_s if isinstance(seen, FlashEdges) else 0.0
        return sign * camera.half_light_s, math.hypot(camera.half_light_std_s or 0.0, rise_s)
    if other.is_lasting:
        return None
    return sign * USUAL_HALF_LIGHT_S, USUAL_HALF_LIGHT_S


def _timing_part(match: EventMatch) -> float:
    """Return the part of the offset's error that unknown line delays and exposures cause."""
    if match.fit is None:
        return 0.0
    covariance = match.fit.covariance
    timing = covariance[2:N_PLAIN, 2:N_PLAIN] + 1e-30 * np.eye(N_PLAIN - 2)
    cross = covariance[0, 2:N_PLAIN]
    return math.sqrt(max(0.0, float(cross @ np.linalg.solve(timing, cross))))


def _wander(match: EventMatch, interval_std_s: float) -> float:
    """Return the drift that systematic timestamp errors mimic where they change sign.

    A constant error is not a drift. The floor, and where in its interval a flash is counted, may
    differ between the ends.
    """
    span_s = float(np.ptp(match.source.times_s[match.i])) if match.n else 0.0
    return math.sqrt(12.0) * math.hypot(interval_std_s, FLOOR_STD_S) / max(span_s, 1e-3)


def _figures(match: EventMatch) -> dict[str, float]:
    fit = match.fit
    if fit is None:
        return {}
    figures = {
        "matched": float(match.n),
        "source_events": float(match.source.n),
        "target_events": float(match.target.n),
        "chance": match.chance,
        "rival": float(match.n_runner_up),
        "chi2_reduced": fit.chi2_reduced,
        "drift_ppm": 1e6 * fit.drift,
        "drift_std_ppm": 1e6 * fit.drift_std,
    }
    sides = ("source", match.source, fit.source), ("target", match.target, fit.target)
    for k, (side, events, own) in enumerate(sides):
        for name, assumed_s, assumed_std_s, change_s, column in (
            ("line_delay", events.line_delay_s, events.line_delay_std_s, own.line_delay_s, 2 + k),
            ("exposure", events.exposure_s, events.exposure_std_s, own.exposure_s, 4 + k),
        ):
            if assumed_std_s > 0.0:
                std_s = float(np.sqrt(fit.covariance[column, column]))
                figures[f"{side}_{name}_s"] = assumed_s + change_s
                figures[f"{side}_{name}_std_s"] = std_s
                figures[f"{side}_{name}_known"] = float(std_s < KNOWN_SHARE * assumed_s)
    return figures


def _messages_of(evidence: EventEvidence) -> EventTrain | None:
    """Return the messages in which a strobe counter rose by one; None for other evidence."""
    if not isinstance(evidence, FlashIntervals) or evidence.quantity is not Quantity.STROBE:
        return None
    single = evidence.count == 1
    if not single.any():
        return None
    return EventTrain(
        source=evidence.source,
        quantity=evidence.quantity,
        epoch_ns=evidence.epoch_ns,
        times_s=evidence.stop_s[single],
        std_s=np.maximum(evidence.std_s[single], MESSAGE_STD_S),
    )


def _match_messages(
    source: EventEvidence, target: EventEvidence, *, max_offset_s: float
) -> EventMatch | None:
    """Match a counter's messages with the flashes that another source dates.

    Where a message is sent *because* the counter rose, its timestamp dates the flash; if the flash
    were assumed to lie anywhere in the interval, the clock would come out half an interval late.
    """
    if isinstance(source, FlashIntervals) == isinstance(target, FlashIntervals):
        return None
    one, other = _messages_of(source), _messages_of(target)
    if one is None and other is None:
        return None
    match = match_events(
        instants_of(one or source), instants_of(other or target), max_offset_s=max_offset_s
    )
    is_whole = match.n >= MIN_WHOLE * min(match.source.n, match.target.n)
    is_sent = match.why is None and _chance_of_equal_delays(source, target, match) <= MAX_CHANCE
    return match if is_whole and is_sent else None


def _chance_of_equal_delays(
    source: EventEvidence, target: EventEvidence, match: EventMatch
) -> float:
    """Return how likely periodic messages all lie at the same distance from the flashes.

    The first match sets the distance, with any drift; every other flash lies anywhere between two
    messages.
    """
    counter = source if isinstance(source, FlashIntervals) else target
    if not isinstance(counter, FlashIntervals):
        return 1.0
    between_s = float(np.median(counter.stop_s - counter.start_s))
    gate_s = 2.0 * float(np.mean(gates_s(match.source, match.target, match.i, match.j)))
    share = min(1.0, gate_s / max(between_s, gate_s))
    n_others = min(match.source.n, match.target.n) - 1
    span_s = float(np.ptp(match.source.times_s))
    n_tried = max(1.0, 2e-6 * MAX_DRIFT_PPM * span_s / gate_s) / share
    return float(min(1.0, binom.sf(match.n - 2, n_others, share) * n_tried))


def sent_at_flashes(
    evidence: EventEvidence, others: Iterable[EventEvidence], *, max_offset_s: float
) -> EventTrain | None:
    """Return a counter's messages as events, if they follow the flashes dated by others.

    Parameters
    ----------
    evidence : FlashEdges, FlashIntervals or EventTrain
        Only strobe counters are considered.
    others : iterable of FlashEdges, FlashIntervals or EventTrain
        Evidence of other sources.
    max_offset_s : float
        Largest offset searched for, either sign.
    """
    messages = _messages_of(evidence)
    if messages is None:
        return None
    if any(_match_messages(evidence, other, max_offset_s=max_offset_s) for other in others):
        return messages
    return None
