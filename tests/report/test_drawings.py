"""Drawings and budgets agree with the figures, read back from the SVG number by number."""

import re

import numpy as np
import pytest

from syncaudit.report.budget import PooledDrifts, budget_row
from syncaudit.report.clip_card import Point, forest_plot
from syncaudit.report.course_plot import CoursePoint
from syncaudit.report.courses import _MAX_POINTS, _Series
from syncaudit.report.distribution import Distribution
from syncaudit.report.source_tally import SourceTally
from syncaudit.report.source_view import histogram

# Pixels are written to a tenth, ticks of an axis lie some 60 apart.
SHARE_TOL = 0.005


def to_seconds(figure):
    """Return the map from pixels to seconds given by the ticks of the axis."""
    tick = r'<text class="tick" x="([\d.]+)" y="[\d.]+">([+−][\d.]+|0)(?: ms)?</text>'
    ticks = re.findall(tick, figure)
    px, ms = (np.array([float(pair[k].replace("−", "-")) for pair in ticks]) for k in (0, 1))
    slope, start = np.polyfit(px, 1e-3 * ms, 1)
    return lambda x: start + slope * float(x)


def test_a_point_stands_where_the_axis_says():
    points = [
        Point(label="late", offset_s=-0.012, std_s=0.002, verdict="reject", tolerance_s=0.01),
        Point(label="early", offset_s=0.031, std_s=0.004, verdict="reject", tolerance_s=0.005),
    ]
    figure = str(forest_plot(points, label="x"))
    seconds = to_seconds(figure)
    at_s = [seconds(x) for x in re.findall(r'cx="([\d.]+)"', figure)]
    assert at_s == pytest.approx([-0.012, 0.031], abs=SHARE_TOL * 0.03)
    bars = re.findall(r'<line x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"', figure)
    ends = [(seconds(a), seconds(b)) for a, b in bars][-2:]
    assert np.ravel(ends) == pytest.approx([-0.014, -0.01, 0.027, 0.035], abs=SHARE_TOL * 0.03)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_histogram_shows_the_longer_side_whole(sign):
    offsets = Distribution()
    for value in np.linspace(0.0, 0.03, 301):
        offsets.add(sign * value)
    figure = str(histogram({"pass": offsets}, None, label="x"))
    seconds = to_seconds(figure)
    # Up to 1.04 of the farthest value; no tolerance widens it.
    assert abs(seconds(10.0 if sign < 0 else 470.0)) == pytest.approx(1.04 * 0.03, rel=0.01)


def test_one_absurd_clip_squeezes_no_histogram():
    offsets = Distribution()
    for value in [*np.linspace(-0.002, 0.02, 999), 5.0]:
        offsets.add(value)
    figure = str(histogram({"reject": offsets}, 0.01, label="x"))
    assert to_seconds(figure)(470.0) == pytest.approx(1.6 * 0.0198, rel=0.02)


def tally(offsets_s=(), std_s=None, drifts_ppm=(), drift_std_ppm=None, tolerance_s=0.01):
    made = SourceTally(name="cam", kind="camera", tolerance_s=tolerance_s)
    made.offsets_s["pass"] = Distribution()
    for value in offsets_s:
        made.offsets_s["pass"].add(value)
        made.stds_s.add(std_s)
        made.worst_s = max(made.worst_s, value, key=abs)
    for value in drifts_ppm:
        made.drifts_ppm.add(value)
        made.drift_stds_ppm.add(drift_std_ppm)
    return budget_row(made, PooledDrifts(()))


@pytest.mark.parametrize(("std_s", "words"), [(0.0005, "3.67 ms"), (0.003, "2.18 ms")])
def test_only_what_errors_do_not_explain_varies(std_s, words):
    offsets_s = np.array([-0.005, -0.0025, 0.0, 0.0025, 0.005])
    # 1.4826 median absolute deviations are 3.71 ms.
    assert tally(offsets_s, std_s)["parts"]["varying"]["words"] == words


@pytest.mark.parametrize(("offset_s", "is_beyond"), [(0.009, False), (0.011, True)])
def test_a_part_beyond_the_tolerance_is_marked(offset_s, is_beyond):
    constant = tally([offset_s], 0.001)["parts"]["constant"]
    assert constant["is_beyond"] is is_beyond
    assert constant["ratio"] == f"{offset_s / 0.01:.1f} × the tolerance"
    assert constant["percent"] == pytest.approx(min(100.0, 1e4 * offset_s))


def test_a_drift_within_its_error_is_bounded_by_it():
    row = tally([0.001], 0.001, drifts_ppm=[5.0, -3.0], drift_std_ppm=10.0)
    # 1.96 standard errors of 10 ppm, 3.6 ms per hour each.
    assert row["drift"]["words"] == "below 71 ms/h"
    assert row["drift"]["lasts"] is None


def test_a_drift_says_how_long_a_tolerance_lasts():
    row = tally([0.001], 0.001, drifts_ppm=[50.0], drift_std_ppm=1.0)
    assert row["drift"]["words"] == "180 ms/h"
    assert row["drift"]["lasts"] == "3 min"


def test_long_courses_keep_the_farther_of_two_clips():
    series = _Series()
    offsets_s = np.random.default_rng(0).normal(0.0, 1e-3, 20 * _MAX_POINTS)
    offsets_s[:100] = 0.5  # what came long before does not count
    offsets_s[[1501, 3999]] = -0.2, 0.3
    for k, offset_s in enumerate(offsets_s):
        series.add(
            CoursePoint(
                at_ns=k,
                offset_s=float(offset_s),
                std_s=0.0,
                verdict="pass",
                is_measured=True,
                pooled_s=None,
            )
        )
    assert len(series.points) <= _MAX_POINTS
    kept = {point.at_ns: point.offset_s for point in series.points}
    assert {1501, 3999} <= set(kept)
    assert list(kept) == sorted(kept)
    # Evenly thinned: both halves of the recording have the same number of points.
    n_early = sum(at < offsets_s.size // 2 for at in kept)
    assert 0.4 * len(kept) < n_early < 0.6 * len(kept)
