"""Calibrate all clocks of a recording jointly from its flashes, strobes, triggers and clicks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from syncaudit.errors import UsageError, nearest_name
from syncaudit.estimators.events import (
    EventEvidence,
    allow_for_rise,
    find_light_length,
    limit_light,
    sent_at_flashes,
    settle_exposures,
    states_nothing,
    without_ends,
)
from syncaudit.estimators.events.flashes import KNOWN_SHARE
from syncaudit.estimators.events.light_length import LightLength
from syncaudit_calibration.adjustment import Adjustment
from syncaudit_calibration.box_reference import adjust_with_any_reference
from syncaudit_calibration.calibration import Calibration
from syncaudit_calibration.errors import CalibrationError
from syncaudit_calibration.observability import unobservable_cameras
from syncaudit_calibration.observations import observe
from syncaudit_calibration.outcome import calibration_of
from syncaudit_calibration.seed import Seed, find_seed
from syncaudit_calibration.statements import find_contradicted, without_statement
from syncaudit_calibration.step_search import solve_with_steps

NEXT_TIME = (
    "Record at least 30 s with an irregular train ('syncaudit flash-plan' makes one) that "
    "lights the view of every camera"
)


def calibrate_events(
    evidence: Sequence[EventEvidence],
    *,
    reference: str | None = None,
    max_offset_s: float = 30.0,
) -> Calibration:
    """Calibrate every source against the reference by the events that they share.

    Offsets, drifts, steps, line delays, exposures and the instants of all flashes are the unknowns
    of one robust least-squares problem (`adjust`), seeded by matching all pairs (`find_seed`). A
    flash need not be seen by all sources: it ties any two sources that see it.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source.
    reference : str, optional
        Source whose timestamps are reference time; default: the first camera by name, preferring
        those that date instants.
    max_offset_s : float
        Largest offset searched for, either sign.

    Returns
    -------
    Calibration
        Of all sources that could be calibrated; those that could not are in `refused`.

    Raises
    ------
    CalibrationError
        If no two sources could be connected, or none with the reference; with a reason for each.
    UsageError
        If the reference is not one of the sources, or two evidences are of one source.
    """
    names = [item.source for item in evidence]
    if len(set(names)) < len(names):
        raise UsageError("one source has more than one evidence", hint="Give one per source.")
    check_reference(reference, names)
    recorded, evidence = evidence, without_ends(evidence)
    warnings = [
        f"{item.source} logs both edges of pulses of constant length: their onsets were used"
        for before, item in zip(recorded, evidence, strict=True)
        if item is not before
    ]
    refused: dict[str, str] = {}
    read = {
        item.source: train
        for item in evidence
        if (train := sent_at_flashes(item, evidence, max_offset_s=max_offset_s)) is not None
    }
    dated = [read.get(item.source, item) for item in evidence]
    left = allow_for_rise(limit_light(settle_exposures(dated)))
    if any(states_nothing(item) for item in dated):
        line_delays_s = _line_delays_s(left, reference, max_offset_s)
        left = allow_for_rise(limit_light(settle_exposures(dated, line_delays_s)))
    light = find_light_length(left, max_offset_s=max_offset_s)
    while True:
        solved = _solved(left, light, reference, max_offset_s)
        if isinstance(solved, dict):
            raise _impossible(solved | refused)
        refused |= solved.observations.seed.refused
        unobservable = unobservable_cameras(solved)
        useless = unobservable.refused
        if not useless:
            contradicted = find_contradicted(solved.observations)
            warnings += [f"{each.words}: it was not used" for each in contradicted]
            if not contradicted:
                warnings += unobservable.vague.values()
                break
            left = [without_statement(item, contradicted) for item in left]
            continue
        refused |= useless
        left = [item for item in left if item.source not in refused]
        if reference in useless or len(left) < 2:
            raise _impossible(refused)
    narrow = [light.narrowed(item) for item in left]
    return calibration_of(narrow, solved, refused, set(read), warnings)


def check_reference(reference: str | None, names: Collection[str]) -> None:
    """Raise UsageError if the reference is not one of the sources."""
    if reference is not None and reference not in names:
        raise UsageError(
            f"the reference '{reference}' is not one of the sources",
            hint=nearest_name(reference, names),
        )


def _line_delays_s(
    evidence: Sequence[EventEvidence], reference: str | None, max_offset_s: float
) -> dict[str, float]:
    """Return line delays of cameras that state nothing, where a first solution shows them."""
    light = find_light_length(evidence, max_offset_s=max_offset_s)
    solved = _solved(evidence, light, reference, max_offset_s)
    if isinstance(solved, dict):
        return {}
    found = {}
    for name in [item.source for item in evidence if states_nothing(item)]:
        column = solved.observations.column("line_delay", name)
        if column is not None:
            line_delay_s, std_s = solved.value_of(column)
            if std_s < KNOWN_SHARE * line_delay_s:
                found[name] = line_delay_s
    return found


def _solved(
    evidence: Sequence[EventEvidence],
    light: LightLength,
    reference: str | None,
    max_offset_s: float,
) -> Adjustment | dict[str, str]:
    """Match and solve, or return the reason for each source that could not be connected."""
    seed = find_seed(
        evidence, reference=reference, max_offset_s=max_offset_s, light_s=light.likely_s
    )
    if not isinstance(seed, Seed):
        return seed
    return solve_with_steps(seed, partial(_solve, [light.narrowed(item) for item in evidence]))


def _solve(evidence: Sequence[EventEvidence], seed: Seed) -> Adjustment:
    return adjust_with_any_reference(observe(evidence, seed))


def _impossible(refused: Mapping[str, str]) -> CalibrationError:
    reasons = "; ".join(f"{refused[name].rstrip('.')}" for name in sorted(refused))
    return CalibrationError(
        f"the clocks cannot be calibrated: {reasons or 'no two sources share events'}",
        hint=NEXT_TIME + ".",
        refused=refused,
    )
