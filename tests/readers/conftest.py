"""Small files of every format, made on the fly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

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
