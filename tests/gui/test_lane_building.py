"""Streams of every kind become lanes."""

from __future__ import annotations

import numpy as np
import pytest
from syncaudit_gui.viewmodel.lanes import CurveLane, TierLane, build_lanes

from syncaudit.model import (
    CanSpec,
    Channel,
    Clip,
    EventsSpec,
    EventStream,
    SignalStream,
    SourceKind,
    TranscriptSpec,
    TranscriptStream,
)
from testkit.barcode_clips import START_NS


@pytest.mark.parametrize(
    ("unit", "shown"), [("deg/s", "°/s"), ("deg", "°"), ("m/s2", "m/s²"), ("bar", "bar")]
)
def test_units_of_buses_are_spelled_as_those_of_an_imu(unit, shown):
    stamps = START_NS + np.arange(3) * 10**7
    channel = Channel(name="x", time_ns=stamps, values=np.arange(3.0)[:, None], unit=unit)
    stream = SignalStream(
        name="can", clock="can", kind=SourceKind.CAN, time_ns=stamps, channels=(channel,)
    )
    specs = {"can": CanSpec(uri="can.csv")}
    clip = Clip(clip_id="c", recording_id="c", sources=specs)
    lanes = build_lanes(clip, {"can": stream}, {}, START_NS)
    lane = next(lane for lane in lanes if isinstance(lane, CurveLane))
    assert lane.unit == shown
    assert lane.pyramid.extremes() == (0.0, 2.0)


def test_a_log_of_events_is_a_lane_of_instants():
    log = EventStream(
        name="button",
        clock="b",
        kind=SourceKind.EVENTS,
        time_ns=START_NS + np.array([2, 1]) * 10**9,
    )
    clip = Clip(clip_id="c", recording_id="c", sources={"button": EventsSpec(uri="b.csv")})
    lanes = build_lanes(clip, {"button": log}, {}, START_NS)
    (lane,) = [lane for lane in lanes if isinstance(lane, TierLane)]
    assert lane.start_s.tolist() == lane.stop_s.tolist() == [1.0, 2.0]
    assert "button" in {lane.source, lane.title}


def test_text_without_times_is_no_fault():
    never = np.empty(0, dtype=np.int64)
    said = {"name": "said", "clock": "mic", "kind": SourceKind.TRANSCRIPT, "time_ns": never}
    clip = Clip(clip_id="c", recording_id="c", sources={"said": TranscriptSpec(audio="mic")})
    for text, why in (("hello", "text without times: an audit aligns it"), (None, "it is empty")):
        stream = TranscriptStream(**said, audio="mic", text=text)
        (_, lane) = build_lanes(clip, {"said": stream}, {}, START_NS)
        assert (lane.why, lane.is_fault) == (why, text is None)
