from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncaudit.errors import UsageError
from syncaudit.model import Interval, Tier
from syncaudit.speech.tiers.parsing import TIER_FORMATS
from syncaudit.speech.tiers.writing import TIER_WRITERS

# Written with six decimals.
STEP_S = 1e-6

labels = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1)
lengths = st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 10**7), labels), max_size=8)


def tier(name: str, steps: list[tuple[int, int, str]]) -> Tier:
    """Return intervals from (gap, length, label), both in microseconds."""
    found, at = [], 0
    for gap, length, label in steps:
        start, at = at + gap, at + gap + length
        found.append(Interval(start_s=start * STEP_S, stop_s=at * STEP_S, label=label))
    return Tier(name=name, intervals=tuple(found))


def rows(found: Tier) -> list[tuple[float, float, str]]:
    return [
        (round(one.start_s, 6), round(one.stop_s, 6), one.label)
        for one in found.intervals
        if one.label
    ]


@pytest.mark.parametrize("suffix", sorted(TIER_WRITERS))
@given(words=lengths, phones=lengths)
def test_what_is_written_is_read_back(
    suffix: str, words: list[tuple[int, int, str]], phones: list[tuple[int, int, str]]
) -> None:
    tiers = [tier("words", words), tier("phones", phones)]
    text = TIER_WRITERS[suffix](tiers, duration_s=200.0, name="a")
    parsed = TIER_FORMATS[suffix]("a", text).tiers
    found = {one.name.rpartition(" ")[2]: rows(one) for one in parsed}
    expected = {one.name: rows(one) for one in tiers}
    if suffix == ".ctm":  # without labels a CTM has no tier
        expected = {name: content for name, content in expected.items() if content}
        if len(expected) == 1:
            expected = {"words": next(iter(expected.values()))}
    assert found == expected


def test_textgrid_equals_praatio(tmp_path: Path) -> None:
    from praatio import textgrid

    tiers = [
        tier("words", [(10, 500000, 'say "hi"'), (0, 250000, "ʃip")]),
        tier("phones", [(10, 70000, "ɪ")]),
    ]
    path = tmp_path / "a.TextGrid"
    text = TIER_WRITERS[".textgrid"](tiers, duration_s=2.0, name="a")
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle = textgrid.openTextgrid(str(path), includeEmptyIntervals=True)
    assert oracle.maxTimestamp == 2.0
    words = [tuple(entry) for entry in oracle.getTier("words").entries]
    assert words == [
        (0, 1e-05, ""),
        (1e-05, 0.50001, 'say "hi"'),
        (0.50001, 0.75001, "ʃip"),
        (0.75001, 2.0, ""),
    ]
    assert [entry[2] for entry in oracle.getTier("phones").entries] == ["", "ɪ", ""]


def test_overlaps_are_no_textgrid() -> None:
    bad = Tier(
        name="phones",
        intervals=(
            Interval(start_s=0.0, stop_s=1.0, label="a"),
            Interval(start_s=0.5, stop_s=1.5, label="b"),
        ),
    )
    with pytest.raises(UsageError, match=r"cannot hold 'b' at 0\.5 to 1\.5 s in tier 'phones'"):
        TIER_WRITERS[".textgrid"]([bad], duration_s=2.0, name="a")
    assert rows(
        TIER_FORMATS[".json"]("a", TIER_WRITERS[".json"]([bad], duration_s=2, name="a")).tiers[0]
    ) == [(0.0, 1.0, "a"), (0.5, 1.5, "b")]


def test_blanks_are_no_ctm() -> None:
    with pytest.raises(UsageError, match=r"CTM cannot hold 'a b': it contains spaces"):
        TIER_WRITERS[".ctm"]([tier("words", [(0, 1, "a b")])], duration_s=1.0, name="x")
