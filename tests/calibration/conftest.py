"""Make the synthetic sources importable."""

import sys
from pathlib import Path

_RIG = str(Path(__file__).parents[1] / "estimators")
if _RIG not in sys.path:
    sys.path.insert(0, _RIG)
