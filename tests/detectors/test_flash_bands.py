"""Which edges belong to one flash, and which instants they date together with whole frames."""

import dataclasses

import numpy as np
import pytest

from syncaudit.detectors.flash.bands import date_rows
from syncaudit.detectors.flash.edges import Edge
from syncaudit.detectors.flash.intervals import BetweenFrames, with_intervals
from syncaudit.detectors.flash.shape import RampShape
from testkit.event_rig import switches

COLUMNS = (
    "frame_index",
    "frame_s",
    "row_px",
    "row_std_px",
    "exposure_part",
    "band",
    "sense",
    "half_s",
)


def edge_at(row, *, index, is_upper, row_std):
    return Edge(
        index=index,
        is_upper=is_upper,
        row=row,
        row_std=row_std,
    )


def test_pulses_are_longer_than_an_exposure_that_is_more_like_their_ramps():
    # Bright light and a tone curve cause ramps of 35 rows for an exposure of 27; bands are 134
    # high.
    rows = np.array([60.0, 194.0, 90.0, 224.0, 75.0, 209.0, 66.0, 200.0, 30.0])
    edges = [
        edge_at(row, index=i // 2, is_upper=i % 2 == 0, row_std=1.0)
        for i, row in enumerate(rows.tolist())
    ]
    dated = date_rows(edges, shape=RampShape(35.0), exposure_px=27.0)
    assert dated.half_px == pytest.approx(67.0)
    assert dated.row == pytest.approx([127.0, 157.0, 142.0, 133.0, 97.0])
    # An exposure closer to the band height is longer than the pulses.
    assert date_rows(edges, shape=RampShape(35.0), exposure_px=110.0).half_px == (
        pytest.approx(17.5)
    )


def test_heights_of_bands_that_scatter_widen_the_latency():
    # Edges bent by the image border are off by rows, and so is the height of all bands.
    upper = np.array([20.0, 50.0, 80.0, 110.0, 140.0, 300.0])
    lower = upper[:5] + np.array([130.0, 138.0, 125.0, 134.0, 128.0])
    rows = np.sort(np.concatenate([upper, lower]))
    at = {row: i for i, row in enumerate([*upper, *lower])}
    edges = [
        edge_at(row, index=at[row] % 6, is_upper=at[row] < 6, row_std=0.5) for row in rows.tolist()
    ]
    dated = date_rows(edges, shape=RampShape(27.0), exposure_px=27.0, half_std_px=2.0)
    assert dated.half_px == pytest.approx(65.0, abs=4.0)
    assert 1.5 < dated.half_std_px < 5.0
    single = dated.index == 5
    assert np.all(dated.row_std[single] > 2.0)


def test_edges_of_lights_that_stay_on_are_never_those_of_pulses():
    # Ramps shorter than the exposure, as of a lamp that goes on with a bright half-wave.
    edges = [edge_at(100.0 + 9 * k, index=k, is_upper=k % 2 == 0, row_std=1.0) for k in range(12)]
    fitted = {"shape": RampShape(90.0), "exposure_px": 120.0}
    assert not date_rows(edges, **fitted).sense.any()
    found = date_rows(edges, **fitted, stays=True)
    assert found.sense.tolist() == [1, -1] * 6
    assert not found.part.any()


def test_switches_that_no_row_dates_lie_between_two_frames():
    rng = np.random.default_rng(2)
    switches_s = np.cumsum(rng.uniform(0.3, 0.9, 60)) + 1.0
    whole = switches(rng, switches_s, name="cam")
    after = np.searchsorted(np.unique(whole.watched_s), switches_s)
    columns = (after - 1, after, whole.frame_s - 0.05, whole.frame_s + 0.05, whole.sense)
    some = with_intervals(
        dataclasses.replace(whole, **{name: getattr(whole, name)[:20] for name in COLUMNS}),
        BetweenFrames(*(own[:40] for own in columns)),
    )
    found = with_intervals(some, BetweenFrames(*columns))
    assert np.all(np.diff(found.frame_s) > 0.0)
    assert found.sense.tolist() == whole.sense.tolist()
    # What is dated, or known to an interval already, stays as it is.
    kept = np.isin(found.frame_s, some.frame_s)
    assert kept.sum() == some.frame_s.size
    np.testing.assert_array_equal(found.half_s[kept], some.half_s)
    np.testing.assert_allclose(found.half_s[~kept], 0.05)
