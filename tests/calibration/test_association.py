"""Which events belong to one flash."""

import numpy as np
import pytest
from syncaudit_calibration.association import Map, associate

from syncaudit.estimators.events import EventMatch, Instants

FLASHES_S = np.arange(1.0, 9.0)
APART_S = 0.012


def events(name, times_s, half_s=0.0):
    zeros = np.zeros(times_s.size)
    return Instants(
        source=name,
        epoch_ns=0,
        times_s=times_s,
        std_s=zeros + 2e-5,
        half_s=zeros + half_s,
        row_px=zeros,
        item=np.arange(times_s.size),
    )


@pytest.fixture
def trains():
    """Return two cameras that see one pulse of every burst, and one whose frames show both."""
    return {
        "first": events("first", FLASHES_S),
        "second": events("second", FLASHES_S + APART_S),
        "whole": events("whole", FLASHES_S + 0.5 * APART_S, half_s=0.6 * APART_S),
    }


def matches(trains):
    each = np.arange(FLASHES_S.size)
    return {
        (name, "whole"): EventMatch(source=trains[name], target=trains["whole"], i=each, j=each)
        for name in ("first", "second")
    }


def test_an_interval_does_not_make_one_flash_of_two(trains):
    flash_of, flash_s = associate(dict.fromkeys(trains, Map()), trains, matches(trains), set())
    seen = {name: set(flash_of[name].tolist()) - {-1} for name in trains}
    assert not seen["first"] & seen["second"]
    assert flash_s.size == FLASHES_S.size
    assert np.all(flash_of["whole"] >= 0)


def test_events_within_their_errors_are_one_flash(trains):
    near = {**trains, "second": events("second", FLASHES_S + 1e-4)}
    flash_of, flash_s = associate(dict.fromkeys(near, Map()), near, matches(near), set())
    assert flash_s == pytest.approx(FLASHES_S, abs=1e-3)
    assert all(np.array_equal(flash_of[name], np.arange(FLASHES_S.size)) for name in near)
