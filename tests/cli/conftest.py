"""Make the fake audits importable, here and in spawned workers (which inherit the path)."""

import sys
from pathlib import Path

_FAKES = str(Path(__file__).parents[1] / "batch")
if _FAKES not in sys.path:
    sys.path.insert(0, _FAKES)
