"""The excerpt of two signals survives a verdict row, and is reversed with its pair."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from syncaudit.model import PairMeasurement, SignalExcerpt

EPOCH_NS = 1_767_225_600_000_000_000
TIMES_S = np.arange(100) / 50.0 + 3.0


def excerpt() -> SignalExcerpt:
    found = SignalExcerpt.of(
        TIMES_S,
        2.0 * np.sin(TIMES_S),
        1.9 * np.sin(TIMES_S),
        epoch_ns=EPOCH_NS,
        apart_s=0.035,
        tells_s=(3.5, 4.5),
    )
    assert found is not None
    return found


def test_samples_keep_their_times_and_values():
    found = excerpt()
    assert found.start_ns == EPOCH_NS + 3_000_000_000
    assert found.tells_s == pytest.approx((0.5, 1.5), abs=1e-12)
    times_s = 3.0 + found.times_s
    assert times_s[-1] == pytest.approx(TIMES_S[-1], abs=1e-9)
    source, target = found.values
    # Half a quantisation level of the peak, and the error of linear interpolation of a sine.
    np.testing.assert_allclose(source, 2.0 * np.sin(times_s), atol=2.0 / 254 + 4e-4)
    np.testing.assert_allclose(target, 1.9 * np.sin(times_s), atol=2.0 / 254 + 4e-4)


def test_a_row_gives_back_what_was_written():
    pair = PairMeasurement(
        source="a",
        target="b",
        method="rotation",
        at_ns=EPOCH_NS,
        offset_s=0.035,
        offset_std_s=0.001,
        accepted=True,
        excerpt=excerpt(),
    )
    assert PairMeasurement.from_json(json.loads(json.dumps(pair.to_json()))) == pair
    bare = replace(pair, excerpt=None)
    assert "excerpt" not in bare.to_json()


def test_turned_excerpt_is_that_of_the_target():
    found, turned = excerpt(), excerpt().turned()
    assert turned.start_ns == found.start_ns + 35_000_000
    assert turned.apart_s == -0.035
    np.testing.assert_array_equal(turned.values, found.values[::-1])
    assert turned.turned() == found


@pytest.mark.parametrize("values", [np.zeros(100), np.full(100, np.nan)])
def test_nothing_is_kept_of_nothing(values):
    assert (
        SignalExcerpt.of(TIMES_S, values, values, epoch_ns=0, apart_s=0.0, tells_s=(3.5, 4.5))
        is None
    )


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("source", "AAAA", "differ in length"),
        ("peak", float("nan"), "not finite"),
        ("step_s", 0.0, "zero length"),
        ("tells_s", [1.0, 1.0], "zero length"),
    ],
)
def test_an_edited_excerpt_is_refused(key, value, match):
    with pytest.raises(ValueError, match=match):
        SignalExcerpt.from_json({**excerpt().to_json(), key: value})


def test_offset_follows_drift_and_step():
    pair = PairMeasurement(
        source="a",
        target="b",
        method="rotation",
        at_ns=EPOCH_NS,
        offset_s=0.010,
        offset_std_s=0.001,
        accepted=True,
    )
    later = EPOCH_NS + 10_000_000_000
    drifting = replace(pair, drift_ppm=200.0)
    assert drifting.offset_at(later) == pytest.approx(0.012, abs=1e-12)
    stepping = replace(pair, step_s=0.06, step_at_ns=EPOCH_NS + 5_000_000_000)
    assert stepping.offset_at(EPOCH_NS) == pytest.approx(0.010, abs=1e-12)
    assert stepping.offset_at(later) == pytest.approx(0.070, abs=1e-12)
    known_after = replace(stepping, at_ns=later)
    assert known_after.offset_at(EPOCH_NS) == pytest.approx(-0.050, abs=1e-12)
    refused = PairMeasurement.refused("a", "b", "rotation", EPOCH_NS, "no")
    assert refused.offset_at(later) is None
