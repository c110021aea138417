"""The detector table: each detector fills a field of the evidence, and packages can add theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from importlib import metadata

import numpy as np
import pytest

from syncaudit.detectors import Detector, all_detectors
from syncaudit.errors import UsageError
from syncaudit.model import (
    ClipEvidence,
    EventStream,
    EventTrain,
    Quantity,
    SourceKind,
)
from syncaudit.pipeline import find_events
from syncaudit.pipeline.stages import Stages

DOORS = EventStream(
    name="doors", clock="doors", kind=SourceKind.EVENTS, time_ns=np.array([10**9, 3 * 10**9])
)


def _slammed(stream: EventStream) -> EventTrain:
    n = stream.time_ns.size
    return EventTrain(
        source=stream.name,
        quantity=Quantity.CLICK,
        epoch_ns=0,
        times_s=1e-9 * stream.time_ns,
        std_s=np.full(n, 1e-3),
    )


THEIRS = Detector(name="theirs", takes=EventStream, fills="clicks", find=_slammed)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    all_detectors.cache_clear()
    yield
    all_detectors.cache_clear()


def _install(monkeypatch: pytest.MonkeyPatch, loaded: object) -> None:
    point = metadata.EntryPoint(name="theirs", group="syncaudit.detectors", value="theirs:it")
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda _: loaded)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] * (group == point.group))


def test_every_detector_fills_a_field_under_a_name_of_its_own() -> None:
    known = {field.name for field in fields(ClipEvidence)}
    assert {one.fills for one in all_detectors()} <= known
    assert len({one.name for one in all_detectors()}) == len(all_detectors())


def test_a_detector_of_another_package_finds_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, THEIRS)
    evidence = find_events({"doors": DOORS}, Stages())
    assert evidence.clicks["doors"].times_s.tolist() == [1.0, 3.0]
    assert evidence.triggers["doors"].times_s.size == 2


def test_what_is_no_detector_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, _slammed)
    with pytest.raises(UsageError, match=r"the detector of .* is not a Detector with its own name"):
        all_detectors()
