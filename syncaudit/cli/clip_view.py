"""The output of `inspect` for one clip: a heading and a table for every step of the audit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from syncaudit.cli.console import STYLES, glyph, printable, verdict_text
from syncaudit.formatting import PLUS_MINUS, word_correction, word_drift, word_measure, word_rate
from syncaudit.model import (
    ClipVerdict,
    ClockEstimate,
    ClockSolution,
    EdgeResidual,
    PairMeasurement,
    StampAudit,
    Stream,
    Verdict,
)

if TYPE_CHECKING:
    from syncaudit.pipeline.examine import Examination


def print_failed(console: Console, verdict: ClipVerdict) -> None:
    """Print a clip that could not be examined."""
    _print_heading(console, verdict)
    _print_findings(console, verdict)


def print_examination(console: Console, examination: Examination) -> None:
    """Print all results for one clip, in the order in which they were obtained."""
    verdict = examination.verdict
    _print_heading(console, verdict)
    _section(console, "Sources", _sources(verdict, examination.streams))
    _section(console, "Timestamps alone", _stamps(examination.stamps))
    for name, audit in examination.stamps.items():
        for warning in audit.warnings:
            console.print(Text(f"  {name}: {printable(warning)}", style="yellow"))
    accepted = [pair for pair in verdict.pairs if pair.accepted]
    refused = [pair for pair in verdict.pairs if not pair.accepted]
    residuals = _residuals(examination.measurements, examination.solution)
    _section(console, "Measurements accepted", _accepted(accepted, residuals))
    _section(console, "Measurements refused", _refused(refused))
    _section(console, "Clocks", _clocks(examination.solution))
    _section(console, "Loops of measurements", _loops(examination.solution))
    _print_findings(console, verdict)
    notes = f"\nearly: the timestamps are too small, so add the offset; {PLUS_MINUS}."
    console.print(Text(notes, style="dim"))
    if verdict.stages:
        spent = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in verdict.stages.items())
        console.print(Text(f"\n{verdict.seconds:.2f} s of CPU: {spent}", style="dim"))


def _print_heading(console: Console, verdict: ClipVerdict) -> None:
    head = Text.assemble(verdict_text(verdict.verdict), "  ", printable(verdict.clip_id))
    head.append(f"  recording {printable(verdict.recording_id)}", style="dim")
    if verdict.reference is not None:
        head.append(f", reference clock {printable(verdict.reference)}", style="dim")
    console.print(head)


def _section(console: Console, title: str, table: Table) -> None:
    console.print()
    console.print(Text(title, style="bold"))
    if table.row_count:
        console.print(Padding(table, (0, 0, 0, 2)))
    else:
        console.print(Text("  none", style="dim"))


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        is_number = column.startswith(">")
        table.add_column(
            column.removeprefix(">"),
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=is_number or column in ("clock", "source", "pair"),
        )
    return table


def _sources(verdict: ClipVerdict, streams: Mapping[str, Stream]) -> Table:
    table = _table("source", "kind", "clock", "verdict", "file")
    for name, source in verdict.sources.items():
        uri = streams[name].uri if name in streams else "not read"
        table.add_row(
            Text(printable(name)),
            source.kind,
            Text(printable(source.clock)),
            verdict_text(source.verdict),
            Text(printable(uri), style="dim"),
        )
    return table


def _stamps(stamps: Mapping[str, StampAudit]) -> Table:
    table = _table("source", ">samples", ">rate", ">jitter", ">longest", "irregular")
    for name, audit in stamps.items():
        table.add_row(
            Text(printable(name)),
            str(audit.samples),
            "" if audit.rate_hz is None else word_rate(audit.rate_hz),
            _milliseconds(audit.jitter_s),
            _milliseconds(audit.max_gap_s),
            _irregular(audit),
        )
    return table


def _irregular(audit: StampAudit) -> str:
    counts = {
        "missing": audit.missing,
        "gaps": audit.gaps,
        "duplicates": audit.duplicates,
        "doubled": audit.doubled,
        "backwards": audit.backwards,
        "steps": len(audit.steps),
    }
    words = [f"{n} {name}" for name, n in counts.items() if n]
    if audit.buffering_s is not None:
        words.append(f"buffered {_milliseconds(audit.buffering_s)}")
    if audit.is_irregular:
        words.append("no regular clock")
    if audit.is_synthetic:
        words.append("made up from index and rate")
    return ", ".join(words) or "nothing"


def _residuals(
    measurements: Sequence[PairMeasurement], solution: ClockSolution
) -> dict[tuple[str, str, str], EdgeResidual]:
    return {
        _key(measurements[edge.index]): edge
        for edge in solution.edges
        if edge.index < len(measurements)
    }


def _key(pair: PairMeasurement) -> tuple[str, str, str]:
    return pair.source, pair.target, pair.method


def _accepted(
    pairs: list[PairMeasurement], residuals: Mapping[tuple[str, str, str], EdgeResidual]
) -> Table:
    table = _table("pair", "method", ">source timestamps", ">drift", ">fit")
    for pair in pairs:
        if pair.offset_s is None:  # ruled out by the model; needed by the type checker
            continue
        edge = residuals.get(_key(pair))
        fit = "baseline" if pair.is_baseline_only else "" if edge is None else f"{edge.z:+.1f} σ"
        if edge is not None and edge.is_contradicted:
            fit += " contradicted"
        table.add_row(
            _pair_name(pair),
            pair.method,
            word_correction(pair.offset_s, pair.offset_std_s),
            _drift(pair.drift_ppm, pair.drift_std_ppm),
            fit,
        )
    return table


def _refused(pairs: list[PairMeasurement]) -> Table:
    table = _table("pair", "method", "why")
    for pair in pairs:
        table.add_row(_pair_name(pair), pair.method, Text(printable(pair.why or "")))
    return table


def _clocks(solution: ClockSolution) -> Table:
    table = _table("clock", ">timestamps", ">drift", ">measured by")
    for name, clock in solution.clocks.items():
        if name == solution.reference:
            how = "stated" if solution.is_reference_stated else "by consensus"
            table.add_row(Text(printable(name)), "reference", "", how)
        elif not clock.is_observable or clock.offset_s is None:
            table.add_row(Text(printable(name)), "not observable", "", "0")
        else:
            words = word_correction(clock.offset_s, clock.middle_std_s)
            if clock.step_s is not None:
                words += f"\n{_other_side(clock)}"
            drift = _drift(clock.drift_ppm, clock.drift_std_ppm)
            table.add_row(Text(printable(name)), words, drift, str(clock.n_measurements))
    return table


def _other_side(clock: ClockEstimate) -> str:
    """Describe the offset of a clock on the other side of its step."""
    step_s, step_std_s = clock.step_s or 0.0, clock.step_std_s or 0.0
    other_s = (clock.offset_s or 0.0) + (-step_s if clock.is_step_past else step_s)
    words = word_correction(other_s, math.hypot(clock.offset_std_s or 0.0, step_std_s))
    return f"{'before' if clock.is_step_past else 'after'} its jump {words}"


def _loops(solution: ClockSolution) -> Table:
    table = _table("loop", ">misclosure", ">in σ")
    for loop in solution.loops:
        closure = word_measure(loop.closure_s, loop.closure_std_s)
        style = "red" if abs(loop.z) > 3.0 else ""
        chain = " → ".join((*loop.clocks, loop.clocks[0]))
        table.add_row(Text(printable(chain)), closure, Text(f"{loop.z:+.1f}", style=style))
    return table


def _print_findings(console: Console, verdict: ClipVerdict) -> None:
    for title, findings in (("Reasons", verdict.reasons), ("Warnings", verdict.warnings)):
        if findings:
            console.print()
            console.print(Text(title, style="bold"))
        for finding in findings:
            kind = verdict.verdict if title == "Reasons" else Verdict.UNVERIFIED
            sign = glyph(kind) if title == "Reasons" else "!"
            text = Text(f"  {sign} {printable(finding.message)}", style=STYLES[kind])
            text.append(f"  [{finding.code}]", style="dim")
            console.print(text)


def _pair_name(pair: PairMeasurement) -> Text:
    return Text(printable(f"{pair.source} → {pair.target}"))


def _drift(drift_ppm: float | None, std_ppm: float | None) -> str:
    return "" if drift_ppm is None else word_drift(drift_ppm, std_ppm)


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.3g} ms"
