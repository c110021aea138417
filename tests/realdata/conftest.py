"""Real recordings with known figures; each test skips if ../shared/realdata is absent."""

from __future__ import annotations

from types import ModuleType

import pytest

from testkit.places import real_recording


@pytest.fixture(scope="session")
def recordings() -> ModuleType:
    """Return `benchmarks/recordings.py`, which turns the recordings into clips."""
    real_recording("")
    import recordings

    return recordings
