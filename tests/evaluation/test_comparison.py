"""Differences between two runs on the same clips."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from syncaudit.cli.app import build_app
from syncaudit.errors import UsageError
from syncaudit.evaluation.comparison import compare_runs
from syncaudit.evaluation.judged import Judged, JudgedSource
from syncaudit.model import Verdict
from syncaudit.readers.clip_list import read_clip_ids


def clip(
    clip_id: str,
    verdict: str = "pass",
    *,
    offset_s: float | None = 0.001,
    std_s: float | None = 0.0005,
    reasons: tuple[tuple[str, str | None], ...] = (),
    reference: str | None = "imu",
) -> Judged:
    sources = {
        "cam": JudgedSource(
            verdict=Verdict(verdict), clock="cam", offset_s=offset_s, offset_std_s=std_s
        ),
        "imu": JudgedSource(verdict=Verdict.PASS, clock="imu", offset_s=0.0, offset_std_s=0.0),
    }
    return Judged(
        clip_id=clip_id,
        verdict=Verdict(verdict),
        reference=reference,
        at_ns=0,
        sources=sources,
        blamed=frozenset(),
        reasons=frozenset(reasons),
    )


def test_the_same_run_has_not_changed() -> None:
    run = [clip("a"), clip("b", "reject", reasons=(("offset", "cam"),))]
    found = compare_runs(run, run)
    assert found.is_same
    assert found.n_compared == 2
    assert found.sources.keys() == {"cam"}  # the reference determines nothing about itself
    assert not found.sources["cam"].has_moved


def test_changes_of_verdict_and_reason_are_told_and_counted() -> None:
    old = [clip("a"), clip("b"), clip("c", "reject", reasons=(("offset", "cam"),))]
    new = [
        clip("c", "unverified", reasons=(("unobservable", "cam"),)),
        clip("b"),
        clip("a", "reject", reasons=(("offset", "cam"), ("gap", "cam"))),
    ]
    found = compare_runs(old, new)
    assert [change.clip_id for change in found.changes] == ["a", "c"]
    assert found.transitions[Verdict.PASS, Verdict.REJECT] == 1
    assert found.transitions[Verdict.PASS, Verdict.PASS] == 1
    assert found.new == {("offset", "cam"): 1, ("gap", "cam"): 1, ("unobservable", "cam"): 1}
    assert found.gone == {("offset", "cam"): 1}
    assert not found.is_same


def test_reasons_are_listed_in_the_same_order_every_time() -> None:
    """The order of sets depends on the hash seed of the process."""
    reasons = tuple(("unobservable", f"cam{number}") for number in range(9))
    found = compare_runs([clip("a")], [clip("a", reasons=reasons)])
    assert tuple(found.new) == reasons


@pytest.mark.parametrize(("after_s", "is_beyond"), [(0.0023, False), (0.0025, True)])
def test_an_offset_has_moved_where_both_errors_do_not_explain_it(
    after_s: float, is_beyond: bool
) -> None:
    """1.96 * hypot(0.5, 0.5) ms are 1.386 ms."""
    found = compare_runs([clip("a", offset_s=0.001)], [clip("a", offset_s=after_s)])
    assert found.sources["cam"].n_beyond == int(is_beyond)
    assert bool(found.changes) is is_beyond
    assert found.sources["cam"].median_s == pytest.approx(after_s - 0.001)


def test_smaller_errors_are_told_though_no_offset_moves() -> None:
    found = compare_runs([clip("a", std_s=0.001)], [clip("a", std_s=0.0005)])
    assert found.is_same
    assert found.sources["cam"].std_ratio == pytest.approx(0.5)
    assert found.sources["cam"].has_moved


def test_offsets_from_another_reference_are_not_compared() -> None:
    found = compare_runs([clip("a")], [clip("a", offset_s=0.5, reference="can")])
    assert found.n_other_reference == 1
    assert not found.sources
    assert found.is_same


def test_what_is_not_measured_in_both_is_not_compared() -> None:
    found = compare_runs([clip("a", offset_s=None, std_s=None)], [clip("a")])
    assert not found.sources


def test_lost_clips_are_a_change_and_new_ones_are_not() -> None:
    lost = compare_runs([clip("a"), clip("b")], [clip("a")])
    assert lost.only_old == ("b",)
    assert not lost.is_same
    grown = compare_runs([clip("a")], [clip("a"), clip("b")])
    assert grown.only_new == ("b",)
    assert grown.is_same


def test_only_the_listed_clips_count() -> None:
    old, new = [clip("a"), clip("b")], [clip("a"), clip("b", "reject")]
    assert compare_runs(old, new, only={"a"}).is_same
    assert not compare_runs(old, new, only={"b"}).is_same


def test_lists_of_clips_are_manifests_or_plain_lines(tmp_path: Path) -> None:
    path = tmp_path / "golden"
    path.write_text('# kept by hand\na/1\n\n{"clip_id": "b", "sources": {}}\n')
    assert read_clip_ids(str(path)) == {"a/1", "b"}
    for text, words in (("# nothing\n", "lists no clip"), ('{"clip": 1}\n', "line 1 is not")):
        path.write_text(text)
        with pytest.raises(UsageError, match=words):
            read_clip_ids(str(path))


class TestCommand:
    @pytest.fixture
    def runs(self, tmp_path: Path) -> list[str]:
        places = []
        for name, moved_s in (("old", 0.0), ("new", 0.02)):
            place = tmp_path / name
            place.mkdir()
            source = {"verdict": "pass", "clock": "cam", "observable": True}
            late = {"code": "offset", "source": "cam", "message": "late"}
            rows = [
                {
                    "clip_id": clip_id,
                    "verdict": "reject" if moved_s and clip_id == "b" else "pass",
                    "reference": "imu",
                    "at_ns": 0,
                    "reasons": [late] if moved_s and clip_id == "b" else [],
                    "sources": {
                        "cam": source
                        | {"offset_s": moved_s * (clip_id == "b"), "offset_std_s": 0.001}
                    },
                }
                for clip_id in "ab"
            ]
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            (place / "verdicts.jsonl").write_text(text)
            places.append(str(place))
        return places

    def run(self, *words: str) -> tuple[int, str]:
        result = CliRunner().invoke(build_app(), ["diff", *words, "--partial"])
        return result.exit_code, result.output

    def test_code_and_words(self, runs: list[str]) -> None:
        code, said = self.run(*runs)
        assert code == 1
        assert "1 clip: ✓ pass → ✕ reject" in said
        assert "new reasons: offset of cam (1)" in said
        assert "b: new offset of cam; cam 0.0 ms → +20.0 ms" in said
        assert "reasons gone: offset of cam (1)" in self.run(*runs[::-1])[1]
        assert self.run(runs[0], runs[0])[0] == 0

    def test_json_has_every_change(self, runs: list[str]) -> None:
        _, said = self.run(*runs, "--json")
        (change,) = json.loads(said)["changes"]
        assert change["clip_id"] == "b"
        assert change["moved"]["cam"]["after_s"] == 0.02

    def test_golden_clips_alone_decide_and_may_not_be_missing(
        self, runs: list[str], tmp_path: Path
    ) -> None:
        golden = tmp_path / "golden.txt"
        golden.write_text("a\n")
        assert self.run(*runs, "--golden", str(golden))[0] == 0
        golden.write_text("a\nz\n")
        code, said = self.run(*runs, "--golden", str(golden))
        assert code == 2
        assert "1 of 2 golden clips are not in the earlier run: z." in said
