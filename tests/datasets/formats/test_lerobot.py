from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncaudit.datasets.importing import import_dataset
from syncaudit.decode import iter_luma
from syncaudit.detectors.stamps.streams import audit_stream
from syncaudit.errors import ManifestError, StreamReadError
from syncaudit.model import CameraStream, Clip, SignalStream
from syncaudit.readers import read_source
from testkit.data_sets.importing import import_clips
from testkit.data_sets.lerobot_data import FPS, N_FRAMES, table, write_lerobot_v2, write_lerobot_v3

# Half a step of float32 at the end of an episode of 20 frames, and the rounding to ns.
FLOAT32_NS = 40


def imported(root: Path, tmp_path: Path) -> list[Clip]:
    return import_clips(root, tmp_path, "lerobot")[0]


@pytest.mark.parametrize("write", [write_lerobot_v2, write_lerobot_v3])
def test_features_become_cameras_and_state(write, tmp_path):
    clips = imported(write(tmp_path / "data", 3), tmp_path)
    assert [clip.clip_id for clip in clips] == [f"episode_{n:06d}" for n in range(3)]
    for clip in clips:
        kinds = {name: spec.kind for name, spec in clip.sources.items()}
        assert kinds == {
            **dict.fromkeys(("top", "wrist", "still"), "camera"),
            **dict.fromkeys(("state", "action"), "state"),
        }
        assert all(spec.stamp_kind == "counter" for spec in clip.sources.values())
    origins = [clip.origin for clip in clips]
    assert [origin.episode_index for origin in origins] == [0, 1, 2]
    assert {origin.total_episodes for origin in origins} == {3}
    assert {Path(origin.dataset).name for origin in origins} <= {"pusht", "aloha"}


@pytest.mark.parametrize("write", [write_lerobot_v2, write_lerobot_v3])
def test_every_episode_reads_its_own_rows(write, tmp_path):
    for number, clip in enumerate(imported(write(tmp_path / "data", 5), tmp_path)):
        state = read_source("state", clip.sources["state"], clip.base_uri)
        assert isinstance(state, SignalStream)
        assert state.findings == ()
        expected = np.arange(N_FRAMES) * 1e9 / FPS
        assert np.max(np.abs(state.time_ns - expected)) <= FLOAT32_NS
        truth = np.array(table(number).column("observation.state").to_pylist())
        np.testing.assert_array_equal(state.channels[0].values, truth)


def test_every_episode_reads_its_own_frames_of_a_shared_video(tmp_path):
    for number, clip in enumerate(imported(write_lerobot_v3(tmp_path / "data", 5), tmp_path)):
        for name in ("top", "wrist"):
            camera = read_source(name, clip.sources[name], clip.base_uri)
            assert isinstance(camera, CameraStream)
            assert camera.findings == ()
            assert camera.n_frames_container == N_FRAMES
            found = [(f.index, float(f.luma.mean())) for f in iter_luma(camera.files)]
            assert [index for index, _ in found] == list(range(N_FRAMES))
            levels = [level for _, level in found]
            np.testing.assert_allclose(levels, 40 + 5 * number + np.arange(N_FRAMES), atol=0.6)


def test_end_may_be_the_time_of_the_last_frame(tmp_path):
    root = write_lerobot_v3(tmp_path / "data", 3)
    (path,) = root.glob("meta/episodes/*/*.parquet")
    rows = pq.read_table(path).to_pylist()
    for row in rows:
        for key in [key for key in row if key.endswith("/to_timestamp")]:
            row[key] -= 1.0 / FPS
    pq.write_table(pa.Table.from_pylist(rows), path)
    for number, clip in enumerate(imported(root, tmp_path)):
        camera = read_source("wrist", clip.sources["wrist"], clip.base_uri)
        assert isinstance(camera, CameraStream)
        assert camera.n_frames_container == N_FRAMES
        levels = [float(frame.luma.mean()) for frame in iter_luma(camera.files)]
        np.testing.assert_allclose(levels, 40 + 5 * number + np.arange(N_FRAMES), atol=0.6)


def test_names_of_openpi_are_taken(tmp_path):
    root = write_lerobot_v2(tmp_path / "data", 1)
    info = json.loads((root / "meta/info.json").read_text())
    named = {"observation.state": "state", "action": "actions"}
    info["features"] = {named.get(key, key): value for key, value in info["features"].items()}
    (root / "meta/info.json").write_text(json.dumps(info))
    (path,) = root.glob("data/*/*.parquet")
    found = pq.read_table(path)
    pq.write_table(found.rename_columns([named.get(c, c) for c in found.column_names]), path)
    (clip,) = imported(root, tmp_path)
    assert {"state", "actions"} <= clip.sources.keys()
    actions = read_source("actions", clip.sources["actions"], clip.base_uri)
    assert isinstance(actions, SignalStream)
    assert actions.time_ns.size == N_FRAMES


@pytest.mark.parametrize("write", [write_lerobot_v2, write_lerobot_v3])
def test_images_inside_of_parquet_are_a_camera(write, tmp_path):
    for number, clip in enumerate(imported(write(tmp_path / "data", 5), tmp_path)):
        camera = read_source("still", clip.sources["still"], clip.base_uri)
        assert camera.findings == ()
        assert (camera.width_px, camera.height_px) == (64, 48)
        assert camera.n_frames_container == camera.time_ns.size == N_FRAMES
        found = [(f.index, float(f.luma.mean())) for f in iter_luma(camera.files)]
        assert [index for index, _ in found] == list(range(N_FRAMES))
        levels = [level for _, level in found]
        np.testing.assert_allclose(levels, 40 + 5 * number + np.arange(N_FRAMES), atol=0.6)


def test_float32_stamps_are_known_as_a_counter(tmp_path):
    [clip] = imported(write_lerobot_v3(tmp_path / "data", 1), tmp_path)
    for name, spec in clip.sources.items():
        audit = audit_stream(read_source(name, spec, clip.base_uri))
        assert audit.is_synthetic, name


def test_rows_that_are_missing_are_told(tmp_path):
    root = write_lerobot_v3(tmp_path / "data", 2)
    clips = imported(root, tmp_path)
    path = root / "data/chunk-000/file-000.parquet"
    import pyarrow.parquet as pq

    pq.write_table(table(0, 12), path)
    [finding] = read_source("state", clips[0].sources["state"], clips[0].base_uri).findings
    assert finding.code == "length_mismatch"
    assert "has 12 rows, but the clip is rows 0 to 19" in finding.message
    camera = read_source("top", clips[0].sources["top"], clips[0].base_uri)
    assert "length_mismatch" in [finding.code for finding in camera.findings]


def test_episodes_may_be_missing_from_the_metadata(tmp_path):
    import pyarrow.parquet as pq

    root = write_lerobot_v3(tmp_path / "data", 4)
    path = root / "meta/episodes/chunk-000/file-000.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)  # the first of its file
    [clip, *_] = imported(root, tmp_path)
    assert clip.clip_id == "episode_000001"
    state = read_source("state", clip.sources["state"], clip.base_uri)
    truth = np.array(table(1).column("observation.state").to_pylist())
    np.testing.assert_array_equal(state.channels[0].values, truth)


def test_a_missing_data_file_is_left_to_the_audit(tmp_path):
    root = write_lerobot_v3(tmp_path / "data", 2)
    (root / "data/chunk-000/file-000.parquet").unlink()
    clips = imported(root, tmp_path)
    with pytest.raises(StreamReadError, match="file not found"):
        read_source("state", clips[0].sources["state"], clips[0].base_uri)


def test_ignored_features_are_named(tmp_path):
    root = write_lerobot_v3(tmp_path / "data", 1)
    done = import_dataset(str(root), tmp_path / "m.jsonl", format_name="lerobot")
    notes = "\n".join(done.notes)
    assert "next.reward" in notes
    assert "ignored observation.images.depth (video)" in notes
    assert "observation.images.still -> camera still" in notes
    assert "a counter, not capture times" in notes


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ('{"episode_index": -1}', "line 1: 'episode_index' is missing or not a valid number"),
        ("{", "line 1 is not valid JSON"),
        ("[]", "line 1 is not an object"),
    ],
)
def test_broken_episode_lines_are_told(line, pattern, tmp_path):
    root = write_lerobot_v2(tmp_path / "data", 1)
    (root / "meta/episodes.jsonl").write_text(line + "\n")
    with pytest.raises(ManifestError, match=pattern):
        imported(root, tmp_path)


def test_path_templates_cannot_lead_out_of_the_data_set(tmp_path):
    root = write_lerobot_v2(tmp_path / "data", 1)
    info = json.loads((root / "meta/info.json").read_text())
    info["data_path"] = "../{episode_index}.parquet"
    (root / "meta/info.json").write_text(json.dumps(info))
    with pytest.raises(ManifestError, match="path template"):
        imported(root, tmp_path)


def test_data_set_of_other_features_says_what_it_holds(tmp_path):
    root = write_lerobot_v2(tmp_path / "data", 1)
    info = json.loads((root / "meta/info.json").read_text())
    info["features"] = {"next.reward": {"dtype": "float32", "shape": [1]}}
    (root / "meta/info.json").write_text(json.dumps(info))
    with pytest.raises(ManifestError, match=r"no video.*next\.reward \(float32\)"):
        imported(root, tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "pattern"),
    [
        ("fps", "30", "fps is '30', expected a number"),
        ("fps", 0, "fps is 0"),
        ("chunks_size", "x", "chunks_size is 'x', expected a whole number"),
        ("features", [], "features is a list, expected an object"),
        ("features", {"action": {"dtype": "float32", "shape": 6}}, "shape is 6, expected a list"),
        ("features", {"a": {"dtype": "video", "info": "x"}}, "info is 'x', expected an object"),
        ("features", {"a": "video"}, "a is 'video', expected an object"),
        ("data_path", "{episode_index:1999999999d}", "with widths such as :03d"),
        ("data_path", "{episode_index.__class__}", "cannot be filled"),
        ("data_path", "webhdfs://127.0.0.1/x.parquet", "leads out of the data set"),
        ("data_path", "simplecache::file:///x", "leads out of the data set"),
        ("data_path", "a\ud83d", "is not valid JSON"),
    ],
)
def test_wrong_types_in_the_info_are_told(key, value, pattern, tmp_path):
    root = write_lerobot_v2(tmp_path, 1)
    place = root / "meta/info.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {key: value}))
    with pytest.raises(ManifestError, match=pattern):
        import_dataset(str(root), tmp_path / "out" / "m.jsonl", format_name="lerobot")
