"""The sections of the page: causes, sources, budgets, courses, worst clips, times."""

import re

import pytest

from syncaudit.formatting import signed_ms, word_ms, word_share, word_span
from syncaudit.model import ClipVerdict, Verdict
from syncaudit.report.causes import MAX_SHOWN, Causes, WorstClips
from syncaudit.report.clip_table import MAX_LISTED, ClipTable, farthest_offset
from syncaudit.report.courses import Courses
from syncaudit.report.overview import MAX_SOURCES, Overview
from syncaudit.report.reasons import CURES, REASONS
from syncaudit.report.source_view import histogram
from testkit.fake_audits import AT_NS
from testkit.made_rows import TOLERANCES_S, drifting, measured, recording, row, summary_of


def farthest(data):
    return farthest_offset(ClipVerdict.from_row(data), "cam_rear")


def overview_of(rows, **more):
    overview = Overview(summary_of(len(rows), **more))
    for data in rows:
        overview.add(ClipVerdict.from_row(data))
    return overview.to_view()


def source_of(view, name="cam_rear"):
    return next(source for source in view["sources"] if source["name"] == name)


def budget_of(view, name="cam_rear"):
    return next(line for line in view["budget"] if line["name"] == name)


def test_every_reason_has_words_and_a_cure():
    assert REASONS.keys() == CURES.keys()


def test_a_constant_offset_is_told_from_one_that_varies():
    same = overview_of([measured(f"c{k}", Verdict.REJECT, offset_s=0.133) for k in range(5)])
    cause = same["causes"][0]
    assert cause["beside"] == "Stamps say 0.0 ms, pixels say +133.0 ms."
    assert "same in all of these clips" in cause["cure"]
    offsets = [0.02, -0.05, 0.08, -0.133, 0.06]
    mixed = overview_of([row(f"c{k}", Verdict.REJECT, offset_s=s) for k, s in enumerate(offsets)])
    assert mixed["causes"][0]["beside"] == "Stamps say 0.0 ms, pixels say up to −133.0 ms."
    assert "Stamp at capture" in mixed["causes"][0]["cure"]


def test_an_offset_that_moves_by_more_than_its_limit_is_not_constant():
    rows = [row(f"c{k}", Verdict.REJECT, offset_s=0.133 + 0.01 * k) for k in range(5)]
    assert not overview_of(rows)["causes"][0]["is_constant"]


def test_lost_data_is_counted_by_reason():
    rows = [measured("a", Verdict.REJECT, span_s=1800.0), measured("b", Verdict.REJECT)]
    rows[1]["reasons"].append(
        {"code": "gap", "message": "", "source": "imu", "value": 1.0, "limit": 0.1}
    )
    causes = Causes()
    for data in rows:
        causes.add(ClipVerdict.from_row(data))
    offset, gap = causes.to_view()
    assert (offset["code"], offset["clips"], offset["alone"]) == ("offset", 2, 1)
    assert offset["lost"] == "30 min"
    assert (gap["code"], gap["source"], gap["alone"], gap["lost"]) == ("gap", "imu", 0, "20 s")


def test_causes_without_end_are_counted_without_their_source():
    causes = Causes()
    for k in range(1000):
        data = row(f"c{k}", Verdict.REJECT)
        data["reasons"][0]["source"] = f"cam{k}"
        causes.add(ClipVerdict.from_row(data))
    view = causes.to_view()
    assert len(view) <= 402
    assert sum(cause["clips"] for cause in view) == 1000


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ([], "No clip has been audited."),
        ([Verdict.PASS], "The clip is shown to share one time."),
        ([Verdict.UNVERIFIED], "The clip could not be verified: it holds too little evidence."),
        ([Verdict.PASS] * 3, "All 3 clips are shown to share one time."),
        (
            [Verdict.UNVERIFIED] * 2,
            "None of the 2 clips could be verified: they hold too little evidence.",
        ),
        (
            [Verdict.PASS, Verdict.REJECT, Verdict.REJECT],
            "1 of 3 clips is shown to share one time; 2 are rejected.",
        ),
    ],
)
def test_the_first_sentence_says_all(verdicts, words):
    assert overview_of([row(f"c{k}", v) for k, v in enumerate(verdicts)])["lead"] == words


def test_stamps_stand_beside_content():
    rows = [row(f"c{k}", Verdict.REJECT, offset_s=0.133) for k in range(4)]
    rows[0]["sources"]["cam_rear"]["timing"]["is_synthetic"] = True
    rows[1]["sources"]["cam_rear"]["timing"] |= {"gaps": 2, "missing": 1500}
    source = source_of(overview_of(rows))
    assert (source["claim"], source["shown"], source["witness"]) == (
        "0.0 ms",
        "+133.0 ms",
        "pixels",
    )
    assert source["is_outside"]
    words = "; ".join(source["stamps"] + source["content"])
    assert "2 gaps, 1,500 missing samples" in words
    assert "made up from index and rate in 1 clip" in words
    assert "clock jumps in 4 clips" in words
    assert "4 of 4 beyond ±10 ms" in words


def test_a_reference_has_no_offset_of_its_own():
    source = source_of(overview_of([row("a")]), "imu")
    assert source["shown"] is None
    assert source["plot"] is None
    assert source["content"] == ["reference clock of 1 clip"]


def test_histogram_counts_every_clip():
    rows = [row(f"p{k}") for k in range(30)]
    rows += [row(f"r{k}", Verdict.REJECT, offset_s=5.0) for k in range(3)]
    plot = source_of(overview_of(rows))["plot"]
    counts = re.findall(r": (\d+) (pass|reject)</title>", plot)
    assert counts == [("30", "pass"), ("3", "reject")]


@pytest.mark.parametrize("tolerance_s", [None, 0.01])
@pytest.mark.parametrize("offset_s", [0.0, 1e-9, -0.03, 1e9])
def test_histograms_hold_any_offset(offset_s, tolerance_s):
    view = overview_of([row("a", Verdict.REJECT, offset_s=offset_s)])
    assert view["sources"][0]["plot"]
    tally = {"reject": _distribution(offset_s)}
    figure = histogram(tally, tolerance_s, label="x")
    assert "nan" not in figure
    for x in re.findall(r' x="([-\d.]+)"', figure):
        assert 0.0 <= float(x) <= 480.0


def _distribution(value):
    from syncaudit.report.distribution import Distribution

    found = Distribution()
    found.add(value)
    return found


def test_the_budget_names_the_largest_part():
    rows = [row(f"c{k}", Verdict.REJECT, offset_s=0.02) for k in range(3)]
    for data in rows:
        data["sources"]["cam_rear"]["timing"] |= {"buffering_s": 0.004, "missing": 119}
    line = budget_of(overview_of(rows))
    assert {name: part["words"] for name, part in line["parts"].items()} == {
        "constant": "20.0 ms",
        "varying": "none",
        "buffering": "4.00 ms",
        "jitter": "1.10 ms",
    }
    assert [name for name, part in line["parts"].items() if part["is_largest"]] == ["constant"]
    assert line["parts"]["constant"]["ratio"] == "2.0 × the tolerance"
    assert line["parts"]["buffering"]["percent"] == pytest.approx(40.0, abs=0.1)
    assert line["lost"] == "33 %"
    assert line["drift"] is None


def test_the_budget_takes_drift_from_recordings():
    step = {"after_ns": AT_NS, "before_ns": AT_NS + 1, "step_s": -0.03, "step_std_s": 1e-4}
    view = overview_of(drifting(5), recordings=[recording(steps=[step])])
    drift = budget_of(view)["drift"]
    assert drift["words"] == "180 ms/h"
    assert drift["lasts"] == "3 min"  # 10 ms at 180 ms/h
    assert drift["where"] == "in 1 recording"
    assert budget_of(view)["steps"] == "1, up to 30.0 ms"


def test_sources_without_end_are_counted():
    rows = []
    for k in range(MAX_SOURCES + 7):
        data = row(f"c{k}")
        data["sources"] = {f"cam{k}": data["sources"]["cam_rear"]}
        rows.append(data)
    view = overview_of(rows)
    assert len(view["sources"]) == MAX_SOURCES
    assert view["n_unshown"] == 7


def test_courses_draw_clips_steps_and_the_recording():
    step = {"after_ns": AT_NS, "before_ns": AT_NS + 10**10, "step_s": -0.03, "step_std_s": 1e-4}
    courses = Courses([recording(steps=[step])], TOLERANCES_S)
    for data in drifting(5):
        courses.add(ClipVerdict.from_row(data))
    view = courses.to_view()
    plot = view["drawn"][0]["plot"]
    assert plot.count("<circle") == 5
    assert plot.count('class="pooled"') == 1
    assert "the clock jumps by −30.0 ms" in plot
    assert [line[1] for line in view["lines"]] == ["cam_rear"]
    assert view["lines"][0][5] == ["50.0 ± 1.0 ppm (180 ms/h)", 180.0]


def test_long_courses_are_thinned_but_keep_the_farthest():
    rows = drifting(5000, drift_s=0.0)
    rows[3333]["sources"]["cam_rear"]["offset_s"] = 0.9
    courses = Courses([recording(clips=5000)], TOLERANCES_S)
    for data in rows:
        courses.add(ClipVerdict.from_row(data))
    plot = courses.to_view()["drawn"][0]["plot"]
    assert 90 < plot.count("<circle") <= 201
    assert "900.0 ± 0.6 ms early" in plot


def test_a_recording_that_nothing_measured_has_no_drawing():
    courses = Courses([recording()], TOLERANCES_S)
    assert courses.to_view()["drawn"][0]["plot"] is None


def test_worst_clips_show_every_cause_before_they_repeat_one():
    worst = WorstClips()
    for k in range(50):
        worst.add(ClipVerdict.from_row(row(f"late{k}", Verdict.REJECT, offset_s=0.02 + 0.001 * k)))
    damaged = row("damaged", Verdict.REJECT)
    damaged["reasons"][0] |= {"code": "corrupt", "value": None, "limit": None}
    worst.add(ClipVerdict.from_row(damaged))
    worst.add(ClipVerdict.from_row(row("fine")))
    worst.add(ClipVerdict.from_row(row("silent", Verdict.UNVERIFIED)))
    assert [clip.clip_id for clip in worst.clips()] == ["late49", "damaged", "late48", "late47"]


def test_worst_clips_are_few():
    worst = WorstClips()
    for k in range(900):
        data = row(f"c{k}", Verdict.REJECT)
        data["reasons"][0]["source"] = f"cam{k}"
        worst.add(ClipVerdict.from_row(data))
    assert len(worst.clips()) == MAX_SHOWN


def test_the_table_leaves_out_and_says_so(monkeypatch):
    monkeypatch.setitem(MAX_LISTED, Verdict.PASS, 3)
    table = ClipTable(TOLERANCES_S)
    for k in range(5):
        table.add(ClipVerdict.from_row(row(f"good{k}")), None)
    table.add(ClipVerdict.from_row(row("bad", Verdict.REJECT)), "card-0")
    view = table.to_view()
    assert view["left_out"] == {"pass": 2}
    columns = view["columns"]
    assert columns["ids"] == ["good0", "good1", "good2", "bad"]
    assert columns["verdicts"] == "pppr"
    assert columns["cards"] == {3: "card-0"}
    assert (columns["codes"], columns["why"][3]) == (["offset"], (0, 0))
    assert columns["sources"][columns["worst_of"][3]] == "cam_rear"
    assert columns["worst_us"][3] == 35_100


def test_the_farthest_offset_lies_anywhere_in_the_clip():
    data = measured("drifts", Verdict.REJECT, span_s=20.0)
    source = data["sources"]["cam_rear"]
    source |= {"offset_s": -0.001, "drift_ppm": 2000.0}
    assert farthest(data) == pytest.approx(-0.021, abs=1e-12)
    source |= {"offset_s": 0.0, "drift_ppm": None}
    step = {
        "source": "cam_rear",
        "target": "imu",
        "method": "rotation",
        "offset_s": 0.0,
        "offset_std_s": 0.001,
        "accepted": True,
        "step_s": 0.06,
        "step_at_ns": data["at_ns"] + 1,
    }
    data["pairs"] = [step]
    assert farthest(data) == 0.0  # no reason attributes it to this clock
    data["reasons"] = [{"code": "step", "source": "cam_rear", "message": "a step"}]
    assert farthest(data) == pytest.approx(0.06, abs=1e-12)
    step["step_at_ns"] = data["at_ns"] - 1
    assert farthest(data) == pytest.approx(-0.06, abs=1e-12)
    data["pairs"] = [step | {"source": "imu", "target": "cam_rear"}]
    assert farthest(data) == pytest.approx(0.06, abs=1e-12)
    source["offset_s"] = None
    assert farthest(data) is None


def test_times_by_stage_are_shares_of_all():
    spent = {"solve": 1.0, "read": 3.0, "custom": 4.0}
    view = overview_of([row("a"), row("b")], stages_s=spent, wall_s=4.0, workers=2)
    stages = view["stages"]
    assert [line["name"] for line in stages["rows"]] == ["read", "solve", "custom"]
    assert [line["share"] for line in stages["rows"]] == ["38 %", "12 %", "50 %"]
    assert (stages["total"], stages["each"], stages["pace"]) == ("8 s", "4 s", "1,800")


def test_figures_read_well():
    assert [signed_ms(s) for s in (0.0, -1e-6, 0.133, -0.0351, -2.5)] == [
        "0.0 ms",
        "0.0 ms",
        "+133.0 ms",
        "−35.1 ms",
        "−2,500 ms",
    ]
    assert [word_ms(s) for s in (0.0, 1e-7, 0.00042, 0.0351, 1.5)] == [
        "0.00 ms",
        "< 0.01 ms",
        "0.42 ms",
        "35.1 ms",
        "1,500 ms",
    ]
    assert [word_share(n, 100_000) for n in (0, 1, 9_940, 50_000, 99_999, 100_000)] == [
        "0 %",
        "< 0.1 %",
        "9.9 %",
        "50 %",
        "> 99.9 %",
        "100 %",
    ]
    assert [word_span(s) for s in (20, 600, 9000, 1e6)] == ["20 s", "10 min", "2.5 h", "278 h"]


def test_counters_are_even_rather_than_irregular():
    rows = [row("a"), row("b")]
    for data in rows:
        data["sources"]["cam_rear"]["timing"] |= {"is_synthetic": True, "steps": []}
    lines = source_of(overview_of(rows))["stamps"]
    assert lines[:2] == ["perfectly even at 12 Hz", "made up from index and rate in 2 clips"]
    rows[1]["sources"]["cam_rear"]["timing"]["is_synthetic"] = False
    assert source_of(overview_of(rows))["stamps"][0] == "regular at 12 Hz in 1 of 2 clips"


def test_sources_that_their_baseline_vouches_for_are_not_called_unmeasured():
    rows = [row("a"), row("b", Verdict.UNVERIFIED)]
    rows[0]["sources"]["cam_rear"] |= {"observable": False, "offset_s": None}
    lines = source_of(overview_of(rows))["content"]
    assert lines == ["agrees with its baseline in 1 clip", "nothing to measure it by in 1 clip"]
