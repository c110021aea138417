"""Make the synthetic motions importable."""

import sys
from pathlib import Path

_MOTIONS = str(Path(__file__).parents[1] / "estimators")
if _MOTIONS not in sys.path:
    sys.path.insert(0, _MOTIONS)
