"""The commands of docs/repair.md find an injected lag, remove it, and then pass."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from syncaudit.simulate.robot import ContentFault, EpisodeConfig, record_episode, write_lerobot
from testkit.bags.drive import drive, rules
from testkit.bags.writing import Messages, write_bag
from testkit.command_line import run_documented
from testkit.lerobot_rules import Loaded
from testkit.places import TESTS

DOC = (TESTS.parent / "docs/repair.md").read_text(encoding="utf-8")
ROWS, BAGS = (
    re.findall(r"^\$ syncaudit (.*)$", block, re.MULTILINE)
    for block in re.findall(r"```console\n(.*?)```", DOC, re.DOTALL)
)
LATE_S = 4 / 30.0


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run_all(commands: list[str]) -> None:
    """Run them all: the first finds a clip to reject, the last finds none."""
    for command, code in zip(commands, (1, 0, 0), strict=True):
        run_documented(command, expected=(code,))


def offset_s(out: str, source: str) -> float:
    row = json.loads(Path(out, "verdicts.jsonl").read_text())
    return row["sources"][source]["offset_s"]


def test_late_camera_of_a_robot_is_paired_with_its_rows():
    config = EpisodeConfig(
        duration_s=10.0,
        size_px=(160, 120),
        cameras=("wrist",),
        faults={"wrist": ContentFault(late_s=LATE_S)},
    )
    write_lerobot(Path("pusht"), [record_episode(config, 7)])
    run_all(ROWS)
    assert abs(offset_s("out", "wrist") + LATE_S) < 0.012
    assert abs(offset_s("checked", "wrist")) < 0.012
    loaded = Loaded(Path("repaired"))
    assert len(loaded.rows) == 300 - 4
    assert len(loaded.frames(0, "observation.images.wrist")) == 300 - 4


def test_late_camera_of_a_bag_gets_times_beside_it():
    messages = Messages(is_ros1=False)
    late_ns = 60_000_000
    sent = drive(messages, ("cam_rear",), late_ns={"cam_rear": late_ns})
    write_bag(Path("drive.mcap"), sent, messages)
    known = rules()
    known["sources"] = {"cam_rear": known["sources"]["cam_rear"]}
    Path("bag.json").write_text(json.dumps(known))
    before = Path("drive.mcap").read_bytes()
    run_all(BAGS)
    assert Path("drive.mcap").read_bytes() == before
    (times,) = Path("corrected").rglob("*.times.parquet")
    table = pq.read_table(times)
    moved_ns = table["corrected_ns"].to_numpy() - table["timestamp_ns"].to_numpy()
    assert (abs(moved_ns + late_ns) < 3e6).all()
    logged = [message.receive_ns for message in sent if message.topic.startswith("/cam_rear")]
    assert table["receive_ns"].to_pylist() == logged
