"""Show the evaluation of a run as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from syncaudit.cli.console import printable, verdict_text
from syncaudit.dsp.rates import Rate
from syncaudit.evaluation.agreement import Agreement
from syncaudit.evaluation.change import Quantity
from syncaudit.evaluation.detection import Detection, Group, Size
from syncaudit.evaluation.evaluate import Evaluation
from syncaudit.evaluation.labels import Label
from syncaudit.evaluation.outcomes import Outcome
from syncaudit.formatting import word_count
from syncaudit.model import Verdict

_DISPUTES_SHOWN = 20


def print_evaluation(console: Console, found: Evaluation) -> None:
    """Print all comparisons."""
    if found.detection is not None:
        _print_detection(console, found.detection)
    if found.agreement is not None:
        if found.detection is not None:
            console.print()
        _print_agreement(console, found.agreement)
    if found.by_week:
        console.print()
        console.print(_week_table(found.by_week))


def _print_detection(console: Console, found: Detection) -> None:
    for group in (group for group in found.groups if group.source is None):
        console.print(
            Text.assemble((f"{group.kind}, {group.quantity.word}", "bold"), f": {_reached(group)}")
        )
        console.print(_outcome_table(group))
        console.print()
    for quantity in Quantity:
        groups = [group for group in found.groups if group.quantity is quantity]
        named = [group for group in groups if group.source is not None]
        if named:
            title = f"Found of each source, {quantity.word} (interval in %)"
            console.print(Text(title, style="bold"))
            console.print(_source_table(named))
            console.print()
        measured = [group for group in named if group.misses]
        if measured:
            console.print(Text(f"Measured minus injected, {quantity.word}", style="bold"))
            console.print(_accuracy_table(measured))
            console.print()
    _print_controls(console, found)


def _print_controls(console: Console, found: Detection) -> None:
    if found.controls.total():
        line = Text("Controls, with nothing moved: ")
        for k, verdict in enumerate(Verdict):
            line.append(", " if k else "")
            line.append_text(verdict_text(verdict))
            line.append(f" {_rate(found.control_rate(verdict))}")
        console.print(line, soft_wrap=True)
    notes = {
        "not counted: the moved source was rejected before": found.n_rejected_before,
        "counted without a verdict on the unmoved clip": found.n_without_control,
        "in the truth, but not judged by this run": found.n_without_verdict,
    }
    for note, n in notes.items():
        if n:
            console.print(Text(f"{word_count(n, 'variant')} {note}", style="yellow"))
    console.print(
        Text("Brackets: 95 % intervals, which count clips, not variants.", style="dim"),
        soft_wrap=True,
    )


def _outcome_table(group: Group) -> Table:
    table = _table(group.quantity.word, "found", "other blamed", "unverified", "let through")
    for each in group.sizes:
        unjudged = each.outcomes[Outcome.UNJUDGED]
        through = Rate(
            n_hits=unjudged + each.outcomes[Outcome.PASSED],
            n=each.outcomes.total(),
            n_clips=len(each.clips),
        )
        remark = f", {unjudged} unjudged" if unjudged else ""
        table.add_row(
            _size(group.quantity, each.size),
            *(
                _rate(each.rate(outcome))
                for outcome in (Outcome.FOUND, Outcome.OTHER_BLAMED, Outcome.UNVERIFIED)
            ),
            _rate(through) + remark,
        )
    return table


def _source_table(groups: Sequence[Group]) -> Table:
    sizes = sorted({each.size for group in groups for each in group.sizes})
    quantity = groups[0].quantity
    table = _table("source", *(_size(quantity, size) for size in sizes), "95 % from")
    for group in groups:
        cells = [_found(group.by_size.get(size)) for size in sizes]
        shown = group.found_from
        table.add_row(
            Text(printable(group.source or "")),
            *cells,
            _size(quantity, shown.size) if shown is not None else _short_of(group),
        )
    return table


def _accuracy_table(groups: Sequence[Group]) -> Table:
    table = _table("source", "n", "rmse", "bias", "within 1.96 errors", "rmse of change")
    for group in groups:
        figures = group.accuracy
        table.add_row(
            Text(printable(group.source or "")),
            str(figures.n),
            _size(group.quantity, figures.rmse),
            _size(group.quantity, figures.bias),
            _rate(figures.coverage),
            _size(group.quantity, figures.change_rmse),
        )
    return table


def _print_agreement(console: Console, found: Agreement) -> None:
    table = _table("verdict", "clips", *(str(says) for says in Label), "bad")
    for verdict in Verdict:
        table.add_row(
            verdict_text(verdict),
            str(found.n_clips[verdict]),
            *(str(found.counts[verdict, says]) for says in Label),
            _rate(found.bad(verdict)),
        )
    console.print(table)
    console.print()
    share, low, high = found.recall
    recall = "unknown" if share is None else f"{100.0 * share:.0f} %"
    console.print(f"Precision of reject: {_rate(found.precision)}", soft_wrap=True)
    console.print(
        f"Recall of reject: {recall} ({_bounds(low, high)}), each verdict weighted by its clips "
        "in the run",
        soft_wrap=True,
    )
    for dispute in found.disputes[:_DISPUTES_SHOWN]:
        line = Text.assemble(
            "  ",
            verdict_text(dispute.verdict),
            printable(f" {dispute.clip_id}: a person says {dispute.says}"),
            printable(f" ({dispute.note})" if dispute.note else ""),
        )
        console.print(line, soft_wrap=True)
    more = len(found.disputes) - _DISPUTES_SHOWN
    if more > 0:
        console.print(f"  ... and {word_count(more, 'more disputed clip')}, see --json")
    notes = {
        "without a clip in this run": found.n_without_verdict,
        "given with the verdict on screen": found.n_seen,
    }
    for note, n in notes.items():
        if n:
            console.print(Text(f"{word_count(n, 'label')} {note}", style="yellow"))
    if found.n_damaged:
        lines = word_count(found.n_damaged, "line")
        console.print(Text(f"{lines} without a label in the label file", style="yellow"))


def _week_table(by_week: Mapping[str, Agreement]) -> Table:
    table = _table("week of", "labels", "precision", "recall")
    for week, one in by_week.items():
        share, low, high = one.recall
        recall = "unknown" if share is None else f"{100.0 * share:.0f} %"
        labels = str(one.counts.total())
        table.add_row(week, labels, _rate(one.precision), f"{recall} ({_bounds(low, high)})")
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for k, name in enumerate(columns):
        table.add_column(name, no_wrap=k == 0, justify="left" if k == 0 else "right")
    return table


def _short_of(group: Group) -> str:
    if group.seen_from is None:
        return "no size"
    return f"too few:\n{word_count(group.clips_to_promise, 'more clip')}"


def _found(cell: Size | None) -> str:
    if cell is None:
        return "–"
    rate = cell.rate(Outcome.FOUND)
    return f"{rate.n_hits}/{rate.n}\n({_bounds(*rate.interval()).removesuffix(' %')})"


def _reached(group: Group) -> str:
    shown, seen = group.found_from, group.seen_from
    if seen is None:
        return "95 % found: not reached by any size"
    words = f"from {_size(group.quantity, seen.size)} upwards: {_rate(seen.rate(Outcome.FOUND))}"
    if shown is seen:
        return f"95 % found {words}"
    more = word_count(group.clips_to_promise, "more clip")
    few = f"too few clips to promise 95 % found {words}. It takes {more} without a miss"
    if shown is None:
        return few
    return f"{few}; promised from {_size(group.quantity, shown.size)} upwards"


def _rate(rate: Rate) -> str:
    """Return ``4/5 (28–99 %)``."""
    if not rate.n:
        return "–"
    return f"{rate.n_hits}/{rate.n} ({_bounds(*rate.interval())})"


def _bounds(low: float, high: float) -> str:
    return f"{100.0 * low:.0f}–{100.0 * high:.0f} %"


def _size(quantity: Quantity, size: float | None) -> str:
    return "–" if size is None else quantity.worded(size)
