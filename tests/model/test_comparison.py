"""Where a comparison points, and how much is shown around it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.model import EventResiduals, PairMeasurement, SignalExcerpt
from syncaudit.model.comparison import compare_pair, pair_to_show

EPOCH_NS = 1_767_225_600_000_000_000
TIMES_S = np.arange(0.0, 1.6, 0.01)
PEAK = np.exp(-0.5 * ((TIMES_S - 0.9) / 0.06) ** 2)


def pair(values: np.ndarray = PEAK, offset_s: float = 0.035, **fields) -> PairMeasurement:
    excerpt = SignalExcerpt.of(
        TIMES_S, values, values, epoch_ns=EPOCH_NS, apart_s=offset_s, tells_s=(0.3, 1.3)
    )
    return PairMeasurement(
        **{
            "source": "cam",
            "target": "imu",
            "method": "rotation",
            "at_ns": EPOCH_NS,
            "offset_s": offset_s,
            "offset_std_s": 0.001,
            "accepted": True,
            "excerpt": excerpt,
        }
        | fields
    )


def test_peak_is_pointed_at_by_the_target_s_timestamps():
    found = compare_pair(pair(), EPOCH_NS)
    assert found is not None
    assert found.offset_s == 0.035
    assert found.peak_s == pytest.approx(0.935, abs=0.01)
    start_s, stop_s = found.visible_s
    assert stop_s - start_s == pytest.approx(0.5, abs=1e-9)
    # Raw and corrected lie symmetrically about the middle.
    assert 0.5 * (start_s + stop_s) == pytest.approx(found.peak_s - 0.0175, abs=1e-9)


def test_of_a_flank_the_steepest_part_is_pointed_at():
    flank = 1.0 / (1.0 + np.exp(-(TIMES_S - 0.7) / 0.15))
    found = compare_pair(pair(flank), EPOCH_NS)
    assert found is not None
    # Between quantisation levels the slope is known to a tenth; it varies by less within 0.1 s.
    assert found.peak_s == pytest.approx(0.735, abs=0.1)


def test_ripple_on_a_flank_is_no_peak():
    rippled = 2.0 * TIMES_S + 0.05 * np.sin(2 * np.pi * TIMES_S / 0.1)
    found = compare_pair(pair(rippled), EPOCH_NS)
    assert found is not None
    slope = np.gradient(rippled, TIMES_S)
    place = int(np.argmin(np.abs(TIMES_S - (found.peak_s - 0.035))))
    # To one sample.
    assert slope[place] > 0.8 * slope.max()


def test_larger_offsets_are_seen_with_what_they_move():
    found = compare_pair(pair(offset_s=0.9), EPOCH_NS)
    assert found is not None
    start_s, stop_s = found.visible_s
    assert start_s < found.peak_s - 0.9 < found.peak_s < stop_s
    assert found.is_seen_raw
    far = compare_pair(pair(offset_s=3600.0), EPOCH_NS)
    assert far is not None
    assert not far.is_seen_raw
    assert far.visible_s[0] < far.peak_s < far.visible_s[1]


def test_other_clocks_than_those_of_the_measurement_count_where_they_are_given():
    found = compare_pair(pair(), EPOCH_NS, lambda _: 0.020)
    assert found is not None
    assert found.offset_s == 0.020


def test_events_are_strokes_at_their_own_timestamps():
    events = EventResiduals.of(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1e-3, 0.0]))
    found = compare_pair(pair(excerpt=None, evidence=events, method="flash"), EPOCH_NS)
    assert found is not None
    assert found.values is None
    np.testing.assert_allclose(found.source_s, [1.0, 2.0, 3.0], atol=1e-6)
    np.testing.assert_allclose(found.target_s, [1.035, 2.036, 3.035], atol=1e-6)
    assert compare_pair(pair(excerpt=None), EPOCH_NS) is None


def test_reference_before_sharpness_and_rejected_sources_last():
    to_imu = pair()
    to_cam = pair(target="cam2", offset_std_s=1e-4)
    assert pair_to_show([to_cam, to_imu], "cam", "imu", ()) is to_imu
    assert pair_to_show([to_cam, to_imu], "cam", "other", ()) is to_cam
    assert pair_to_show([to_cam, to_imu], "cam", "other", {"cam2"}) is to_imu
    turned = pair_to_show([to_imu], "imu", None, ())
    assert turned is not None
    assert (turned.source, turned.offset_s) == ("imu", -0.035)
    refused = replace(to_imu, accepted=False, why="no")
    baseline = replace(to_imu, is_baseline_only=True)
    bare = replace(to_imu, excerpt=None)
    assert pair_to_show([refused, baseline, bare], "cam", "imu", ()) is None
