"""`syncaudit view`: the timeline viewer."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["view"]


def view() -> None:
    """Placeholder."""
