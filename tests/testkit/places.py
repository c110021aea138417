"""Locations of files that tests read."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SAMPLE_DATA = ROOT / "sample_data"
# Third-party recordings, which a checkout may lack.
REALDATA = ROOT.parent / "shared" / "realdata"


def real_recording(name: str) -> Path:
    """Return a file or folder of ../shared/realdata; skip the test if it is missing."""
    path = REALDATA / name
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return path
