"""The evidence of a measurement survives a verdict row, and is reversed with its pair."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from syncaudit.model import AgreementCurve, EventResiduals, PairMeasurement
from syncaudit.model.pair_evidence import MAX_EVENTS, MAX_POINTS, evidence_from_json

OFFSETS_S = np.arange(-2000, 2001) / 1000.0


def curve(centre_s: float = 0.2, near_s: float = 0.5) -> AgreementCurve:
    agreement = np.exp(-0.5 * ((OFFSETS_S - centre_s) / 0.05) ** 2)
    found = AgreementCurve.around(OFFSETS_S, agreement, centre_s, near_s=near_s)
    assert found is not None
    return found


def test_peak_stays_where_it_is_however_few_points_are_kept():
    found = curve(0.2034)
    assert len(found.levels) <= MAX_POINTS + 1
    assert found.peak_s == pytest.approx(0.2034, abs=1e-5)
    best = int(np.argmax(found.agreement))
    assert found.offsets_s[best] == pytest.approx(0.203, abs=1e-9)
    assert found.agreement[best] == pytest.approx(1.0, abs=1 / 250)


def test_narrow_peaks_are_not_lost_between_the_points():
    agreement = np.zeros(OFFSETS_S.size)
    agreement[[1800, 2203]] = 0.9, 1.0
    found = AgreementCurve.around(OFFSETS_S, agreement, 0.2, near_s=0.5)
    assert found is not None
    assert found.peak_s == pytest.approx(0.203, abs=1e-9)
    assert np.sort(found.agreement)[-2:] == pytest.approx([0.9, 1.0])


@pytest.mark.parametrize(("centre_s", "reach_s"), [(0.2, 0.5), (0.6, 0.72), (1.4, 0.5)])
def test_zero_is_in_sight_where_it_is_near(centre_s, reach_s):
    found = curve(centre_s)
    assert found.offsets_s[0] == pytest.approx(centre_s - reach_s, abs=0.01)
    assert found.offsets_s[-1] == pytest.approx(centre_s + reach_s, abs=0.01)


def test_what_does_not_overlap_is_unknown():
    agreement = np.full(OFFSETS_S.size, np.nan)
    assert AgreementCurve.around(OFFSETS_S, agreement, 0.0, near_s=0.5) is None
    agreement[OFFSETS_S > 0.1] = 0.5
    found = AgreementCurve.around(OFFSETS_S, agreement, 0.0, near_s=0.5)
    assert found is not None
    assert np.isnan(found.agreement[0])
    assert found.agreement[-1] == pytest.approx(0.5)


def test_turned_twice_is_the_same():
    found = curve()
    assert found.turned().peak_s == pytest.approx(-0.2, abs=1e-4)
    np.testing.assert_allclose(found.turned().offsets_s, -found.offsets_s[::-1], atol=1e-12)
    assert found.turned().turned().levels == found.levels


def test_residuals_of_many_events_are_thinned_but_counted():
    times_s = np.arange(500.0)
    residuals_s = np.where(times_s % 2, 1e-3, -1e-3)
    found = EventResiduals.of(times_s, residuals_s)
    assert found is not None
    assert (found.n_events, found.rms_s) == (500, pytest.approx(1e-3))
    assert found.times_s.size == MAX_EVENTS
    np.testing.assert_allclose(found.turned().residuals_s, -found.residuals_s)
    assert EventResiduals.of(np.empty(0), np.empty(0)) is None


@pytest.mark.parametrize(
    "evidence", [None, curve(), EventResiduals.of(np.arange(3.0), np.full(3, 1e-4))]
)
def test_measurements_come_back_from_their_row(evidence):
    pair = replace(PairMeasurement.refused("a", "b", "x", 5, "for a test"), evidence=evidence)
    row = json.loads(json.dumps(pair.to_json()))
    assert PairMeasurement.from_json(row) == pair
    assert len(json.dumps(row.get("evidence"))) < 400


@pytest.mark.parametrize("damaged", [{"start_s": 0.0}, {"residuals": "x"}, {"agreement": "%"}])
def test_damaged_evidence_is_refused(damaged):
    with pytest.raises((KeyError, ValueError)):
        evidence_from_json({"start_s": 0.0, "step_s": 0.0, "peak_s": 0.0} | damaged)


@pytest.mark.parametrize(
    "item",
    [
        {"start_s": "0", "step_s": 0.1, "peak_s": 0.0, "agreement": "AAAA"},
        {"start_s": float("nan"), "step_s": 0.1, "peak_s": 0.0, "agreement": "AAAA"},
        {"start_s": 0.0, "step_s": 0.1, "peak_s": 0.0, "agreement": "no base64"},
        {"start_s": 0.0, "step_s": 0.1, "peak_s": 0.0},
        {"n_events": 1, "rms_s": 0.0, "times": "AAAAAA==", "residuals": ""},
        {"n_events": 1, "rms_s": 0.0, "times": "AAA=", "residuals": "AAA="},
    ],
)
def test_evidence_that_was_edited_is_refused(item: dict) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        evidence_from_json(item)
