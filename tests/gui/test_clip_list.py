"""Long lists of clips stay usable while they are loaded and sorted."""

from __future__ import annotations

import json
import threading

import pytest
from pyqtgraph.Qt import QtCore
from syncaudit_gui.viewmodel.batch import (
    BatchList,
    ClipRow,
    Show,
    SortBy,
    read_verdict_rows,
    summarise,
)
from syncaudit_gui.viewmodel.collection import open_collection
from syncaudit_gui.viewmodel.session import Session
from syncaudit_gui.widgets import clips_panel
from syncaudit_gui.window.opening_controller import MOST_THREADS, Loader

from syncaudit.errors import UsageError
from syncaudit.readers import read_source
from testkit.data_sets.lerobot_data import write_lerobot_v2
from testkit.viewer_keys import WAIT_MS, key


def rows(n: int) -> list[ClipRow]:
    verdicts = ("pass", "reject", "unverified")
    return [
        ClipRow(clip_id=f"c{k * 7919 % n:06d}", verdict=verdicts[k % 3], headline=f"why{k}")
        for k in range(n)
    ]


def test_page_keys_pressed_quickly_go_on_from_the_clip_being_read(qtbot, window):
    with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
        key(window, "PgDown")
        key(window, "PgDown")
    assert window.session.clip_id == "third"
    key(window, "PgDown")
    assert window.session.clip_id == "third"
    assert window.panels.transport.message.text() == "this is the last clip listed"


def test_nothing_listed_is_said(window):
    window.panels.clips.filter.setText("no such clip")
    assert window.panels.clips.empty.isVisible()
    assert window.panels.clips.count.text() == "0 of 3"
    key(window, "PgDown")
    assert window.panels.transport.message.text() == "no clip is listed"
    window.panels.clips.filter.clear()
    assert window.panels.clips.view.isVisible()


def test_order_stands_in_the_head_of_the_list(window):
    horizontal = QtCore.Qt.Orientation.Horizontal

    def title() -> object:
        return window.panels.clips.table.headerData(
            1, horizontal, QtCore.Qt.ItemDataRole.DisplayRole
        )

    seen = [title()]
    for _ in range(3):
        window.panels.clips._sort(1)
        seen.append(title())
    assert seen == ["clip", "clip ▴", "clip ▾", "clip"]


def test_long_list_is_arranged_in_slices_and_the_old_one_stays_meanwhile():
    batch = BatchList(rows(100_000), lambda _: None)
    batch.sort_by, batch.text = SortBy.CLIP, "why9"
    steps = batch.arranging()
    n_slices = 0
    while True:
        try:
            next(steps)
        except StopIteration as found:
            batch.list(found.value)
            break
        n_slices += 1
        assert len(batch) == 100_000
    assert n_slices > 20
    listed = [batch[k].clip_id for k in range(len(batch))]
    assert listed == sorted(r.clip_id for r in rows(100_000) if "why9" in r.headline)


def test_window_takes_keys_between_slices(qtbot, window, monkeypatch):
    monkeypatch.setattr(clips_panel, "SLICE_S", 0.0)
    window.panels.clips.set_batch(BatchList(rows(40_000), lambda _: None), None)
    window.panels.clips.filter.setText("c0000")
    assert window.panels.clips.is_arranging
    assert window.panels.clips.count.text() == "…"
    window.panels.clips.filter.setText("c00001")  # the newest counts
    qtbot.waitUntil(lambda: not window.panels.clips.is_arranging, timeout=WAIT_MS)
    assert window.panels.clips.count.text() == "10 of 40000"


def test_blind_list_gives_nothing_away():
    assert [(r.clip_id, r.verdict) for r in rows(6)][1] == ("c000005", "reject")
    labels = {"c000005": "accept"}
    batch = BatchList(rows(6), labels.get)
    batch.is_blind, batch.show = True, Show.REJECT
    batch.arrange()
    assert [batch[k].clip_id for k in range(len(batch))] == ["c000005"]
    batch.show, batch.text = Show.ALL, "why"
    batch.arrange()
    assert len(batch) == 1
    batch.text, batch.sort_by = "", SortBy.VERDICT
    batch.arrange()
    assert [batch[k].clip_id for k in range(6)][1:] == [
        r.clip_id for r in rows(6) if r.clip_id != "c000005"
    ]
    labels["c000000"] = "unsure"
    batch.relabel("c000000")
    batch.show, batch.sort_by = Show.UNLABELLED, SortBy.FILE
    batch.arrange()
    assert len(batch) == 4


def test_loader_runs_the_newest_and_few_at_once(qtbot):
    loader, gate, ran = Loader(), threading.Event(), []

    def make(number: int):
        def run(_tell) -> int:
            ran.append(number)
            gate.wait(30.0)
            return number

        return run

    try:
        with qtbot.waitSignal(loader.loaded, timeout=WAIT_MS) as loaded:
            for number in range(10):
                loader.load(make(number))
            assert len([t for t in loader._threads if t.is_alive()]) == MOST_THREADS
            gate.set()
        assert loaded.args == [9]
        assert ran == [0, 1, 9]
    finally:
        gate.set()
        loader.close()


def test_loader_ends_what_is_no_longer_wanted(qtbot):
    loader, n_told = Loader(), []

    def run(tell) -> None:
        while True:
            tell("still reading")
            n_told.append(1)
            threading.Event().wait(0.001)

    with qtbot.waitSignal(loader.progressed, timeout=WAIT_MS) as told:
        loader.load(run)
    assert told.args == ["still reading"]
    loader.close()  # would wait forever
    assert n_told


def test_opening_tells_how_far_it_is(tmp_path):
    lines = [
        json.dumps({"clip_id": f"c{k}", "verdict": "pass", "sources": {}}) for k in range(1001)
    ]
    (tmp_path / "verdicts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    told: list[str] = []
    assert len(read_verdict_rows(tmp_path / "verdicts.jsonl", told.append)) == 1001
    assert told == ["500 verdicts", "1 000 verdicts"]


def test_endless_nesting_is_no_verdict(tmp_path):
    good = json.dumps({"clip_id": "a", "verdict": "pass", "sources": {}})
    (tmp_path / "verdicts.jsonl").write_text(f"{'[' * 200_000}\n{good}\n", encoding="utf-8")
    assert [row.clip_id for row in read_verdict_rows(tmp_path / "verdicts.jsonl")] == ["a"]


def test_run_opens_with_the_worst_of_the_rejected_and_the_blind_see_the_order_of_the_file(
    barcode_folder, tmp_path
):
    rows = [
        {"clip_id": name, "verdict": verdict, "sources": {"cam": {"offset_s": offset_s}}}
        for name, verdict, offset_s in (
            ("first", "pass", 0.2),
            ("second", "reject", 0.02),
            ("third", "reject", -0.05),
        )
    ]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "verdicts.jsonl").write_text(lines, encoding="utf-8")
    opened = open_collection(str(barcode_folder / "manifest.jsonl"), verdicts=tmp_path)
    session = Session(opened)
    assert [session.batch[k].clip_id for k in range(3)] == ["third", "second", "first"]
    blind = Session(opened, is_blind=True)
    assert [blind.batch[k].clip_id for k in range(3)] == ["first", "second", "third"]
    bare = Session(open_collection(str(barcode_folder / "manifest.jsonl")))
    assert bare.first_clip_id() == "first"


@pytest.mark.parametrize(
    ("reason", "brief"),
    [
        ({"code": "offset", "source": "cam", "value": 0.0349, "message": "m"}, "cam +34.9 ms"),
        ({"code": "offset", "source": "cam", "value": -12.0, "message": "m"}, "cam −12.0 s"),
        (
            {"code": "step", "source": "cam", "value": 0.06, "message": "m"},
            "cam ⇥+60.0 ms",
        ),
        ({"code": "drift", "source": "cam", "value": 0.02, "message": "m"}, "cam +2044 ppm"),
        ({"code": "jitter", "source": "cam", "value": 0.0078, "message": "m"}, "cam 7.8 ms jitter"),
        ({"code": "missing_file", "source": "cam", "message": "a/b/c.mp4: m"}, "cam missing file"),
        ({"code": "offset", "source": None, "value": None, "message": "odd"}, "early or late"),
    ],
)
def test_the_list_says_why_in_short(reason, brief):
    sources = {"cam": {"drift_ppm": 2044.0}}
    found = summarise(
        {"clip_id": "a", "verdict": "reject", "reasons": [reason], "sources": sources}
    )
    assert found.brief == brief
    assert found.headline == reason["message"]


def test_a_data_set_is_opened_as_validate_takes_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    folder = write_lerobot_v2(tmp_path / "set", 2)
    before = sorted(folder.rglob("*"))
    opened = open_collection(str(folder))
    assert [row.clip_id for row in opened.rows] == ["episode_000000", "episode_000001"]
    clip = opened.clip("episode_000001")
    for name, spec in clip.sources.items():
        assert read_source(name, spec, clip.base_uri).time_ns.size
    assert sorted(folder.rglob("*")) == before
    again = open_collection(str(folder))  # the manifest that is kept is rewritten
    assert len(again.clips) == 2


def test_a_folder_of_nothing_is_refused_with_what_was_looked_for(tmp_path):
    (tmp_path / "notes.md").write_text("no data")
    with pytest.raises(UsageError, match="a folder without a manifest"):
        open_collection(str(tmp_path))
