from __future__ import annotations

import pytest


def test_qt_can_be_loaded() -> None:
    """The tests of the window are not collected where it cannot."""
    try:
        from PyQt6 import QtWidgets
    except ImportError as error:
        pytest.skip(
            f"the viewer's window is not tested: {error}; gui/README.md lists what Qt needs"
        )
    assert QtWidgets.QApplication is not None
