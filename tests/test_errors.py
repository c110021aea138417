"""Errors that say what is missing."""

from __future__ import annotations

import sys

import pytest

from syncaudit.errors import MissingExtraError, require_matplotlib


def test_plots_without_matplotlib_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'syncaudit\[plots\]'"):
        require_matplotlib()
