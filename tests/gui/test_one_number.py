"""One figure of one source: the same number, sign and error on every screen and page."""

from __future__ import annotations

import json
import re
from io import StringIO
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from syncaudit_gui.viewmodel.judgement import Judgement
from syncaudit_gui.viewmodel.wording import word_offset as word_in_table

from syncaudit.cli.clip_view import print_examination
from syncaudit.cli.verdict_table import verdict_table
from syncaudit.formatting import PLUS_MINUS, word_measure
from syncaudit.model import CameraSpec, Clip, ClipRecord, ClipVerdict, ImuSpec, PairMeasurement
from syncaudit.pipeline.conclude import conclude
from syncaudit.policy import load_policy
from syncaudit.report.causes import Causes
from syncaudit.report.clip_card import clip_card
from syncaudit.report.source_tally import SourceTally
from syncaudit.report.source_view import source_view

START_NS = 1_767_225_600_000_000_000
AT_NS = START_NS + 10 * 10**9
# Corrections to add: the first is stamped too early, the second too late.
OFFSETS_S = {"rear": 0.0351, "left": -0.0072, "front": 0.0}
STD_S = 6e-4
WORDS = {"rear": "35.1 ± 0.6 ms early", "left": "7.2 ± 0.6 ms late"}


@pytest.fixture(scope="module")
def told():
    clip = Clip(
        clip_id="x",
        recording_id="x",
        start_ns=START_NS,
        end_ns=START_NS + 20 * 10**9,
        reference="imu",
        sources={
            **{name: CameraSpec(uri=f"{name}.mp4") for name in OFFSETS_S},
            "imu": ImuSpec(uri="imu.csv"),
        },
    )
    pairs = tuple(
        PairMeasurement(
            source=name,
            target="imu",
            method="rotation",
            at_ns=AT_NS,
            offset_s=offset_s,
            offset_std_s=STD_S,
            accepted=True,
        )
        for name, offset_s in OFFSETS_S.items()
    )
    record = ClipRecord(at_ns=AT_NS, span_s=20.0, max_offset_s=2.0, measurements=pairs)
    solution, verdict = conclude(clip, record, load_policy())
    row = json.loads(json.dumps(verdict.to_json()))
    verdict = ClipVerdict.from_row(row)
    return SimpleNamespace(clip=clip, solution=solution, verdict=verdict, row=row)


def printed(show) -> str:
    out = StringIO()
    show(Console(file=out, width=200))
    return out.getvalue()


def test_tables_of_the_terminal(told):
    table = printed(lambda console: console.print(verdict_table([told.verdict])))
    assert f"stamps {WORDS['rear']}; limit 10 ms" in table
    assert f"stamps {WORDS['left']}" in table
    examination = SimpleNamespace(
        verdict=told.verdict,
        streams={},
        stamps={},
        measurements=told.verdict.pairs,
        solution=told.solution,
    )
    inspected = printed(lambda console: print_examination(console, examination))
    for words in WORDS.values():
        assert inspected.count(words) >= 2  # of the measurement and of the clock
    assert inspected.count(PLUS_MINUS) == 1


def test_sentences(told):
    (reason,) = told.row["reasons"]
    assert reason["message"] == f"rear is {WORDS['rear']}; limit 10 ms"
    assert reason["value"] == pytest.approx(OFFSETS_S["rear"])


def test_page(told):
    card = clip_card(told.verdict, dict.fromkeys(OFFSETS_S, 0.01))
    content = {source["name"]: source["content"] for source in card["sources"]}
    offsets = {pair["name"].split(" ")[0]: pair["offset"] for pair in card["accepted"]}
    for name, words in WORDS.items():
        assert content[name] == offsets[name] == words
        for plot in (card["plot"], card["evidence"]):
            assert f">{words}<" in plot
    causes = Causes()
    causes.add(told.verdict)
    assert any("early" in str(cause["size"]) for cause in causes.to_view())


@pytest.mark.parametrize("name", ["rear", "left"])
def test_plots_draw_what_words_say(told, name):
    """A bar is as long as the value after ±, and early is to the right of zero."""
    plot = clip_card(told.verdict, dict.fromkeys(OFFSETS_S, 0.01))["plot"]
    marks = {
        found[1]: tuple(float(found[k]) for k in (2, 3, 4))
        for found in re.finditer(
            r"<title>(\w+): [^<]*</title><line x1=\"([\d.]+)\"[^>]* x2=\"([\d.]+)\"[^>]*/>"
            r"<circle cx=\"([\d.]+)\"",
            plot,
        )
    }
    zero_px = marks["front"][2]
    per_s = (marks["rear"][2] - zero_px) / OFFSETS_S["rear"]
    left, right, middle = marks[name]
    assert per_s > 0.0
    assert middle - zero_px == pytest.approx(OFFSETS_S[name] * per_s, abs=0.2)
    assert right - left == pytest.approx(2.0 * STD_S * per_s, abs=0.25)


def test_sources_of_many_clips(told):
    for name, side in (("rear", "early"), ("left", "late")):
        tally = SourceTally(name=name, kind="camera", tolerance_s=0.01)
        for _ in range(3):
            tally.add(told.verdict, told.verdict.sources[name])
        lines = str(source_view(tally))
        assert side in lines
        assert {"early": "late", "late": "early"}[side] not in lines


def test_viewer(told):
    for judgement in (
        Judgement.of_verdict(told.verdict, told.solution),
        Judgement.of_row(told.row, told.clip),
    ):
        rear, left = judgement.sources["rear"], judgement.sources["left"]
        assert word_in_table(rear.offset_s, rear.offset_std_s) == "+35.1 ± 0.6"
        assert word_in_table(left.offset_s, left.offset_std_s) == "−7.2 ± 0.6"


@given(st.floats(1e-3, 0.9), st.floats(1e-5, 0.9), st.sampled_from([-1.0, 1.0]))
def test_tables_of_the_viewer_have_the_digits_of_sentences(offset_s, std_s, sign):
    words = word_measure(offset_s, std_s)
    assert words.endswith(" ms")
    figure = word_in_table(sign * offset_s, std_s)
    assert figure[1:] == words.removesuffix(" ms")
    is_zero = float(figure[1:].split(" ")[0]) == 0.0
    assert figure[0] == (" " if is_zero else "+" if sign > 0.0 else "−")
