"""Changes that a person makes to the clocks of a clip."""

from __future__ import annotations

import json

import pytest
from syncaudit_gui.viewmodel.clip_model import build_clip
from syncaudit_gui.viewmodel.collection import open_collection
from syncaudit_gui.viewmodel.session import Session

from syncaudit.pipeline import read_clip

NEAR_S = 1e-9


def test_nudge_moves_every_source_of_the_clock_and_is_undone_for_all(tmp_path):
    sources = {
        name: {"kind": "camera", "uri": f"{name}.mp4"} | clock
        for name, clock in (("a", {"clock": "rig"}), ("b", {}), ("c", {"clock": "rig"}))
    }
    row = {"clip_id": "one", "start_ns": 0, "end_ns": 10**10, "sources": sources}
    manifest = tmp_path / "m.jsonl"
    manifest.write_text(json.dumps(row) + "\n", encoding="utf-8")
    collection = open_collection(str(manifest))
    session = Session(collection)
    clip = collection.clip("one")
    assert clip is not None
    session.nudges.put("one", "c", 0.5)  # from before: kept, and moved along
    session.open_clip(build_clip(clip, read_clip(clip)))

    session.nudge("a", 0.003)
    assert session.model is not None
    nudges_s = session.model.nudges_s
    assert (nudges_s["a"], nudges_s["c"]) == pytest.approx((0.003, 0.503), abs=NEAR_S)
    assert nudges_s.get("b", 0.0) == 0.0
    saved = Session(collection).nudges
    assert [saved.of("one", x) for x in "abc"] == pytest.approx([0.003, 0.0, 0.503], abs=NEAR_S)

    assert session.undo.undo() == "nudge of a, c"
    assert (nudges_s["a"], nudges_s["c"]) == pytest.approx((0.0, 0.5), abs=NEAR_S)
