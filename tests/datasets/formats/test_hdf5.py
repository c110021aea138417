from __future__ import annotations

import av
import cv2
import h5py
import numpy as np
import pytest

from syncaudit.datasets.formats import get_format
from syncaudit.datasets.importing import pick_format
from syncaudit.datasets.source import Source
from syncaudit.decode import iter_luma
from syncaudit.errors import MissingExtraError
from syncaudit.model import SignalStream, Verdict
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.data_sets.hdf5_data import N_STEPS, pictures, vectors, write_aloha, write_robomimic
from testkit.data_sets.importing import import_clips
from testkit.data_sets.stills import jpeg

# JPEG of the same image is decoded by two libraries with different rounding.
LEVELS = 2.0


def luma(image: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(float)


@pytest.mark.parametrize("is_packed", [True, False])
def test_aloha_becomes_a_camera_and_vectors(is_packed, tmp_path):
    root = write_aloha(tmp_path / "data", 2, is_packed=is_packed)
    clips, notes = import_clips(root, tmp_path, "hdf5", rules={"rate_hz": 50})
    assert [clip.clip_id for clip in clips] == ["episode_0", "episode_1"]
    for number, clip in enumerate(clips):
        assert set(clip.sources) == {"cam_high", "cam_grey", "state", "action"}
        assert {spec.stamp_kind for spec in clip.sources.values()} == {"counter"}
        camera = read_source("cam_high", clip.sources["cam_high"], clip.base_uri)
        assert camera.findings == ()
        found = [frame.luma for frame in iter_luma(camera.files)]
        truth = [luma(image) for image in pictures(number)]
        assert np.abs(np.mean(found, axis=(1, 2)) - np.mean(truth, axis=(1, 2))).max() < LEVELS
        with av.open(camera.files.paths[0]) as container:
            packets = [bytes(packet) for packet in container.demux(video=0) if packet.size]
        if is_packed:  # without the trailing zeros
            assert packets == [jpeg(image) for image in pictures(number)]
        grey = read_source("cam_grey", clip.sources["cam_grey"], clip.base_uri)
        levels = [float(frame.luma.mean()) for frame in iter_luma(grey.files)]
        np.testing.assert_allclose(levels, pictures(number)[..., 0].mean(axis=(1, 2)), atol=LEVELS)
        state = read_source("state", clip.sources["state"], clip.base_uri)
        assert isinstance(state, SignalStream)
        assert state.time_ns.tolist() == [k * 20_000_000 for k in range(N_STEPS)]
        found_vectors = {channel.name: channel.values for channel in state.channels}
        assert set(found_vectors) == {"qpos", "qvel", "effort"}
        np.testing.assert_array_equal(found_vectors["qvel"], vectors(number + 1))
    assert "ignored observations/images/cam_depth: depth: distances show no light" in notes


@pytest.mark.parametrize("camera", ["agentview_image", "agentview_rgb"])
def test_robomimic_and_libero_keep_their_simulator_s_rate(camera, tmp_path):
    path = write_robomimic(tmp_path / "data", 11, camera=camera)
    assert pick_format(Source(str(path))).name == "hdf5"
    clips, notes = import_clips(path, tmp_path, "hdf5")
    assert [clip.clip_id for clip in clips] == [f"lift/demo_{n}" for n in range(11)]
    assert set(clips[10].sources) == {camera, "state", "action"}
    state = read_source("state", clips[10].sources["state"], clips[10].base_uri)
    assert state.stamp_kind == "counter"
    assert state.time_ns.tolist() == [k * 50_000_000 for k in range(N_STEPS)]
    assert {channel.name for channel in state.channels} == {"robot0_eef_pos", "robot0_joint_vel"}
    np.testing.assert_array_equal(state.channels[0].values, vectors(10, 3))
    assert f"ignored next_obs/{camera}: the simulator's own state, or obs a step later" in notes


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_stated_times_are_taken(shape, tmp_path):
    root = write_aloha(tmp_path / "data", 1)
    times_s = 1.76e9 + np.cumsum([0, 0.02, 0.021, 0.019, 0.02, 0.05])
    with h5py.File(root / "episode_0.hdf5", "a") as file:
        file["observations/timestamp"] = times_s.reshape(shape)
        file["timestamps/qpos"] = times_s + 0.01
    [clip], _ = import_clips(root, tmp_path, "hdf5")
    assert {spec.stamp_kind for spec in clip.sources.values()} == {"receive"}
    state = read_source("state", clip.sources["state"], clip.base_uri)
    # Unix seconds in float64 have steps of 0.24 us.
    np.testing.assert_allclose(np.diff(state.time_ns) * 1e-9, np.diff(times_s), rtol=0, atol=5e-7)
    assert {channel.name for channel in state.channels} == {"effort", "qpos", "qvel"}


@pytest.mark.parametrize(
    ("times", "why"),
    [
        (np.array([0.0, 0.02, np.nan, 0.06, 0.08, 0.1]), "not every item is a number of seconds"),
        (1.76e12 + 20.0 * np.arange(N_STEPS), "not every item is a number of seconds"),
        (20.0 * np.arange(N_STEPS), "as seconds its items would be 20 s apart"),
        (np.float32(1.76e9 + 0.02 * np.arange(N_STEPS)), "float32 holds them in steps of 128 s"),
    ],
)
def test_times_that_are_none_are_not_used(times, why, tmp_path):
    root = write_aloha(tmp_path / "data", 1)
    with h5py.File(root / "episode_0.hdf5", "a") as file:
        file["timestamp"] = times
    verdict, told = verdict_of(root, tmp_path)
    assert verdict is Verdict.UNVERIFIED
    assert f"timestamp is not used: {why}" in told


def verdict_of(root, tmp_path):
    [clip], _ = import_clips(root, tmp_path, "hdf5")
    found = audit(clip)
    return found.verdict, " ".join(each.message for each in (*found.reasons, *found.warnings))


@pytest.mark.parametrize("keep", [0, 100, 3000])
def test_a_file_that_breaks_off_is_rejected_and_the_others_are_read(keep, tmp_path):
    root = write_aloha(tmp_path / "data", 2)
    path = root / "episode_0.hdf5"
    path.write_bytes(path.read_bytes()[:keep])
    clips, _ = import_clips(root, tmp_path, "hdf5")
    verdicts = [audit(clip) for clip in clips]
    assert [each.verdict for each in verdicts] == [Verdict.REJECT, Verdict.UNVERIFIED]
    told = " ".join(each.message for each in verdicts[0].reasons)
    assert "episode_0.hdf5" in told
    assert "not an intact HDF5 file" in told or "the file is empty" in told
    assert "Copy it again" in told


def test_damaged_arrays_are_left_out_and_told(tmp_path):
    root = write_aloha(tmp_path / "data", 1)
    path = root / "episode_0.hdf5"
    with h5py.File(path, "a") as file:
        del file["observations/qpos"]
        packed = file.create_dataset("observations/qpos", data=vectors(0), compression="gzip",
                                     chunks=(N_STEPS, 14))  # fmt: skip
        offset = packed.id.get_chunk_info(0).byte_offset
        del file["observations/qvel"]
        file["observations/qvel"] = vectors(0)[:4]
    data = bytearray(path.read_bytes())
    data[offset : offset + 40] = bytes(40)
    path.write_bytes(data)
    verdict, told = verdict_of(root, tmp_path)
    assert verdict is Verdict.UNVERIFIED
    assert "observations/qpos cannot be read and is left out" in told
    assert "observations/qvel has 4 rows for 6 steps, and is left out" in told


def test_numbers_that_are_none_are_a_finding(tmp_path):
    root = write_aloha(tmp_path / "data", 1)
    with h5py.File(root / "episode_0.hdf5", "a") as file:
        file["observations/qpos"][2, 3] = np.nan
    verdict, told = verdict_of(root, tmp_path)
    assert verdict is Verdict.REJECT
    assert "1 of 6 samples are blank, NaN" in told


def test_links_to_other_files_are_not_followed(tmp_path):
    root = write_aloha(tmp_path / "data", 1)
    secret = tmp_path / "secret.hdf5"
    with h5py.File(secret, "w") as file:
        file["qpos"] = vectors(5)
    with h5py.File(root / "episode_0.hdf5", "a") as file:
        file["observations/stolen"] = h5py.ExternalLink(str(secret), "/qpos")
        layout = h5py.VirtualLayout((N_STEPS, 14), np.float64)
        layout[:] = h5py.VirtualSource(str(secret), "qpos", (N_STEPS, 14))
        file.create_virtual_dataset("observations/virtual", layout)
    [clip], _ = import_clips(root, tmp_path, "hdf5")
    assert set(clip.sources["state"].columns) == {"qpos", "qvel", "effort"}


def test_files_of_something_else_decline(tmp_path):
    with h5py.File(tmp_path / "imu.hdf5", "w") as file:
        file["gyr"] = vectors(0, 3)
    reason = get_format("hdf5").probe(Source(str(tmp_path)))
    assert "holds neither 'action' beside 'observations'" in reason


def test_without_its_package_the_pip_line_is_told(tmp_path, monkeypatch):
    root = write_aloha(tmp_path / "data", 1)
    for module in ("formats.hdf5", "steps.hdf5_file"):
        monkeypatch.setattr(f"syncaudit.datasets.{module}.find_spec", {}.get)
    assert pick_format(Source(str(root))).name == "hdf5"
    with pytest.raises(MissingExtraError, match=r"pip install 'syncaudit\[hdf5\]'"):
        import_clips(root, tmp_path, "hdf5")
