from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import zarr

from syncaudit.datasets.importing import pick_format
from syncaudit.datasets.source import Source
from syncaudit.decode import iter_luma
from syncaudit.errors import ManifestError, MissingExtraError
from syncaudit.model import CameraSpec, SignalStream, Verdict
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.data_sets.hdf5_data import N_STEPS, pictures, vectors
from testkit.data_sets.importing import import_clips
from testkit.data_sets.zarr_data import write_buffer, write_zarr

# Luma of FFV1's RGB, rounded by two libraries.
LEVELS = 1.5


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("is_packed", [True, False])
def test_every_episode_reads_its_own_rows(version, is_packed, tmp_path):
    root = write_buffer(tmp_path / "data", 3, version=version, is_packed=is_packed)
    assert pick_format(Source(str(root))).name == "zarr"
    clips, _ = import_clips(root, tmp_path, "zarr", rules={"rate_hz": 10})
    assert [clip.clip_id for clip in clips] == [f"b/episode_{n:05d}" for n in range(3)]
    for number, clip in enumerate(clips):
        assert set(clip.sources) == {"camera0_rgb", "state", "action"}
        camera = read_source("camera0_rgb", clip.sources["camera0_rgb"], clip.base_uri)
        assert camera.findings == ()
        assert camera.time_ns.tolist() == [k * 10**8 for k in range(N_STEPS)]
        found = [float(frame.luma.mean()) for frame in iter_luma(camera.files)]
        truth = (pictures(number) @ [0.299, 0.587, 0.114]).mean(axis=(1, 2))
        np.testing.assert_allclose(np.diff(found), np.diff(truth), rtol=0, atol=LEVELS)
        assert abs(found[0] - truth[0]) < 16  # limited range
        state = read_source("state", clip.sources["state"], clip.base_uri)
        assert isinstance(state, SignalStream)
        np.testing.assert_array_equal(state.channels[0].values, vectors(number, 3))


def test_stated_times_are_taken_and_videos_beside_the_buffer_are_undated(tmp_path):
    times_s = 1.7e9 + np.arange(2 * N_STEPS) * 0.1
    root = write_buffer(tmp_path / "data", 2, version=2, is_packed=False, timestamp=times_s)
    (root / "videos/1").mkdir(parents=True)
    (root / "videos/1/0.mp4").write_bytes(b"not looked at")
    clips, notes = import_clips(root, tmp_path, "zarr")
    assert {spec.stamp_kind for spec in clips[0].sources.values()} == {"receive"}
    state = read_source("state", clips[1].sources["state"], clips[1].base_uri)
    np.testing.assert_allclose(state.time_ns * 1e-9, times_s[N_STEPS:], rtol=0, atol=1e-6)
    spec = clips[1].sources["video_0"]
    assert isinstance(spec, CameraSpec)
    assert spec.is_start_assumed
    assert "video_0" not in clips[0].sources
    assert any("nothing states when they began" in text for text in notes)


@pytest.mark.parametrize("scale", [1.0, 255.0])
def test_images_of_floats_are_those_of_bytes(scale, tmp_path):
    levels = np.repeat(np.arange(N_STEPS), 24 * 32 * 3).reshape(N_STEPS, 24, 32, 3) * 40.0
    levels[:, :12] = 0
    array = (levels / 255.0 * scale).astype(np.float32)
    root = write_buffer(tmp_path / "data", 1, version=2, is_packed=False, img=array)
    [clip], _ = import_clips(root, tmp_path, "zarr")
    camera = read_source("img", clip.sources["img"], clip.base_uri)
    found = [float(frame.luma[18:].mean()) for frame in iter_luma(camera.files)]
    np.testing.assert_allclose(np.diff(found), 40.0 * 219 / 255, rtol=0, atol=6.0)


def test_damaged_missing_and_unknown_chunks_are_told(tmp_path):
    root = write_buffer(tmp_path / "data", 2, version=2, is_packed=False)
    data = root / "b.zarr/data"
    (data / "action/0.0").write_bytes(b"cut off")
    (data / "robot0_eef_pos/2.0").unlink()
    header = data / "camera0_rgb/.zarray"
    content = json.loads(header.read_text()) | {"compressor": {"id": "imagecodecs_jpegxl"}}
    header.write_text(json.dumps(content))
    clips, _ = import_clips(root, tmp_path, "zarr")
    assert [set(clip.sources) for clip in clips] == [{"state"}, {"state", "action"}]
    told = " ".join(each.message for each in audit(clips[0]).warnings)
    assert "action cannot be read and is left out" in told
    assert "1 of 3 chunks of data/robot0_eef_pos are not there, and read as 0" in told
    assert "data/camera0_rgb is left out: codec not available" in told
    assert "pip install imagecodecs" in told


class Program:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("name", ["data/action", "meta/episode_ends"])
@pytest.mark.parametrize("place", ["filters", "compressor"])
def test_nothing_is_unpickled(name, place, tmp_path):
    root = write_buffer(tmp_path / "data", 1, version=2, is_packed=False)
    array = root / "b.zarr" / name
    written = tmp_path / "written"
    codec = {"id": "pickle", "protocol": 5}
    # On its own, zarr opens data that has another object codec in front.
    packing = {"filters": [{"id": "vlen-bytes"}], "compressor": None, "dtype": "|O"}
    content = json.loads((array / ".zarray").read_text()) | packing | {"fill_value": None}
    content[place] = [*packing["filters"], codec] if place == "filters" else codec
    (array / ".zarray").write_text(json.dumps(content))
    for chunk in array.glob("[0-9]*"):
        chunk.write_bytes(pickle.dumps(Program(written)))
    try:
        [clip], _ = import_clips(root, tmp_path, "zarr")
        told = clip.sources["state"].findings[0]
    except ManifestError as error:
        told = str(error)
    assert "packed with pickle, which can run programs" in told
    assert not written.exists()


@pytest.mark.parametrize(
    ("ends", "pattern"),
    [
        ([6, 6], "item 1 is 6, not beyond the one before"),
        ([6.0, 12.0], "it is float64 in 1 dimensions, expected whole numbers"),
    ],
)
def test_ends_that_part_nothing_are_told(ends, pattern, tmp_path):
    path = write_zarr(tmp_path / "data", 2)
    group = zarr.open_group(str(path / "meta"), mode="a")
    group.create_array("episode_ends", data=np.array(ends), overwrite=True)
    with pytest.raises(ManifestError, match=f"{pattern}.*Copy it again"):
        import_clips(path, tmp_path, "zarr")


def test_rows_that_are_not_there_are_a_mismatch(tmp_path):
    path = write_zarr(tmp_path / "data", 2)
    group = zarr.open_group(str(path / "meta"), mode="a")
    group.create_array("episode_ends", data=np.array([N_STEPS, 20]), overwrite=True)
    clips, _ = import_clips(path, tmp_path, "zarr")
    verdict = audit(clips[1])
    assert verdict.verdict is Verdict.REJECT
    told = " ".join(each.message for each in (*verdict.reasons, *verdict.warnings))
    assert "action has 6 rows for 14 steps, and is left out" in told


def test_a_zip_that_is_none_is_told(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/b.zarr.zip").write_bytes(b"PK no zip")
    with pytest.raises(ManifestError, match=r"b\.zarr\.zip.*not an intact zarr group"):
        import_clips(tmp_path / "data", tmp_path, "zarr")


def test_without_its_package_the_pip_line_is_told(tmp_path, monkeypatch):
    path = write_zarr(tmp_path / "data", 1)
    monkeypatch.setattr("syncaudit.datasets.formats.zarr_buffer.find_spec", {}.get)
    with pytest.raises(MissingExtraError, match=r"pip install 'syncaudit\[zarr\]'"):
        import_clips(path, tmp_path, "zarr")
