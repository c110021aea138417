"""The images of a humanoid, 96 ms late, are paired with its states again."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from syncaudit.datasets.importing import import_dataset
from testkit.command_line import run_command
from testkit.lerobot_rules import Loaded, decoded
from testkit.places import real_recording

pytestmark = pytest.mark.realdata

CAMERA = "observation.images.cam_high"


def test_fleet_lag_is_three_rows_and_the_data_set_loads(tmp_path):
    root = real_recording("lerobot_g1")
    import_dataset(str(root), tmp_path / "m.jsonl", format_name="lerobot")
    known = {"version": 1, "reference": "state", "sources": {"cam_high": {"offset_s": -0.096}}}
    (tmp_path / "common.json").write_text(json.dumps(known))
    out = tmp_path / "repaired"
    words = ("apply", tmp_path / "common.json", tmp_path / "m.jsonl", "--as", "lerobot", "-o", out)
    told = run_command(*words, expected=0).stdout
    assert "3 rows later: 4 ms early remain; 390 of 393 rows kept" in told
    loaded = Loaded(out)
    assert len(loaded.rows) == 1461 - 4 * 3
    before, _ = decoded(root / f"videos/chunk-000/{CAMERA}/episode_000003.mp4")
    pairs = zip(loaded.frames(3, CAMERA), before[3:], strict=True)
    assert all((now == then).all() for now, (_, then) in pairs)
    states = pq.read_table(root / "data/chunk-000/episode_000003.parquet")["observation.state"]
    now = loaded.column("observation.state")[loaded.span(3)]
    assert np.array_equal(now, np.array(states.to_pylist())[:365])
