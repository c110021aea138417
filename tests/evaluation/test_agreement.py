"""Labels against verdicts, counted on hand-made labels."""

from __future__ import annotations

import numpy as np
import pytest
from syncaudit_gui.viewmodel.labels import Label as ViewerLabel
from syncaudit_gui.viewmodel.labels import Labels as ViewerLabels

from syncaudit.evaluation.agreement import Agreement, agreement_of
from syncaudit.evaluation.labels import Label, LabelRow, Labels, read_labels
from syncaudit.model import Verdict

REJECT, PASS, UNVERIFIED = Verdict.REJECT, Verdict.PASS, Verdict.UNVERIFIED


def agreement(n_clips: dict[Verdict, int], labelled: dict[tuple[Verdict, Label], int]) -> Agreement:
    """Return labels for the first clips of every verdict."""
    verdicts = {f"{v}{k}": v for v, n in n_clips.items() for k in range(n)}
    labels: dict[str, LabelRow] = {}
    for (verdict, says), n in labelled.items():
        fresh = [name for name, v in verdicts.items() if v is verdict and name not in labels]
        labels |= {name: LabelRow(clip_id=name, label=says) for name in fresh[:n]}
    return agreement_of(Labels(by_clip=labels, n_damaged=0), verdicts)


def test_precision_and_recall_where_every_clip_is_labelled():
    found = agreement(
        {REJECT: 10, PASS: 20, UNVERIFIED: 5},
        {
            (REJECT, Label.REJECT): 8,
            (REJECT, Label.ACCEPT): 2,
            (PASS, Label.REJECT): 1,
            (PASS, Label.ACCEPT): 19,
            (UNVERIFIED, Label.REJECT): 3,
            (UNVERIFIED, Label.ACCEPT): 2,
        },
    )
    assert found.precision.share == 0.8
    assert found.recall[0] == pytest.approx(8 / 12, abs=1e-12)
    assert len(found.disputes) == 3


def test_recall_of_a_balanced_sample_counts_each_verdict_by_its_clips():
    found = agreement(
        {REJECT: 100, PASS: 900},
        {
            (REJECT, Label.REJECT): 10,
            (PASS, Label.REJECT): 1,
            (PASS, Label.ACCEPT): 9,
        },
    )
    # 100 bad clips are rejected, and 90 of those that passed are bad too.
    assert found.recall[0] == pytest.approx(100 / 190, abs=1e-12)


def test_recall_is_unknown_while_a_verdict_has_no_label():
    found = agreement({REJECT: 10, PASS: 10}, {(REJECT, Label.REJECT): 5})
    share, low, high = found.recall
    assert (share, high) == (None, 1.0)
    assert 0.0 < low < 0.5  # all that passed may be bad


def test_bounds_of_recall_hold_over_samples():
    rng = np.random.default_rng(11)
    n_clips = {REJECT: 200, PASS: 700, UNVERIFIED: 100}
    bad = {REJECT: 0.9, PASS: 0.05, UNVERIFIED: 0.3}
    true = 200 * 0.9 / sum(n_clips[v] * bad[v] for v in bad)
    held, n_runs = 0, 300
    verdicts = {f"{v}{k}": v for v, n in n_clips.items() for k in range(n)}
    for _ in range(n_runs):
        labels = {
            f"{v}{k}": LabelRow(
                clip_id=f"{v}{k}",
                label=Label.REJECT if rng.random() < bad[v] else Label.ACCEPT,
            )
            for v in bad
            for k in range(20)
        }
        _, low, high = agreement_of(Labels(by_clip=labels, n_damaged=0), verdicts).recall
        held += low <= true <= high
    assert held / n_runs > 0.91  # 95 %, less three standard errors of 300 runs


def test_unsure_counts_for_nothing_and_strange_clips_are_counted():
    labels = {
        "a": LabelRow(clip_id="a", label=Label.UNSURE),
        "gone": LabelRow(clip_id="gone", label=Label.REJECT, verdict_shown="reject"),
    }
    found = agreement_of(Labels(by_clip=labels, n_damaged=2), {"a": REJECT})
    assert (found.precision.n, found.n_without_verdict, found.n_damaged) == (0, 1, 2)
    assert found.n_seen == 1
    assert found.disputes == ()


def test_labels_of_the_viewer_are_read(tmp_path):
    path = tmp_path / "labels.jsonl"
    given = ViewerLabels(path)
    given.give("a", ViewerLabel.ACCEPT, verdict_shown="reject")
    given.give("a", ViewerLabel.REJECT, note="late by a lot", is_blind=True)
    given.give("b", ViewerLabel.UNSURE, verdict_shown="pass")
    given.give("c", ViewerLabel.ACCEPT)
    given.give("c", None)
    with path.open("a") as file:
        file.write('{"clip_id": "d", "lab')  # partially written
    found = read_labels(str(path))
    assert {name: (row.label, row.note, row.has_seen) for name, row in found.by_clip.items()} == {
        "a": (Label.REJECT, "late by a lot", False),
        "b": (Label.UNSURE, "", True),
    }
    assert found.n_damaged == 1
    assert {str(says) for says in Label} == {str(label) for label in ViewerLabel}
