"""A source to be corrected, and a rig of cameras and triggers, calibrated by flashes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events

from testkit.apply_clips import events
from testkit.event_rig import full_rig


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with the table of a trigger."""
    events(tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture(scope="session")
def rig():
    """Return the trains of a full rig and its true clocks."""
    return full_rig(np.random.default_rng(0))


@pytest.fixture(scope="session")
def calibration(rig):
    """Return the calibration of the full rig."""
    return calibrate_events(rig[0])
