"""Key handling that does not depend on the focus, except while text is typed."""

from __future__ import annotations

import time

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit_gui.viewmodel.bindings import REPEATED, Action, action_of

# A longer press counts as holding a key, not tapping it.
HELD_S = 0.35


def _key_name(event: QtGui.QKeyEvent) -> str:
    """Return a key in Qt's portable notation, without the keypad's modifier."""
    keys = event.modifiers() & ~QtCore.Qt.KeyboardModifier.KeypadModifier
    combination = QtCore.QKeyCombination(keys, QtCore.Qt.Key(event.key()))
    return QtGui.QKeySequence(combination).toString(QtGui.QKeySequence.SequenceFormat.PortableText)


class KeyInput(QtCore.QObject):
    """Turns key presses in a window into actions.

    Keys of the window's children count, those of other windows do not.
    """

    acted = QtCore.Signal(object)
    glance_over = QtCore.Signal()
    """C was held, and is released."""
    typing_ended = QtCore.Signal()
    """Keys trigger actions again."""
    clicked = QtCore.Signal(object)
    """A click in the window: the clicked widget."""

    def __init__(self, window: QtWidgets.QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._held_since_s: float | None = None
        application = QtWidgets.QApplication.instance()
        if application is not None:
            application.installEventFilter(self)

    def close(self) -> None:
        application = QtWidgets.QApplication.instance()
        if application is not None:
            application.removeEventFilter(self)

    def eventFilter(self, watched: QtCore.QObject | None, event: QtCore.QEvent | None) -> bool:
        """Handle keys before any widget does."""
        if not isinstance(watched, QtWidgets.QWidget):
            return False
        if isinstance(event, QtGui.QMouseEvent) and (
            event.type() == QtCore.QEvent.Type.MouseButtonPress
        ):
            self._clicked(watched)
            if watched.window() is self._window:
                # A click that no widget accepts is passed to all widgets beneath.
                place = self._window.mapFromGlobal(event.globalPosition().toPoint())
                self.clicked.emit(self._window.childAt(place))
        if not isinstance(event, QtGui.QKeyEvent):
            return False
        if watched.window() is not self._window:
            return False
        is_typing = isinstance(self._window.focusWidget(), QtWidgets.QLineEdit)
        if event.type() == QtCore.QEvent.Type.KeyRelease:
            return self._released(event) if not is_typing else False
        if event.type() != QtCore.QEvent.Type.KeyPress:
            return False
        action = action_of(_key_name(event))
        if is_typing and action is not Action.QUIT:
            return self._left_text(action)
        if action is None:
            return False
        if event.isAutoRepeat() and action not in REPEATED:
            return True
        if action is Action.CORRECTED:
            self._held_since_s = time.perf_counter()
        self.acted.emit(action)
        return True

    def _released(self, event: QtGui.QKeyEvent) -> bool:
        if event.isAutoRepeat() or action_of(_key_name(event)) is not Action.CORRECTED:
            return False
        since_s, self._held_since_s = self._held_since_s, None
        if since_s is not None and time.perf_counter() - since_s > HELD_S:
            self.glance_over.emit()
        return True

    def _clicked(self, watched: QtWidgets.QWidget) -> None:
        """End typing at a click elsewhere, so that keys trigger actions again."""
        typed_in = self._window.focusWidget()
        is_typing = isinstance(typed_in, QtWidgets.QLineEdit)
        if typed_in is None or not is_typing or watched.window() is not self._window:
            return
        if watched is not typed_in and not typed_in.isAncestorOf(watched):
            typed_in.clearFocus()
            self.typing_ended.emit()

    def _left_text(self, action: Action | None) -> bool:
        """End typing at Enter or Escape."""
        focused = self._window.focusWidget()
        if action in (Action.ESCAPE, Action.ENLARGE) and focused is not None:
            focused.clearFocus()
            self.typing_ended.emit()
            return True
        return False
