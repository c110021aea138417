"""Report what was done to the sources of a clip: for ``corrections.jsonl``, as text or table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from syncaudit.cli.console import printable
from syncaudit.formatting import word_count, word_duration
from syncaudit.model import ClockMap


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOutcome:
    """Outcome for one source."""

    # What was added to its timestamps; None if they are unchanged.
    correction: ClockMap | None = None
    why: str | None = None  # reason why they are unchanged
    is_failure: bool = False  # whether they are unchanged although a correction is known
    remarks: tuple[str, ...] = ()  # for example, defects that the correction does not fix

    @property
    def is_remarkable(self) -> bool:
        """Return whether there is something to say about it."""
        return self.is_failure or bool(self.remarks)

    def to_json(self) -> dict[str, object]:
        """Return the object of ``corrections.jsonl``."""
        found = self.correction
        return {
            "offset_s": None if found is None else found.offset_s,
            "drift_ppm": None if found is None else found.drift_ppm,
            "at_ns": None if found is None else found.at_ns,
            "unchanged": self.why,
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipOutcome:
    """Outcome for one clip."""

    clip_id: str
    sources: Mapping[str, SourceOutcome]

    @property
    def n_corrected(self) -> int:
        """Return the number of sources whose timestamps were corrected."""
        return sum(source.correction is not None for source in self.sources.values())

    def to_json(self) -> dict[str, object]:
        """Return the row of ``corrections.jsonl``."""
        return {
            "clip_id": self.clip_id,
            "sources": {name: source.to_json() for name, source in self.sources.items()},
        }


def word_correction(correction: ClockMap) -> str:
    """Describe the correction: ``35.1 ms later, drift 19.8 ppm taken out``."""
    parts: list[str] = []
    if correction.offset_s:
        direction = "later" if correction.offset_s > 0.0 else "earlier"
        parts.append(f"{word_duration(abs(correction.offset_s))} {direction}")
    if correction.drift_ppm:
        drift_ppm = correction.drift_ppm
        figure = f"{drift_ppm:.0f}" if abs(drift_ppm) >= 100.0 else f"{drift_ppm:.3g}"
        parts.append(f"drift {figure} ppm taken out")
    return ", ".join(parts) or "nothing to correct"


def outcome_table(clips: Iterable[ClipOutcome], *, only_remarkable: bool = False) -> Table:
    """Return a table with one section per clip and one line per source.

    `clips`: the outcomes. `only_remarkable`: show only sources that failed or have remarks.
    """
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False, show_edge=False)
    table.add_column("clip", max_width=28, overflow="fold")
    table.add_column("source", no_wrap=True, max_width=18)
    table.add_column("timestamps", overflow="fold")
    for clip in clips:
        shown = [
            (name, source)
            for name, source in clip.sources.items()
            if not only_remarkable or source.is_remarkable
        ]
        for index, (name, source) in enumerate(shown):
            table.add_row(
                Text(printable(clip.clip_id) if index == 0 else ""),
                Text(printable(name)),
                _outcome_text(source),
                end_section=index == len(shown) - 1,
            )
    return table


def _outcome_text(source: SourceOutcome) -> Text:
    words = (
        f"unchanged: {source.why}"
        if source.correction is None
        else word_correction(source.correction)
    )
    style = "yellow" if source.is_failure else "" if source.correction is not None else "dim"
    lines = [Text(printable(words), style=style)]
    lines += [Text(printable(remark), style="yellow") for remark in source.remarks]
    return Text("\n").join(lines)


class Tally:
    """Counts over all clips, for the summary line."""

    def __init__(self) -> None:
        self.n_clips = 0
        self.n_corrected = 0
        self.n_kept = 0
        self.n_failed = 0

    def add(self, clip: ClipOutcome) -> None:
        """Count one clip."""
        self.n_clips += 1
        self.n_corrected += clip.n_corrected
        n_failed = sum(source.is_failure for source in clip.sources.values())
        self.n_failed += n_failed
        self.n_kept += len(clip.sources) - clip.n_corrected - n_failed

    def words(self) -> str:
        """Format the counts as a sentence."""
        text = (
            f"{word_count(self.n_clips, 'clip')}: {word_count(self.n_corrected, 'source')} "
            f"corrected, {self.n_kept} unchanged"
        )
        return f"{text}, {self.n_failed} could not be corrected" if self.n_failed else text
