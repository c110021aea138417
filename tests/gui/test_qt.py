from __future__ import annotations

import pytest


def test_qt_can_be_loaded() -> None:
    """Tests of the window are not collected where Qt cannot be loaded."""
    try:
        from PyQt6 import QtWidgets
    except ImportError as error:
        pytest.skip(
            f"the viewer's window is not tested: {error}; gui/README.md lists what Qt needs"
        )
    assert QtWidgets.QApplication is not None
