"""The state of the window, and user actions on it: choose, nudge, label, undo; no drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from syncaudit.evaluation.labels import Label
from syncaudit.model import clock_of
from syncaudit.pipeline import ReadClip
from syncaudit_gui.viewmodel.batch import BatchList, SortBy, summarise
from syncaudit_gui.viewmodel.clip_model import ClipModel, build_clip
from syncaudit_gui.viewmodel.collection import NOTHING, Collection
from syncaudit_gui.viewmodel.judgement import Judgement
from syncaudit_gui.viewmodel.labels import Labels, Nudges
from syncaudit_gui.viewmodel.timeline import Timeline

_DEPTH = 500


@dataclass(frozen=True, slots=True)
class _Step:
    text: str
    do: Callable[[], None]
    undo: Callable[[], None]


class UndoStack:
    """Steps that were done, and those that were undone."""

    def __init__(self) -> None:
        self._done: list[_Step] = []
        self._undone: list[_Step] = []

    def do(self, text: str, do: Callable[[], None], undo: Callable[[], None]) -> None:
        """Do something that can be undone; this clears the redo steps."""
        do()
        self._done = [*self._done[1 - _DEPTH :], _Step(text, do, undo)]
        self._undone.clear()

    def undo(self) -> str | None:
        """Undo the last step and return its text; None if there is none."""
        if not self._done:
            return None
        step = self._done.pop()
        step.undo()
        self._undone.append(step)
        return step.text

    def redo(self) -> str | None:
        """Redo the last undone step and return its text; None if there is none."""
        if not self._undone:
            return None
        step = self._undone.pop()
        step.do()
        self._done.append(step)
        return step.text

    def clear(self) -> None:
        """Forget everything."""
        self._done.clear()
        self._undone.clear()


class Session:
    """The open collection, the open clip and all actions on it.

    UsageError if its label or nudge file cannot be read.
    """

    def __init__(self, collection: Collection, *, is_blind: bool = False) -> None:
        self.collection = collection
        self.labels = Labels(collection.labels_path, collection.labels_before)
        self.nudges = Nudges(collection.nudges_path, collection.nudges_before)
        self.batch = BatchList(collection.rows, self._label_of)
        self.batch.is_blind = is_blind
        if collection.verdicts is not None:
            self.batch.sort_by = SortBy.VERDICT
            self.batch.arrange()
        self.undo = UndoStack()
        self.model: ClipModel | None = None
        self.wanted_id = ""
        """Clip that is open, or being read."""
        self.selected = ""
        self.is_chosen = False
        """Whether a person has selected a source of the open clip."""

    @property
    def clip_id(self) -> str:
        """Clip that is open; empty without one."""
        return "" if self.model is None else self.model.clip.clip_id

    @property
    def timeline(self) -> Timeline | None:
        """Cursor and range of the open clip."""
        return None if self.model is None else self.model.timeline

    def _label_of(self, clip_id: str) -> str | None:
        row = self.labels.of(clip_id)
        return None if row is None else row.label

    def first_clip_id(self) -> str | None:
        """Return the first clip of the list."""
        return self.batch[0].clip_id if len(self.batch) else None

    def open_clip(self, model: ClipModel) -> None:
        """Make a clip that was read the open one."""
        self.model, self.wanted_id = model, model.clip.clip_id
        self.undo.clear()
        model.nudges_s = {
            name: nudge_s
            for name in model.selectable
            if (nudge_s := self.nudges.of(model.clip.clip_id, name))
        }
        row = self.batch.find(model.clip.clip_id)
        content = None if row is None else self.collection.verdict_row(row)
        if content is not None:
            model.judgement = Judgement.of_row(content, model.clip, self.collection.limits_s)
        self.is_chosen = False
        self._select_interesting(model)
        self.show_findings()
        model.clocks_changed()
        model.timeline.move_to(model.first_frame_s())

    def close_clip(self) -> None:
        """Forget the open clip."""
        self.model = None
        self.undo.clear()

    def take_judgement(self, judgement: Judgement, row: Mapping[str, Any]) -> None:
        """Set the result of an audit of the open clip."""
        model = self.model
        if model is None:
            return
        model.judgement = judgement
        known = self.batch.find(model.clip.clip_id)
        summary = summarise(dict(row), None if known is None else known.place)
        if known is not None and known.verdict is None and summary is not None:
            self.batch.replace(summary)
        if not self.is_chosen:
            self._select_interesting(model)
        self.show_findings()
        model.clocks_changed()

    def show_findings(self) -> bool:
        """Show the findings on the open clip, unless hidden for blind labelling.

        Return whether the lanes have changed.
        """
        model = self.model
        return model is not None and model.show_findings(is_shown=not self.is_hidden(self.clip_id))

    def add_streams(self, streams: Mapping[str, Any]) -> None:
        """Add streams created by an audit: aligned transcripts."""
        model = self.model
        if model is None or not streams:
            return
        read = ReadClip(streams={**model.streams, **streams})
        anew = build_clip(model.clip, read)
        model.streams, model.lanes = anew.streams, anew.lanes

    def _select_interesting(self, model: ClipModel) -> None:
        """Select the source that the verdict is about: a rejected one, by the order of reasons.

        If there is none, or during blind labelling, the selection is unchanged.
        """
        judged = None if self.is_hidden(model.clip.clip_id) else model.judgement
        sources = {} if judged is None else judged.sources
        reasons = () if judged is None else judged.reasons
        named = [finding.source for finding in reasons if finding.source in model.selectable]
        bad = [n for n in model.selectable if n in sources and sources[n].verdict == "reject"]
        found = next((n for n in named if n in bad), None) or next(iter((*bad, *named)), "")
        if self.selected not in model.selectable or found:
            self.selected = found or next(iter((*model.cameras, *model.selectable)), "")

    def is_hidden(self, clip_id: str) -> bool:
        """Return whether the verdict on a clip is hidden from the user."""
        return self.batch.is_blind and self.labels.of(clip_id) is None

    def select_neighbour(self, by: int) -> str:
        """Select the source `by` lines further, and return it."""
        names = () if self.model is None else self.model.selectable
        if names:
            place = names.index(self.selected) if self.selected in names else 0
            self.selected = names[min(max(place + by, 0), len(names) - 1)]
        return self.selected

    def toggle_corrected(self) -> bool:
        """Toggle between raw and corrected clocks; return whether they are now corrected."""
        model = self.model
        if model is None or self.is_hidden(self.clip_id):
            return False
        model.is_corrected = not model.is_corrected
        model.clocks_changed()
        return model.is_corrected

    def nudge(self, source: str, by_s: float) -> None:
        """Move a source by hand, and with it all sources that share its clock.

        This switches to corrected clocks, as the nudge would not be visible otherwise. UsageError
        if it cannot be saved.
        """
        model = self.model
        if model is None or not source:
            return
        clip_id = self.clip_id
        before_s = {name: self.nudges.of(clip_id, name) for name in self.clock_mates(source)}

        def put(by_s: float) -> None:
            for name, nudge_s in before_s.items():
                self.nudges.put(clip_id, name, nudge_s + by_s)
            self.preview_nudge(source, 0.0)

        text = f"nudge of {', '.join(before_s)}"
        self.undo.do(text, lambda: put(by_s), lambda: put(0.0))

    def clock_mates(self, source: str) -> tuple[str, ...]:
        """Return a source, followed by those that are stamped by the same clock."""
        specs = {} if self.model is None else self.model.clip.sources
        if source not in specs:
            return (source,)
        clock = clock_of(source, specs[source])
        others = (name for name, spec in specs.items() if clock_of(name, spec) == clock)
        return (source, *(name for name in others if name != source))

    def preview_nudge(self, source: str, by_s: float) -> None:
        """Draw a source as if it were nudged further, without saving."""
        model = self.model
        if model is None:
            return
        for name in self.clock_mates(source):
            model.nudges_s[name] = self.nudges.of(self.clip_id, name) + by_s
        model.is_corrected = model.is_corrected or not self.is_hidden(self.clip_id)
        model.clocks_changed()

    def label(self, label: Label, note: str) -> Label | None:
        """Label the open clip; giving its current label again withdraws it.

        UsageError if it cannot be saved.
        """
        if self.model is None:
            return None
        clip_id, known = self.clip_id, self.labels.of(self.clip_id)
        wanted = None if known is not None and known.label is label else label

        def restore() -> None:
            self.labels.give(
                clip_id,
                None if known is None else known.label,
                note=self.labels.note_of(clip_id),
                is_blind=known is not None and known.is_blind,
                verdict_shown=None if known is None else known.verdict_shown,
            )
            self.batch.relabel(clip_id)

        text = f"label {label} of {clip_id}"
        self.undo.do(text, lambda: self._save(wanted, note), restore)
        return wanted

    def write_note(self, note: str) -> None:
        """Save a note on the open clip.

        UsageError if it cannot be saved.
        """
        if self.model is None or note == self.labels.note_of(self.clip_id):
            return
        known = self.labels.of(self.clip_id)
        self._save(None if known is None else known.label, note)

    def _save(self, label: Label | None, note: str) -> None:
        judged = None if self.model is None else self.model.judgement
        known = self.labels.of(self.clip_id)
        self.labels.give(
            self.clip_id,
            label,
            note=note,
            # A blind label stays blind, even if the verdict was seen afterwards.
            is_blind=self.is_hidden(self.clip_id)
            or (known is not None and known.is_blind and known.label is label),
            verdict_shown=None if judged is None else str(judged.verdict),
        )
        self.batch.relabel(self.clip_id)


class OpenClip(NamedTuple):
    """A clip that was read, and the session that it is open in."""

    session: Session
    model: ClipModel


class Workspace:
    """Holds the session; nothing is in it until a collection is opened."""

    def __init__(self) -> None:
        self.session = Session(NOTHING)

    @property
    def is_empty(self) -> bool:
        """Whether no collection was opened yet."""
        return self.session.collection is NOTHING

    @property
    def opened(self) -> OpenClip | None:
        """The open clip; None if there is none."""
        session = self.session
        return None if session.model is None else OpenClip(session, session.model)
