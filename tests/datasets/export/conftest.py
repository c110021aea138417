"""Make the examples of data sets importable."""

import sys
from pathlib import Path

_FORMATS = str(Path(__file__).parents[1] / "formats")
if _FORMATS not in sys.path:
    sys.path.insert(0, _FORMATS)
