"""The page: it renders anything from zero to thousands of clips, and trusts no name."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from syncaudit.model import ClipVerdict, ClockEstimate, Verdict
from syncaudit.report.clip_card import Point, content_words, forest_plot, stamp_words
from syncaudit.report.html import CARDS
from testkit import fake_audits
from testkit.fake_audits import make_clip
from testkit.made_rows import row, table_of, write

VOID = {"meta", "input", "link", "br", "img"}


class Balance(HTMLParser):
    """Fail on tags that are not closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def render(tmp_path, rows, **more):
    page = write(tmp_path / "report.html", rows, **more)
    balance = Balance()
    balance.feed(page)
    assert balance.open == []
    return page, balance.tags


def test_no_clips_render(tmp_path):
    page, _ = render(tmp_path, [])
    assert "No clip has been audited" in page


def test_one_clip_shows_stamps_beside_content(tmp_path):
    page, _ = render(tmp_path, [row("a", Verdict.REJECT)])
    assert "238 samples at 12 Hz" in page
    assert "35.1 ± 0.6 ms early" in page
    assert "no event seen" in page
    assert "the stamps are early or late by more than the tolerance" in page
    assert "<svg" in page


def test_nothing_is_loaded_from_elsewhere(tmp_path):
    page, tags = render(tmp_path, [row("a", Verdict.REJECT)])
    assert not re.search(r"https?://|@import|url\(", page)
    targets = [a[key] for _, a in tags for key in ("src", "href", "action") if key in a]
    assert all(target.startswith(("#", "data:")) for target in targets)


def test_two_thousand_clips_stay_small(tmp_path):
    kinds = list(Verdict)
    rows = [row(f"clip{i}", kinds[i % 3]) for i in range(2000)]
    page, tags = render(tmp_path, rows)
    assert len(page) < 3e6
    cards = [attrs for tag, attrs in tags if tag == "template"]
    assert len(cards) == sum(CARDS.values())
    assert len(table_of(page)["ids"]) == 2000


def test_hostile_names_are_escaped(tmp_path):
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    data = row(evil, Verdict.REJECT)
    data["sources"][evil] = data["sources"].pop("cam_rear")
    data["reasons"][0]["message"] = evil
    data["pairs"][0]["method"] = evil
    data["pairs"][1]["why"] = evil
    data["pairs"][0]["diagnostics"] = {evil: 1.0}
    data["recording_id"] = evil + "\udcff"
    policy = {"name": "</script>" + evil}
    _, tags = render(tmp_path, [data], manifest=evil, policy=policy, stopped=evil)
    assert [attrs.get("type") for tag, attrs in tags if tag == "script"] == [
        "application/json",
        None,
    ]
    assert not any(tag == "img" for tag, _ in tags)
    assert not any("onerror" in attrs for _, attrs in tags)


def test_worst_clips_say_how_to_open_them(tmp_path):
    page, _ = render(tmp_path, [row("it's a", Verdict.REJECT), row("b")], manifest="a set.jsonl")
    shown = unescape(page)
    command = """'a set.jsonl' --clip 'it'"'"'s a'"""
    assert f"syncaudit view {command}" in shown
    assert f"syncaudit inspect {command} --mcap found.mcap" in shown
    assert "'a set.jsonl' --clip b" not in shown  # nothing is wrong with it
    assert "syncaudit view" not in render(tmp_path, [row("a", Verdict.REJECT)], manifest=None)[0]


def test_a_stopped_run_says_so(tmp_path):
    page, _ = render(tmp_path, [row("a")], stopped="interrupted")
    assert "Run it again to resume" in page


@pytest.mark.parametrize("offset_s", [0.0, 1e-9, 0.0004, -0.0351, 3.0, 1e6])
def test_plots_hold_any_offset(offset_s):
    points = [
        Point(label="a", offset_s=offset_s, std_s=0.0, verdict="pass", tolerance_s=0.01),
        Point(label="b" * 99, offset_s=-offset_s, std_s=1.0, verdict="reject"),
    ]
    figure = forest_plot(points, label="x")
    assert "nan" not in figure
    for x in re.findall(r'(?:x1|x2|cx)="([-\d.]+)"', figure):
        assert -1.0 <= float(x) <= 601.0


def test_stamps_are_worded():
    timing = fake_audits.verdict_for(make_clip("a"), Verdict.PASS).sources["cam_rear"].timing
    regular = replace(timing, steps=())
    assert stamp_words(regular) == "238 samples at 12 Hz, regular"
    loop = replace(regular, is_irregular=True)
    assert stamp_words(loop) == "238 samples at 12 Hz, no regular clock"
    odd = replace(regular, gaps=1, missing=3, is_synthetic=True, jitter_s=0.02)
    assert stamp_words(odd) == (
        "238 samples at 12 Hz, 1 gap, 3 missing samples, jitter 20 ms, made up from index and rate"
    )
    assert stamp_words(None) == "not examined"
    assert stamp_words(replace(regular, samples=0)) == "no samples"


def test_content_is_worded():
    clip = ClipVerdict.from_row(row("a"))
    camera = clip.sources["cam_rear"]
    assert content_words(camera, "imu") == "0.4 ± 0.6 ms early"
    assert "ppm" in content_words(replace(camera, drift_ppm=20.0, drift_std_ppm=3.0), "imu")
    dark = replace(camera, is_observable=False)
    unknown = replace(dark, verdict=Verdict.UNVERIFIED)
    assert content_words(unknown, "imu") == "nothing to measure it by"
    refused = replace(unknown, why_unmeasured="its rotation could not be matched")
    assert content_words(refused, "imu") == "its rotation could not be matched"
    assert content_words(dark, "imu") == "agrees with its baseline"
    assert content_words(replace(dark, kind="transcript"), "imu") == "fits its audio"
    pooled = ClockEstimate(
        clock="cam_rear", is_observable=True, offset_s=0.0123, offset_std_s=0.0001
    )
    words = content_words(replace(dark, recording=pooled), "imu")
    assert words == "12.30 ± 0.10 ms early, by recording"
    assert content_words(clip.sources["imu"], "imu") == "reference clock"
