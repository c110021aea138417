"""Dark and light colours of the window (checked for contrast and colour-vision deficiencies)."""

from __future__ import annotations

from dataclasses import dataclass

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

# Qt's value for an unlimited size, which has no name there.
ANY_PX = 16_777_215
# Plain integers: Qt's flags are slow to combine.
_VERTICAL = QtCore.Qt.AlignmentFlag.AlignVCenter
ALIGN_LEFT = int(QtCore.Qt.AlignmentFlag.AlignLeft | _VERTICAL)
ALIGN_RIGHT = int(QtCore.Qt.AlignmentFlag.AlignRight | _VERTICAL)
ALIGN_CENTER = int(QtCore.Qt.AlignmentFlag.AlignCenter)
GLYPHS = {"pass": "✓", "reject": "✕", "unverified": "?", None: "·"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """One set of colours, as ``#rrggbb``."""

    name: str
    surface: str
    panel: str
    raised: str
    line: str
    text: str
    dim: str
    accent: str
    axes: tuple[str, ...]
    passed: str
    unverified: str
    rejected: str

    def verdict(self, verdict: str | None) -> str:
        known = {"pass": self.passed, "reject": self.rejected, "unverified": self.unverified}
        return known.get(verdict or "", self.dim)

    def color(self, name: str, alpha: int = 255) -> QtGui.QColor:
        """Return one of the colours, or ``#rrggbb``, with an opacity from 0 to 255."""
        color = QtGui.QColor(name if name.startswith("#") else getattr(self, name))
        color.setAlpha(alpha)
        return color


DARK = Theme(
    name="dark",
    surface="#15171b",
    panel="#1b1e23",
    raised="#252a31",
    line="#323842",
    text="#d8dce2",
    dim="#8a929e",
    accent="#f2f4f7",
    axes=("#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#f0e442", "#d55e00"),
    passed="#56b4e9",
    unverified="#f0e442",
    rejected="#ee7733",
)

LIGHT = Theme(
    name="light",
    surface="#eef0f3",
    panel="#ffffff",
    raised="#e3e7ec",
    line="#c9cfd7",
    text="#1c2026",
    dim="#5a636f",
    accent="#101318",
    axes=("#a85f00", "#0068a8", "#00714f", "#a0447a", "#7d6b00", "#b34700"),
    passed="#0068a8",
    unverified="#7d6b00",
    rejected="#b34700",
)


class ThemedWidget(QtWidgets.QFrame):
    """A widget that is drawn in the colours of a theme."""

    _theme: Theme = DARK

    def set_theme(self, theme: Theme) -> None:
        """Change the colours."""
        self._theme = theme
        self.update()


def sized(font: QtGui.QFont, size_px: int) -> QtGui.QFont:
    """Return a font in another size."""
    changed = QtGui.QFont(font)
    changed.setPixelSize(size_px)
    return changed


def ui_font() -> QtGui.QFont:
    """Return the font of the window: tabular figures, and glyphs for all verdicts."""
    font = QtGui.QFont()
    font.setFamilies(["Inter", "Noto Sans", "Segoe UI", "SF Pro Text", "DejaVu Sans"])
    font.setPixelSize(12)
    return font


def stylesheet(theme: Theme) -> str:
    """Return the style of all widgets."""
    return f"""
    QWidget {{ background: {theme.surface}; color: {theme.text}; }}
    QLabel {{ background: transparent; }}
    QLabel[role="heading"] {{ color: {theme.dim}; font-weight: 600; letter-spacing: 1px;
        font-size: 11px; }}
    QLabel[role="headline"] {{ font-size: 15px; font-weight: 600; padding: 3px 6px; }}
    QLabel[role="dim"] {{ color: {theme.dim}; }}
    QFrame[role="panel"] {{ background: {theme.panel}; border: none; border-radius: 6px; }}
    QFrame[role="panel"] QWidget {{ background: {theme.panel}; }}
    QTableView {{ background: {theme.panel}; border: none; outline: none;
        selection-background-color: {theme.raised};
        gridline-color: transparent; }}
    QHeaderView, QHeaderView::section {{ background: {theme.panel}; color: {theme.dim};
        border: none; padding: 1px 4px; font-size: 11px; }}
    QTableCornerButton::section {{ background: {theme.panel}; border: none; }}
    QFrame[role="panel"] QLineEdit, QFrame[role="panel"] QComboBox, QLineEdit, QComboBox {{
        background: {theme.surface}; border: 1px solid {theme.line}; border-radius: 4px;
        padding: 3px 6px; selection-background-color: {theme.passed};
        selection-color: {theme.surface}; }}
    QLineEdit:focus, QComboBox:focus {{ border: 1px solid {theme.dim}; }}
    QComboBox {{ combobox-popup: 0; }}
    QComboBox QAbstractItemView::item {{ padding: 3px 4px; }}
    QComboBox::drop-down {{ border: none; width: 14px; }}
    QComboBox::down-arrow {{ image: none; width: 0; height: 0; margin-right: 8px;
        border-left: 4px solid {theme.surface}; border-right: 4px solid {theme.surface};
        border-top: 5px solid {theme.dim}; }}
    QFrame[role="panel"] QComboBox QAbstractItemView {{ background: {theme.panel};
        border: 1px solid {theme.line}; selection-background-color: {theme.raised};
        selection-color: {theme.text}; outline: none; }}
    QFrame[role="panel"] QPushButton, QPushButton {{ background: {theme.raised}; border: none;
        border-radius: 4px; padding: 4px 10px; }}
    QFrame[role="panel"] QPushButton:hover, QPushButton:hover {{ background: {theme.line}; }}
    QFrame[role="panel"] QPushButton:checked, QPushButton:checked {{ background: {theme.text};
        color: {theme.surface}; }}
    QPushButton:disabled {{ color: {theme.dim}; }}
    QPushButton[role="flat"] {{ background: transparent; padding: 2px 6px; }}
    QPushButton[role="flat"]:hover {{ background: {theme.raised}; }}
    QPushButton[role="flat"]:checked {{ background: {theme.text}; color: {theme.surface}; }}
    QPushButton[role="recent"] {{ background: transparent; text-align: left; }}
    QPushButton[role="recent"]:hover {{ background: {theme.raised}; }}
    QMenu, QDialog {{ background: {theme.panel}; color: {theme.text}; }}
    QMenu::item:selected {{ background: {theme.raised}; }}
    QProgressBar {{ background: {theme.surface}; border: none; border-radius: 3px;
        max-height: 6px; min-height: 6px; }}
    QFrame[role="panel"] QProgressBar {{ background: {theme.surface}; }}
    QProgressBar::chunk {{ background: {theme.passed}; border-radius: 3px; }}
    QScrollBar:vertical {{ background: transparent; width: 8px; margin: 0; }}
    QScrollBar:horizontal {{ background: transparent; height: 8px; margin: 0; }}
    QScrollBar::handle {{ background: {theme.line}; border-radius: 4px; min-height: 24px;
        min-width: 24px; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
    QSplitter::handle {{ background: {theme.surface}; }}
    QSplitter::handle:hover {{ background: {theme.line}; }}
    QToolTip {{ background: {theme.raised}; color: {theme.text};
        border: 1px solid {theme.line}; padding: 4px; }}
    """
