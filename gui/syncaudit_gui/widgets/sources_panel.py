"""Table of all sources with offset, drift and nudge, and whether clocks are drawn corrected."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore

from syncaudit.formatting import PLUS_MINUS
from syncaudit.formatting import word_drift as word_drift_fully
from syncaudit.formatting import word_offset as word_offset_fully
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.judgement import Judgement, SourceEstimate
from syncaudit_gui.viewmodel.wording import short_names, word_drift, word_nudge, word_offset
from syncaudit_gui.widgets.elided import button, dim_label
from syncaudit_gui.widgets.tables import ROW_PX, Cell, CellTable, Panel, plain_table
from syncaudit_gui.widgets.theme import GLYPHS

MOST_ROWS = 12
_TIPS = (
    "",
    f"Add this to the timestamps: positive means early; {PLUS_MINUS}.",
    f"Drift of the clock in parts per million; {PLUS_MINUS}. 1 ppm is 3.6 ms per hour.",
    "Added by hand, in ms (, and .)",
)


class SourcesPanel(Panel):
    """The table of sources."""

    source_selected = QtCore.Signal(str)
    corrected_toggled = QtCore.Signal(bool)

    def __init__(self) -> None:
        super().__init__("SOURCES")
        self._model: ClipModel | None = None
        tip = "Draw everything on corrected clocks (C; hold for a glance)"
        self.corrected = button("correct (C)", tip, is_checkable=True)
        self.corrected.clicked.connect(self.corrected_toggled)
        self.head.addWidget(self.corrected)
        self.ghost = dim_label("dotted: raw")
        self.head.insertWidget(self.head.count() - 1, self.ghost)
        self.table = CellTable(("source", "offset ± 1 se, ms", "drift, ppm", "nudge"), _TIPS)
        self.view = plain_table(self.table, "sources", self._click, names=0)
        self.body.addWidget(self.view)

    def show_model(self, model: ClipModel | None, selected: str, *, is_hidden: bool) -> None:
        """Show the sources of a clip.

        Estimates can be hidden for blind labelling.
        """
        self._model = model
        names = model.selectable if model is not None else ()
        cameras = () if model is None else model.cameras
        short = dict(zip(cameras, short_names(cameras), strict=True))
        rows = (
            []
            if model is None
            else [self._row(model, name, short.get(name, name), is_hidden) for name in names]
        )
        self.table.set_rows(rows)
        if selected in names:
            self.view.selectRow(names.index(selected))
        for column, is_empty in ((2, not _has_any(rows, 2)), (3, not _has_any(rows, 3))):
            self.view.setColumnHidden(column, is_empty)  # more room for names
        is_corrected = model is not None and model.is_corrected
        self.corrected.setChecked(is_corrected)
        self.ghost.setVisible(is_corrected)
        self.corrected.setEnabled(model is not None and not is_hidden)
        n_rows = min(max(2, len(rows)), MOST_ROWS)
        self.view.setFixedHeight(ROW_PX * n_rows + 20)

    def _click(self, row: int) -> None:
        if self._model is not None:
            self.source_selected.emit(self._model.selectable[row])

    def _row(
        self, model: ClipModel, name: str, short_name: str, is_hidden: bool
    ) -> tuple[Cell, ...]:
        theme, judged = self._theme, None if is_hidden else model.judgement
        estimate = None if judged is None else judged.sources.get(name)
        problems = model.problems.get(name, ())
        verdict = None if estimate is None else str(estimate.verdict)
        if verdict is None and problems and name not in model.streams:
            verdict = "reject"
        if judged is not None:
            problems = tuple(
                dict.fromkeys((*problems, *(f.message for f in judged.reasons_of(name))))
            )
        tip = "\n".join(problems)
        glyph, color = GLYPHS[verdict], theme.verdict(verdict) if verdict else None
        return (
            Cell(f"{glyph} {name}", color, tip, short=f"{glyph} {short_name}"),
            *self._figures(model, name, estimate, judged),
            Cell(word_nudge(model.nudges_s.get(name, 0.0)), is_number=True),
        )

    def _figures(
        self, model: ClipModel, name: str, estimate: SourceEstimate | None, judged: Judgement | None
    ) -> tuple[Cell, Cell]:
        dim = self._theme.dim

        def cells(text: str, color: str, tip: str = "") -> tuple[Cell, Cell]:
            return Cell(text, color, tip, is_number=True), Cell("")

        if name not in model.streams:
            return cells("not read", self._theme.rejected)
        if estimate is None or judged is None:
            return cells("–", dim)
        stream = model.streams[name]
        if judged.reference is not None and stream.clock == judged.reference:
            step, step_tip = _word_step(estimate)
            return cells(f"reference{step}", dim, f"This clock gives reference time.{step_tip}")
        if not estimate.is_observable or estimate.offset_s is None:
            tip = estimate.why_unmeasured or "nothing to measure it against"
            return cells("unobservable", dim, f"{name}: {tip}.")
        color = self._theme.verdict(str(estimate.verdict))
        tip = f"{word_offset_fully(name, estimate.offset_s, estimate.offset_std_s)}."
        words = word_offset(estimate.offset_s, estimate.offset_std_s)
        step, step_tip = _word_step(estimate)
        words, tip = words + step, tip + step_tip
        drift_tip = ""
        if estimate.drift_ppm is not None:
            drift_tip = word_drift_fully(estimate.drift_ppm, estimate.drift_std_ppm)
        drift = word_drift(estimate.drift_ppm, estimate.drift_std_ppm)
        return (
            Cell(words, color, tip, is_number=True),
            Cell(drift, dim, drift_tip, is_number=True),
        )


def _has_any(rows: list[tuple[Cell, ...]], column: int) -> bool:
    return any(row[column].text not in ("", "–", "·") for row in rows)


def _word_step(estimate: SourceEstimate) -> tuple[str, str]:
    """Return the step of a clock, and a sentence about it; empty if there is none."""
    if estimate.step_s is None:
        return "", ""
    step_ms = 1e3 * estimate.step_s
    return f" ⇥{step_ms:+.0f}", f" Its clock steps by {step_ms:+.1f} ms."
