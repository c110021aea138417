"""Progress of the audit of the open clip, and a button to stop it."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit_gui.audits import AuditProgress
from syncaudit_gui.widgets.elided import button, dim_label
from syncaudit_gui.widgets.tables import Panel

_WORDS = {
    "read": "reading the sources",
    "align": "aligning the text",
    "stamps": "checking the timestamps",
    "decode": "decoding frames",
    "detect": "decoding frames",
    "estimate": "measuring pairs",
    "solve": "solving for the clocks",
}


class AuditPanel(Panel):
    """A bar and a button, visible only while an audit runs."""

    cancelled = QtCore.Signal()

    def __init__(self) -> None:
        super().__init__("AUDITING")
        self.words = dim_label()
        self.bar = QtWidgets.QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1000)
        self.stop = button("cancel", "stop the audit (Esc)")
        self.stop.clicked.connect(self.cancelled)
        self.head.addWidget(self.stop)
        self.body.addWidget(self.bar)
        self.body.addWidget(self.words)
        self.hide()

    def begin(self) -> None:
        """Show that an audit has started."""
        self.bar.setRange(0, 0)
        self.words.setText("starting")
        self.show()

    def show_progress(self, progress: AuditProgress) -> None:
        """Show the progress; the bar counts frames, which take nearly all of the time."""
        words = _WORDS.get(progress.stage, progress.stage)
        if progress.n_all:
            # Pairs and clocks take the remaining time.
            self.bar.setRange(0, 1000)
            self.bar.setValue(round(900 * progress.share))
            if progress.stage in ("decode", "detect"):
                words += f"  {progress.n_frames} of {progress.n_all}"
        elif progress.stage in ("decode", "detect"):
            words = "examining the signals"
        self.words.setText(words)
