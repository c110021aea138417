"""Real recordings with known figures; each test skips where ../shared/realdata is absent."""

from __future__ import annotations

import importlib.util
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
