"""Conversion of nanoseconds to seconds and back: exact, and guarded against wrong units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncaudit.model import nanoseconds, seconds_since
from syncaudit.model.units import MAX_SPAN_S

days_30_ns = 30 * 86_400 * 10**9
epochs = st.integers(-(2**62), 2**62)


@given(epochs, st.integers(-(10**15), 10**15))
def test_there_and_back_is_exact(epoch_ns, span_ns):
    """10^15 ns (11 days) stay below 2^53: float64 seconds lose less than half a nanosecond."""
    seconds = float(seconds_since([epoch_ns + span_ns], epoch_ns)[0])
    assert nanoseconds(seconds) == span_ns


@given(epochs, st.integers(0, 10**9))
def test_moving_stamps_and_epoch_together_changes_nothing(epoch_ns, span_ns):
    here = seconds_since([span_ns], 0)
    there = seconds_since([epoch_ns + span_ns], epoch_ns)
    assert here[0] == there[0]


def test_single_nanoseconds_survive_at_unix_time():
    epoch_ns = 1_767_225_600_000_000_000
    stamps = epoch_ns + np.arange(5)
    assert np.array_equal(np.round(seconds_since(stamps, epoch_ns) * 1e9), np.arange(5))
    # float64 unix seconds have a step of 238 ns
    assert np.unique(stamps.astype(np.float64) * 1e-9).size == 1


def test_unsigned_stamps_and_order_are_fine():
    found = seconds_since(np.array([3, 1, 2], dtype=np.uint64), 2)
    assert np.allclose(found, [1e-9, -1e-9, 0.0], rtol=0.0, atol=1e-18)


def test_no_stamps():
    assert seconds_since(np.zeros(0, dtype=np.int64), 5).shape == (0,)


def test_thirty_days_are_allowed():
    assert seconds_since([days_30_ns], 0)[0] == MAX_SPAN_S


def test_float_stamps_are_refused():
    with pytest.raises(TypeError, match="timestamps must be integer nanoseconds, got float64"):
        seconds_since([1.5], 0)


@pytest.mark.parametrize(
    ("stamp_ns", "epoch_ns"), [(days_30_ns + 10**9, 0), (2**62, -(2**62)), (0, 2**63 - 1)]
)
def test_wrong_units_are_refused(stamp_ns, epoch_ns):
    with pytest.raises(OverflowError, match="more than 30 days: a wrong unit"):
        seconds_since([stamp_ns], epoch_ns)


@pytest.mark.parametrize(("seconds", "ns"), [(1.4e-9, 1), (-1.6e-9, -2), (0.1, 100_000_000)])
def test_nanoseconds_are_rounded_to_nearest(seconds, ns):
    assert nanoseconds(seconds) == ns
