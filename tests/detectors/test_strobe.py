"""Strobe counters on buses and in trigger logs."""

import numpy as np
import pytest

from syncaudit.detectors.signals import find_strobe, find_triggers
from syncaudit.model import Channel, EventStream, Quantity, SourceKind
from testkit.streams import signal_stream

EPOCH_NS = 1_767_225_600_000_000_000
STEP_NS = 10_000_000


def bus(counts, *, time_ns=None, name="strobe"):
    counts = np.asarray(counts, dtype=np.float64)
    time_ns = EPOCH_NS + STEP_NS * np.arange(counts.size) if time_ns is None else time_ns
    channel = Channel(name=name, time_ns=time_ns, values=counts[:, None])
    return signal_stream(SourceKind.CAN, time_ns, channel)


def log(time_ns):
    return EventStream(
        name="box", clock="box", kind=SourceKind.EVENTS, time_ns=np.array(time_ns, dtype=np.int64)
    )


def test_change_lies_between_two_messages():
    found = find_strobe(bus([3, 3, 4, 4, 4, 5]))
    assert (found.source, found.quantity) == ("can", Quantity.STROBE)
    zero_s = (EPOCH_NS - found.epoch_ns) * 1e-9
    assert np.max(np.abs(found.start_s - zero_s - [0.01, 0.04])) < 1e-12
    assert np.max(np.abs(found.stop_s - zero_s - [0.02, 0.05])) < 1e-12
    assert found.count.tolist() == [1, 1]


def test_jumps_count_several_pulses():
    assert find_strobe(bus([1, 4, 4, 6])).count.tolist() == [3, 2]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([254, 255, 0, 2], [1, 1, 2]),
        ([65535, 65535, 1], [2]),
        ([14, 15, 0, 1], [1, 1, 1]),
        ([2, 3, 0, 1, 2, 3, 1], [1, 1, 1, 1, 1, 2]),
    ],
)
def test_counters_wrap(counts, expected):
    assert find_strobe(bus(counts)).count.tolist() == expected


@pytest.mark.parametrize("on", [1, 100])
def test_level_of_a_light_counts_where_it_rises(on):
    found = find_strobe(bus([0, on, on, 0, 0, on, 0]))
    assert found.count.tolist() == [1, 1]
    zero_s = (EPOCH_NS - found.epoch_ns) * 1e-9
    assert np.max(np.abs(found.stop_s - zero_s - [0.01, 0.05])) < 1e-12


def test_counter_without_known_wrap_that_is_set_back_gives_nothing_there():
    assert find_strobe(bus([100000, 100001, 7, 8])).count.tolist() == [1, 1]


@pytest.mark.parametrize("odd", [np.nan, np.inf, 1e30])
def test_counts_that_are_no_counts_are_left_out(odd):
    found = find_strobe(bus([1, odd, 2]))
    assert found.count.tolist() == [1]
    assert abs(found.stop_s[0] - found.start_s[0] - 0.02) < 1e-12


def test_messages_stamped_backwards_give_no_interval():
    time_ns = EPOCH_NS + STEP_NS * np.array([0, 2, 1, 3])
    assert find_strobe(bus([1, 1, 2, 3], time_ns=time_ns)).count.tolist() == [1]


@pytest.mark.parametrize("stream", [bus([5, 5, 5]), bus([]), bus([1, 2], name="speed")])
def test_no_change_is_no_evidence(stream):
    assert find_strobe(stream) is None


def test_triggers_are_sorted_and_single():
    found = find_triggers(log(EPOCH_NS + np.array([2_000_000, 0, 0, 7_000_000])))
    assert found.quantity is Quantity.TRIGGER
    assert np.max(np.abs(np.diff(found.times_s) - [0.002, 0.005])) < 1e-12


@pytest.mark.parametrize(
    ("unit_ns", "resolution_s"), [(1_000_000, 1e-3), (10_000, 1e-5), (1, 1e-6)]
)
def test_error_is_the_resolution_of_the_stamps(unit_ns, resolution_s):
    rng = np.random.default_rng(1)
    found = find_triggers(log(EPOCH_NS + unit_ns * np.cumsum(rng.integers(3, 999, 50))))
    assert np.max(np.abs(found.std_s - resolution_s / np.sqrt(12.0))) < 1e-12


def test_empty_log_is_no_evidence():
    assert find_triggers(log([])) is None
    assert find_triggers(log([EPOCH_NS])).times_s.size == 1
