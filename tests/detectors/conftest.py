"""Make the synthetic views importable."""

import sys
from pathlib import Path

_VIEWS = str(Path(__file__).parents[1] / "detectors")
if _VIEWS not in sys.path:
    sys.path.insert(0, _VIEWS)
