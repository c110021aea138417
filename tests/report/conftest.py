"""Make the fake audits importable, here and in spawned workers (which inherit the path)."""

import sys
from pathlib import Path

for _folder in (Path(__file__).parents[1] / "batch", Path(__file__).parent):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))
