"""Press keys in the viewer and wait for the result."""

from __future__ import annotations

from pyqtgraph.Qt import QtGui, QtTest

WAIT_MS = 30_000


def key(window, name: str) -> None:
    """Press a key, named as on the key sheet, in the window."""
    sequence = QtGui.QKeySequence(name)[0]
    QtTest.QTest.keyClick(window, sequence.key(), sequence.keyboardModifiers())
