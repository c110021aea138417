"""Real recordings with known figures; each test skips where ../shared/realdata is absent."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def recordings() -> ModuleType:
    """Return `benchmarks/recordings.py`, which turns the recordings into clips."""
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "recordings.py"
    spec = importlib.util.spec_from_file_location("syncaudit_recordings", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not module.REALDATA.is_dir():
        pytest.skip(f"the real recordings are absent: no {module.REALDATA}")
    return module


@pytest.fixture(scope="session")
def benchmarks(recordings: ModuleType) -> Iterator[Path]:
    """Put the folder of the benchmarks, which plant errors on recordings, on the path."""
    folder = Path(str(recordings.__file__)).parent
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
