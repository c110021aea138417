"""Evidence rejects values that later steps cannot handle."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from syncaudit.model import (
    Activity,
    Channel,
    EventTrain,
    FlashEdges,
    FlashIntervals,
    Quantity,
    RotationIncrements,
)


def activity(times_s=(0.0, 1.0), values=((1.0,), (2.0,))):
    return Activity(
        source="imu",
        quantity=Quantity.YAW_RATE,
        epoch_ns=0,
        times_s=np.array(times_s),
        values=np.array(values),
    )


def rotation(n=3, **changed):
    fields = {
        "start_s": np.arange(n) * 0.1,
        "stop_s": np.arange(1, n + 1) * 0.1,
        "angles_rad": np.zeros((n, 3)),
        "std_rad": np.ones((n, 3)),
        "row_moments_px": np.zeros((n, 3, 3)),
        "row_moves_px": np.zeros((n, 3, 3)),
        "height_px": 480,
    }
    return RotationIncrements(source="cam", epoch_ns=0, **(fields | changed))


@pytest.mark.parametrize("times_s", [(1.0, 1.0), (1.0, 0.5)])
def test_times_of_an_activity_increase(times_s):
    with pytest.raises(ValueError, match="times_s must be strictly increasing"):
        activity(times_s=times_s)


def test_activity_of_uneven_lengths():
    with pytest.raises(ValueError, match=r"values must have shape \(2, d\), got \(1, 1\)"):
        activity(values=((1.0,),))


def test_activity_with_nan():
    with pytest.raises(ValueError, match="values holds 1 non-finite values"):
        activity(values=((1.0,), (np.nan,)))


def test_evidence_is_frozen():
    one = activity()
    with pytest.raises(FrozenInstanceError):
        one.source = "other"
    with pytest.raises(ValueError, match="read-only"):
        one.values[0, 0] = 3.0


def test_rotation_keeps_its_shapes_and_is_read_only():
    one = rotation()
    assert one.row_moments_px.shape == (3, 3, 3)
    for name in ("start_s", "angles_rad", "row_moments_px", "row_moves_px"):
        assert not getattr(one, name).flags.writeable


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("start_s", np.zeros(2), r"start_s must have shape \(3,\), got \(2,\)"),
        ("std_rad", np.ones((3, 2)), r"std_rad must have shape \(3, 3\), got \(3, 2\)"),
        ("stop_s", np.full(3, np.inf), "stop_s holds 3 non-finite values"),
        ("row_moments_px", np.full((3, 3, 3), np.nan), "row_moments_px holds 27 non-finite"),
    ],
)
def test_rotation_of_the_wrong_shape(name, value, words):
    with pytest.raises(ValueError, match=words):
        rotation(**{name: value})


def test_replacing_a_field_checks_again():
    with pytest.raises(ValueError, match="stop_s must have shape"):
        replace(rotation(), stop_s=np.zeros(1))


def test_events_of_uneven_lengths():
    with pytest.raises(ValueError, match=r"std_s must have shape \(2,\), got \(1,\)"):
        EventTrain(
            source="mic",
            quantity=Quantity.CLICK,
            epoch_ns=0,
            times_s=np.zeros(2),
            std_s=np.ones(1),
        )


def test_events_may_be_simultaneous():
    train = EventTrain(
        source="mic",
        quantity=Quantity.CLICK,
        epoch_ns=0,
        times_s=np.zeros(2),
        std_s=np.ones(2),
    )
    assert train.times_s.size == 2


def test_channel_keeps_nan_but_not_another_length():
    values = np.array([[np.nan], [1.0]])
    channel = Channel(name="yaw_rate", time_ns=np.array([2, 1]), values=values)
    assert np.isnan(channel.values[0, 0])
    assert not channel.values.flags.writeable
    with pytest.raises(ValueError, match=r"yaw_rate.values must have shape \(3, d\)"):
        Channel(name="yaw_rate", time_ns=np.arange(3), values=values)


def flash_edges(**changes: object) -> FlashEdges:
    values: dict[str, object] = {
        "source": "cam",
        "epoch_ns": 0,
        "frame_index": np.array([4, 4]),
        "frame_s": np.array([0.5, 0.5]),
        "row_px": np.array([-20.0, 80.0]),
        "row_std_px": np.array([0.4, 0.4]),
        "exposure_part": np.array([0.5, -0.5]),
        "band": np.array([0, 0]),
        "height_px": 480,
        "watched_s": np.array([[0.0, 20.0]]),
    }
    return FlashEdges(**{**values, **changes})  # type: ignore[arg-type]  # on purpose in tests


def test_flash_edges_are_read_only() -> None:
    edges = flash_edges()
    with pytest.raises(ValueError, match="read-only"):
        edges.row_px[0] = 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"exposure_part": np.array([1.0, 0.0])}, "exposure_part must be"),
        ({"band": np.array([0])}, "band must have shape"),
        ({"row_px": np.array([np.nan, 0.0])}, "non-finite"),
        ({"watched_s": np.array([0.0, 1.0])}, "watched_s must have shape"),
        ({"sense": np.array([1])}, r"sense must have shape \(2,\)"),
        ({"sense": np.array([1, 2])}, "hold -1, 0 or"),
    ],
)
def test_flash_edges_refuse(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flash_edges(**changes)


@pytest.mark.parametrize(
    ("start_s", "count", "message"),
    [([1.0], [1], "must not be before"), ([0.0], [1, 2], "count must have shape")],
)
def test_flash_intervals_refuse(start_s: list[float], count: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FlashIntervals(
            source="can",
            quantity=Quantity.STROBE,
            epoch_ns=0,
            start_s=np.array(start_s),
            stop_s=np.array([0.5]),
            std_s=np.array([1e-4]),
            count=np.array(count),
        )
