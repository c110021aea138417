"""Print tables and write results with a description of the machine that measured them."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import syncaudit


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; the first column is text, the others are right-aligned."""
    cells = [list(header), *[[_text(cell) for cell in row] for row in rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    print(f"\n{title}")
    for n, row in enumerate(cells):
        first = row[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  " + "  ".join([first, *rest]).rstrip())
        if n == 0:
            print("  " + "  ".join("-" * width for width in widths))


def _text(cell: object) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "NO"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def write_json(path: Path, result: dict[str, Any]) -> None:
    """Write a result together with the facts that it depends on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "syncaudit": syncaudit.__version__,
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
        **result,
    }
    text = json.dumps(document, indent=1, default=_plain) + "\n"
    path.write_text(text, encoding="utf-8")
    print(f"\nwritten: {path}")


def machine() -> dict[str, object]:
    """Return the facts that speed figures depend on."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version()}


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value)} cannot be written as JSON")
