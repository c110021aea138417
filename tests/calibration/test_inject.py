"""`inject` adds known errors to the timestamps of clips and never modifies originals."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from syncaudit.datasets import load_manifest
from syncaudit.evaluation.change import Change, parse_changes
from syncaudit.evaluation.draw import Draw, movable_sources
from syncaudit.evaluation.injected import Injected, read_truth
from syncaudit.model import ClockMap
from syncaudit.readers import read_source
from testkit.apply_clips import T0, S, manifest, verdict, verdicts
from testkit.command_line import run_command

STAMPS = [T0 + k * S // 10 for k in range(200)]
SOURCES: dict[str, dict[str, Any]] = {
    "cam": {"kind": "camera", "uri": "cam.mp4", "timestamps": "e.csv"},
    "imu": {"kind": "imu", "uri": "imu.csv"},
    "trigger": {"kind": "events", "uri": "e.csv"},
    "gate": {"kind": "events", "uri": "e.csv", "clock": "trigger"},
    "arm": {"kind": "state", "uri": "imu.csv", "columns": {"q": ["gyro_x"]}},
    "mic": {"kind": "audio", "uri": "m.wav", "start_ns": T0},
    "words": {"kind": "transcript", "uri": "w.csv", "audio": "mic"},
    "text": {"kind": "transcript", "text": "turn left", "audio": "mic"},
}
ROUNDING_NS = 1


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "e.csv").write_text("timestamp_ns\n" + "".join(f"{t}\n" for t in STAMPS))
    rows = "".join(f"{t},{k % 7},0,1\n" for k, t in enumerate(STAMPS))
    (folder / "imu.csv").write_text("timestamp_ns,gyro_x,gyro_y,gyro_z\n" + rows)
    (folder / "w.csv").write_text("start,end,label\n0.5,1.0,turn\n1.0,1.5,left\n")
    soundfile.write(folder / "m.wav", np.zeros(16_000), 8000)
    return folder


def injected(out: Path, *arguments: object) -> dict[str, Injected]:
    """Inject, and return the truth, which names the clips of the manifest in their order."""
    result = run_command("inject", *arguments, "--out", out)
    assert result.exit_code == 0, result.stderr
    truth = read_truth(str(out / "truth.jsonl"))
    clips = load_manifest(str(out / "manifest.jsonl"))
    assert [clip.clip_id for clip in clips] == list(truth)
    return truth


def one_clip(data: Path, *names: str) -> str:
    sources = {name: SOURCES[name] for name in names or SOURCES}
    return manifest(data, {"clip_id": "a", "recording_id": "drive", "sources": sources})


def stamps_of(out: Path, clip_id: str, source: str) -> Any:
    """Return the timestamps of a source as its reader has them; for words, their times."""
    (clip,) = [c for c in load_manifest(str(out / "manifest.jsonl")) if c.clip_id == clip_id]
    spec = clip.sources[source]
    if spec.kind == "camera":  # there is no video
        text = (out / (spec.timestamps or "")).read_text().split()[1:]
        return np.array(text, dtype=np.int64)
    stream: Any = read_source(source, spec, clip.base_uri)
    if spec.kind == "transcript":
        starts_s = [i.start_s for i in stream.tiers[0].intervals]
        sound: Any = read_source("mic", clip.sources["mic"], clip.base_uri)
        return int(sound.time_ns[0]) + np.rint(1e9 * np.array(starts_s)).astype(np.int64)
    if spec.kind == "audio" and stream.time_ns.size == 1:  # where a drift shows
        return np.append(stream.time_ns, stream.time_ns + 2 * S)
    return stream.time_ns


@pytest.mark.parametrize("options", [("--offsets", "20"), ("--offsets", "", "--drift-ppm", "80")])
def test_what_truth_says_undoes_what_was_done(data: Path, tmp_path: Path, options: Any) -> None:
    before = {p.name: p.read_bytes() for p in data.iterdir()}
    out = tmp_path / "out"
    truth = injected(out, one_clip(data), *options, "--variants", 14)
    assert {p.name: p.read_bytes() for p in data.iterdir() if p.name in before} == before
    assert Counter(each.source for each in truth.values()) == Counter(
        {None: 1} | dict.fromkeys(SOURCES.keys() - {"text"}, 2)
    )
    for each in truth.values():
        correction = ClockMap(
            offset_s=each.change.offset_s, drift_ppm=each.change.drift_ppm, at_ns=each.at_ns
        )
        for name in SOURCES.keys() - {"text"}:
            found = stamps_of(out, each.clip_id, name)
            original = stamps_of(out, "a~control", name)
            if name in each.moved:
                assert np.abs(found - original).max() > 10_000
                found = correction.apply(found)
            elif name == "words" and each.source == "mic":
                continue  # they follow their sound
            np.testing.assert_allclose(found, original, rtol=0, atol=ROUNDING_NS)


def test_positive_offset_is_put_back_by_adding_and_called_early(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    truth = injected(out, one_clip(data), "--sources", "trigger", "--offsets", "35")
    assert truth["a~trigger~35ms_early"].change.offset_s == 0.035
    found = stamps_of(out, "a~trigger~35ms_early", "trigger")
    assert (found - np.array(STAMPS)).tolist() == [-35_000_000] * len(STAMPS)


def test_sources_that_share_a_clock_move_together(data: Path, tmp_path: Path) -> None:
    truth = injected(tmp_path / "out", one_clip(data), "--sources", "gate")
    assert {each.moved for each in truth.values()} == {(), ("trigger", "gate")}


def test_each_variant_is_a_recording_of_its_own(data: Path, tmp_path: Path) -> None:
    injected(tmp_path / "out", one_clip(data))
    clips = load_manifest(str(tmp_path / "out" / "manifest.jsonl"))
    assert [clip.recording_id for clip in clips] == [clip.clip_id for clip in clips]
    assert len({clip.clip_id for clip in clips}) == len(clips)


def test_episode_of_a_data_set_is_not_claimed_by_its_variants(data: Path, tmp_path: Path) -> None:
    row = {"clip_id": "a", "origin": {"dataset": "d", "episode_index": 3}}
    sources = {name: SOURCES[name] for name in ("imu", "trigger")}
    injected(tmp_path / "out", manifest(data, row | {"sources": sources}))
    assert "origin" not in (tmp_path / "out" / "manifest.jsonl").read_text()


def test_what_cannot_be_moved_is_told_by_name_and_left_out(data: Path, tmp_path: Path) -> None:
    (data / "e.csv").write_text("timestamp_ns\n")
    path = one_clip(data, "imu", "arm", "trigger", "text", "mic")
    result = run_command("inject", path, "--out", tmp_path / "out", "--variants", 8)
    assert result.exit_code == 0
    assert "trigger left out (2 times)" in result.stdout
    assert "holds no timestamps" in result.stdout
    assert "text left out (1 time): it is text without times" in result.stdout
    moved = {each.source for each in read_truth(str(tmp_path / "out" / "truth.jsonl")).values()}
    assert moved == {None, "imu", "arm", "mic"}


def test_sound_with_nothing_but_its_words_cannot_be_moved(data: Path) -> None:
    (clip,) = load_manifest(one_clip(data, "mic", "words"))
    moved, refused = movable_sources(clip, ())
    assert moved == {"words": ("words",)}
    assert refused == {"mic": "nothing else in the clip has another clock"}


def test_only_clips_that_passed_are_taken(data: Path, tmp_path: Path) -> None:
    sources = {name: SOURCES[name] for name in ("imu", "trigger")}
    path = manifest(data, *({"clip_id": name, "sources": sources} for name in "ab"))
    rows = [verdict("a") | {"verdict": "pass"}, verdict("b")]
    judged = verdicts(tmp_path / "run", *rows)
    truth = injected(tmp_path / "out", path, "--verdicts", judged)
    assert {each.original for each in truth.values()} == {"a"}
    judged = verdicts(tmp_path / "run", *rows[1:])
    result = run_command("inject", path, "--verdicts", judged, "--out", tmp_path / "new")
    assert (result.exit_code, (tmp_path / "new").exists()) == (2, False)
    assert "no clip of the manifest passed" in result.stderr


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--offsets", "5,x"], "offset holds 'x'"),
        (["--offsets", "0"], "offset holds '0'"),
        (["--offsets", "nan"], "offset holds 'nan'"),
        (["--drift-ppm", "5000"], "drift holds '5000'"),
        (["--offsets", ","], "neither --offsets nor --drift-ppm"),
        (["--sources", "lidar"], "no source can be shifted.*the clips hold arm"),
        (["--sources", "text"], "no source can be shifted. text: it is text without times"),
        (["--sources", "mic", "--verdicts", "none"], "holds no verdicts"),
    ],
)
def test_wrong_use_is_told_and_nothing_is_written(
    data: Path, tmp_path: Path, options: list[str], match: str
) -> None:
    import re

    result = run_command("inject", one_clip(data), "--out", tmp_path / "out", *options)
    assert result.exit_code == 2
    assert re.search(match, " ".join(result.stderr.replace("│", " ").split()))
    assert not (tmp_path / "out").exists()


def test_nothing_that_can_be_read_is_told(data: Path, tmp_path: Path) -> None:
    (data / "e.csv").unlink()
    path = one_clip(data, "trigger", "imu")
    result = run_command("inject", path, "--out", tmp_path / "out", "--sources", "trigger")
    assert result.exit_code == 2
    assert "no timestamps could be shifted" in result.stderr
    assert "e.csv" in result.stderr
    assert not (tmp_path / "out" / "manifest.jsonl").exists()


def test_originals_are_not_overwritten(data: Path, tmp_path: Path) -> None:
    path = one_clip(data)
    before = Path(path).read_bytes()
    assert run_command("inject", path, "--out", data).exit_code == 2
    assert Path(path).read_bytes() == before
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.jsonl").write_text("mine")
    result = run_command("inject", path, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "'manifest.jsonl' already exists and is not from an earlier" in result.stderr


def test_a_second_run_writes_anew_and_seeds_draw_anew(data: Path, tmp_path: Path) -> None:
    path, out = one_clip(data), tmp_path / "out"
    first = injected(out, path, "--seed", 1)
    assert injected(out, path, "--seed", 1) == first
    assert injected(out, path, "--seed", 2) != first


def test_sources_changes_and_signs_are_drawn_evenly() -> None:
    changes = parse_changes(["offset=10,20", "drift=50"])
    assert len(set(changes)) == 6
    draw = Draw(changes, np.random.default_rng(3))
    found = [pick for _ in range(30) for pick in draw.of_clip(["a", "b", "c"], 3)]
    assert set(Counter(found).values()) == {5}  # 90 draws of 3 sources and 6 changes


def test_source_of_one_clip_takes_no_more_of_it_than_others_do() -> None:
    draw = Draw(parse_changes(["offset=10,20"]), np.random.default_rng(4))
    for _ in range(20):
        draw.of_clip(["a", "b"], 4)
    rare = Counter(name for name, _ in draw.of_clip(["a", "b", "rare"], 6))
    assert rare == {"a": 2, "b": 2, "rare": 2}
    assert [name for name, _ in draw.of_clip(["a", "b", "rare"], 1)] == ["rare"]


def test_variants_of_a_clip_differ_and_are_no_more_than_there_are() -> None:
    changes = [Change(amount=0.1), Change(amount=-0.1)]
    draw = Draw(changes, np.random.default_rng(0))
    for _ in range(20):
        found = draw.of_clip(["a", "b", "c"], 5)
        assert len(set(found)) == 5
        assert len(draw.of_clip(["a"], 9)) == 2


def test_truth_is_read_back(data: Path, tmp_path: Path) -> None:
    truth = injected(tmp_path / "out", one_clip(data), "--drift-ppm", "50")
    lines = (tmp_path / "out" / "truth.jsonl").read_text().splitlines()
    assert [each.to_json() for each in truth.values()] == [json.loads(line) for line in lines]
