from __future__ import annotations

import re

import h5py
import numpy as np
import pytest

from syncaudit.model import Severity, SignalStream, Verdict
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.data_sets.droid_data import SERIAL, STEPS_MS, write_droid
from testkit.data_sets.hdf5_data import N_STEPS, vectors
from testkit.data_sets.importing import import_clips
from testkit.data_sets.stills import frame
from testkit.videos import grey_frame, write_video

CAMERA = f"cam_{SERIAL}"


@pytest.fixture
def root(tmp_path):
    return write_droid(tmp_path / "data", 1)


def change(root):
    (path,) = root.rglob("trajectory.h5")
    return h5py.File(path, "a")


def test_every_stream_has_its_own_times(root, tmp_path):
    [clip], notes = import_clips(root, tmp_path, "droid")
    assert clip.clip_id == "LAB/success/2023-07-07/Fri_Jul__7_09:00:23_2023"
    assert set(clip.sources) == {CAMERA, "state", "action"}
    streams = {n: read_source(n, spec, clip.base_uri) for n, spec in clip.sources.items()}
    assert all(stream.findings == () for stream in streams.values())
    camera, state, action = streams[CAMERA], streams["state"], streams["action"]
    assert camera.n_frames_container == N_STEPS
    assert camera.time_ns.tolist() == ((STEPS_MS - 41) * 10**6).tolist()
    assert camera.arrivals.receive_ns.tolist() == ((STEPS_MS + 9) * 10**6).tolist()
    assert state.time_ns.tolist() == ((STEPS_MS + 2) * 10**6).tolist()
    assert state.stamp_kind == "receive"
    assert action.time_ns.tolist() == ((STEPS_MS + 20) * 10**6).tolist()
    assert isinstance(state, SignalStream)
    assert {channel.name for channel in state.channels} == {"joint_positions", "gripper_position"}
    np.testing.assert_array_equal(action.channels[0].values, vectors(1, 7))
    assert any("both eyes" in text for text in notes)


@pytest.mark.parametrize(("n_lacking", "codes"), [(1, []), (2, ["length_mismatch"])])
def test_video_without_its_last_frame_keeps_the_times_of_the_others(
    n_lacking, codes, root, tmp_path
):
    (path,) = root.rglob(f"{SERIAL}.mp4")
    write_video(path, [grey_frame(frame(k)[..., 0]) for k in range(N_STEPS - n_lacking)], rate=15)
    [clip], _ = import_clips(root, tmp_path, "droid")
    camera = read_source(CAMERA, clip.sources[CAMERA], clip.base_uri)
    defects = [str(each.code) for each in camera.findings if each.severity is Severity.DEFECT]
    assert defects == codes
    assert camera.time_ns[:4].tolist() == ((STEPS_MS[:4] - 41) * 10**6).tolist()
    assert any("the last is taken as missing" in each.message for each in camera.findings) is (
        n_lacking == 1
    )


@pytest.mark.parametrize(
    ("name", "value", "pattern"),
    [
        ("observation/timestamp/control", None, "has no numeric array .*control_start"),
        ("observation/robot_state/joint_positions", vectors(0, 7)[:4], "differ in length"),
        (f"observation/timestamp/cameras/{SERIAL}_read_end", None, "has no numeric array"),
    ],
)
def test_what_is_missing_is_a_fault_of_its_episode(name, value, pattern, root, tmp_path):
    with change(root) as file:
        del file[name]
        if value is not None:
            file[name] = value
    [clip], _ = import_clips(root, tmp_path, "droid")
    verdict = audit(clip)
    assert verdict.verdict is Verdict.REJECT
    (told,) = [each.message for each in verdict.reasons if "trajectory.h5" in each.message]
    assert re.search(pattern, told)
    assert told.endswith("Copy it again.")


def test_what_only_a_kit_can_read_is_told(root, tmp_path):
    (episode,) = [path.parent for path in root.rglob("trajectory.h5")]
    (episode / "recordings/SVO").mkdir()
    (episode / "recordings/SVO/1.svo").write_bytes(b"")
    _, notes = import_clips(root, tmp_path, "droid")
    assert any("only the camera's own SDK reads them; convert to MP4" in text for text in notes)
