"""Every kind of source that can record a light meets every other, in an audit and a calibration."""

import itertools
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from syncaudit_calibration import CalibrationError, calibrate_events

from syncaudit.estimators.events import EventEvidence
from syncaudit.estimators.pairs import measure_light
from syncaudit.model import ClipEvidence, FlashEdges
from testkit.event_rig import (
    WIDTH_S,
    camera,
    counter,
    global_shutter,
    irregular_onsets,
    switches,
    trigger,
)

LENGTH_S = 0.03
ONSETS_S = irregular_onsets(np.random.default_rng(0), 60)


def rolling(name: str) -> FlashEdges:
    """Return a camera that dates half-light of the pulses, which its exposure is as long as."""
    rng = np.random.default_rng(len(name))
    middles_s = ONSETS_S + 0.5 * (LENGTH_S - WIDTH_S)
    seen = camera(rng, middles_s, name=name, exposure_s=LENGTH_S, line_delay_s=5e-5)
    return replace(seen, half_light_s=0.5 * LENGTH_S, half_light_std_s=2e-4)


def lasting(name: str, *, is_stated: bool = True) -> FlashEdges:
    """Return a camera that dates either end of the pulses."""
    rng = np.random.default_rng(len(name))
    ends_s = np.sort(np.concatenate((ONSETS_S, ONSETS_S + LENGTH_S)))
    return switches(rng, ends_s, name=name, is_stated=is_stated)


def made(name: str) -> EventEvidence:
    """Return a source of one kind."""
    rng = np.random.default_rng(len(name))
    stated = rolling(name)
    match name:
        case "pulses":
            return stated
        case "pulses, exposure not stated":
            return replace(stated, exposure_s=None)
        case "pulses, nothing stated":
            return replace(stated, exposure_s=None, line_delay_s=None)
        case "ends":
            return lasting(name)
        case "ends, exposure not stated":
            return replace(lasting(name), exposure_s=None)
        case "ends, nothing stated":
            return lasting(name, is_stated=False)
        case "onsets alone":
            seen = lasting(name)
            return replace(seen, sense=np.abs(seen.sense))
        case "global shutter":
            return global_shutter(
                rng, ONSETS_S, name=name, rate_hz=24.0, exposure_s=0.01, width_s=LENGTH_S
            )
        case "counter":
            return counter(rng, ONSETS_S, name=name)
        case _:
            return trigger(rng, ONSETS_S, name=name)


KINDS = (
    "pulses",
    "pulses, exposure not stated",
    "pulses, nothing stated",
    "ends",
    "ends, exposure not stated",
    "ends, nothing stated",
    "onsets alone",
    "global shutter",
    "counter",
    "trigger",
)


PAIRS = [*itertools.combinations(KINDS, 2)]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_audits_measure_or_refuse_any_two_kinds(one, other):
    sources = {name: made(name) for name in (one, other)}
    evidence = ClipEvidence(flashes=sources, triggers={"trigger": made("trigger")})
    for pair in measure_light(evidence, {}, 30.0):
        assert pair.accepted or pair.why
        if pair.accepted and "onsets alone" not in (pair.source, pair.target):
            assert abs(pair.offset_s) < 3.0 * pair.offset_std_s


@pytest.mark.parametrize(
    ("one", "other", "with_trigger"),
    [
        (*pair, with_trigger)
        for pair in PAIRS
        for with_trigger in (False, True)
        if not (with_trigger and "trigger" in pair)
    ],
)
def test_calibrations_measure_or_refuse_any_two_kinds(one, other, with_trigger):
    names = {one: 0, other: 0} | ({"trigger": 0} if with_trigger else {})
    with suppress(CalibrationError):
        found = calibrate_events([made(name) for name in names], reference=[*names][-1])
        assert len(found.sources) >= 2
        for name, source in found.sources.items():
            if source.offset_std_s and "onsets alone" not in found.sources:
                assert abs(source.offset_s) < 3.0 * source.offset_std_s, name
