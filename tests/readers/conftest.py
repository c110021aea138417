"""Small files of every format, generated on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from syncaudit.model import CanSpec, SignalStream
from syncaudit.readers import read_source
from testkit.bus_logs import DBC, Put
from testkit.reader_samples import Sample, write_samples


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sample]:
    """Return a sample of every format by name."""
    return write_samples(tmp_path_factory.mktemp("made"))


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., str]:
    """Write a file and return its path."""

    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


@pytest.fixture
def bus(put: Put) -> Callable[..., SignalStream]:
    """Return a function that writes a bus log with its description and reads it."""

    def read(
        log: str | bytes,
        signals: Mapping[str, str] | None = None,
        *,
        name: str = "can.log",
        dbc: str | None = DBC,
    ) -> SignalStream:
        spec = CanSpec(
            uri=put(name, log),
            dbc=None if dbc is None else put("v.dbc", dbc),
            signals={"speed": "Speed"} if signals is None else signals,
        )
        stream = read_source("can", spec)
        assert isinstance(stream, SignalStream)
        return stream

    return read
