from __future__ import annotations

import tomllib
from functools import partial

import pytest

from syncaudit.datasets.importing import import_dataset
from syncaudit.errors import ManifestError, UsageError
from syncaudit.readers import read_source
from syncaudit.readers.camera import FrameStamps
from testkit.data_sets.importing import import_clips
from testkit.data_sets.logger_data import RACEBOX
from testkit.data_sets.plain_folder import write_plain_folder

imported = partial(import_clips, format_name="folder")


def test_it_says_what_it_took_for_what_and_what_it_ignored(tmp_path):
    clips, notes = imported(write_plain_folder(tmp_path / "data", 3), tmp_path)
    assert [clip.clip_id for clip in clips] == [f"clip_{n:06d}" for n in range(3)]
    assert notes["signal YawRate -> yaw_rate"] == 3
    assert notes["ignored *.txt: no rule matches it"] == 3
    assert notes["imu*.csv imu*.parquet -> imu"] == 3


def test_sources_can_be_read(tmp_path):
    clips, _ = imported(write_plain_folder(tmp_path / "data", 1), tmp_path)
    bus = read_source("can", clips[0].sources["can"], clips[0].base_uri)
    assert bus.channel("yaw_rate").values.tolist() == [[0.01]]
    assert read_source("imu", clips[0].sources["imu"], clips[0].base_uri).findings == ()


def test_a_folder_without_sub_folders_is_one_clip(tmp_path):
    root = write_plain_folder(tmp_path / "data", 1)
    clips, _ = imported(root / "clip_000000", tmp_path)
    assert [clip.clip_id for clip in clips] == ["clip_000000"]


def test_a_bus_whose_signals_are_unknown_is_left_out_and_told(tmp_path):
    root = write_plain_folder(tmp_path / "data", 1)
    (root / "vehicle.dbc").write_text('BO_ 1 M: 8 E\n SG_ X17 : 0|8@1+ (1,0) [0|1] "" E\n')
    clips, notes = imported(root, tmp_path)
    assert "can" not in clips[0].sources
    assert any(note.startswith("ignored can: no signal is known by its name") for note in notes)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_of_a_decoded_bus_are_known_by_their_names(form, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    clip = tmp_path / "data" / "a"
    clip.mkdir(parents=True)
    if form == "csv":
        (clip / "can.csv").write_text("timestamp_ns,vehicle_speed,x\n1,2,3\n")
    else:
        table = pa.table({"timestamp_ns": [1], "vehicle_speed": [2.0]})
        pq.write_table(table, clip / "can.parquet")
    clips, _ = imported(tmp_path / "data", tmp_path)
    assert clips[0].sources["can"].signals == {"speed": "vehicle_speed"}


def test_files_without_any_stamps_start_together(tmp_path):
    clip = tmp_path / "data" / "a"
    clip.mkdir(parents=True)
    (clip / "cam.mp4").write_bytes(b"v")
    (clip / "mic.wav").write_bytes(b"a")
    clips, notes = imported(tmp_path / "data", tmp_path)
    assert {spec.start_ns for spec in clips[0].sources.values()} == {0}
    assert all(spec.is_start_assumed for spec in clips[0].sources.values())
    assert any("assumed to start together" in note for note in notes)


def test_a_camera_without_stamps_is_taken_to_begin_with_stamped_sources(tmp_path):
    root = write_plain_folder(tmp_path / "data", 1)
    (root / "clip_000000" / "cam_front.csv").unlink()
    clips, notes = imported(root, tmp_path)
    spec = clips[0].sources["cam_front"]
    assert spec.start_ns is None
    assert spec.is_start_assumed
    assert "nothing states when cam_front began: assumed to begin with the others" in notes


def test_the_manifest_may_not_lie_in_the_data_set(tmp_path):
    root = write_plain_folder(tmp_path / "data", 1)
    with pytest.raises(UsageError, match="inside the data set"):
        import_dataset(str(root), root / "m.jsonl", format_name="folder")


def test_a_wrong_format_is_told(tmp_path):
    root = write_plain_folder(tmp_path / "data", 1)
    with pytest.raises(UsageError, match=r"no format 'folders'.*Did you mean 'folder'"):
        imported(root, tmp_path, format_name="folders")
    with pytest.raises(ManifestError, match="not a nuscenes data set"):
        imported(root, tmp_path, format_name="nuscenes")


def test_remote_folders_are_imported_alike(tmp_path):
    import fsspec

    root = write_plain_folder(tmp_path / "data", 2)
    memory = fsspec.filesystem("memory")
    for path in root.rglob("*"):
        if path.is_file():
            memory.pipe(f"/drives/{path.relative_to(root)}", path.read_bytes())
    clips, _ = imported("memory://drives", tmp_path)
    assert [clip.clip_id for clip in clips] == ["clip_000000", "clip_000001"]
    imu = clips[1].sources["imu"]
    assert imu.uri == "memory://drives/clip_000001/imu.csv" or imu.uri.startswith("memory://")
    assert read_source("imu", imu, clips[1].base_uri).time_ns.size == 5


def write_unknown_names(root):
    """Write two videos and tables with names that no rule knows."""
    clip = root / "take_1"
    clip.mkdir(parents=True)
    (clip / "front.mp4").write_bytes(b"v")
    (clip / "rear.mp4").write_bytes(b"v")
    (clip / "stamps_front.csv").write_text("frame,time_ns\n0,17\n1,18\n")
    (clip / "body.csv").write_text("#time,wx,wy,wz,ax,ay,az\n17,1,2,3,4,5,6\n18,1,2,3,4,5,6\n")
    (clip / "bus [1].csv").write_text("t,VehicleSpeed,Other\n0.5,1,2\n")
    (clip / "arm.csv").write_text("timestamp_ns,elbow\n17,1\n")
    (clip / "ticks.csv").write_text("timestamp_ns\n17\n")
    (clip / "notes.txt").write_text("ignored")
    return root


def test_a_folder_that_nothing_dates_is_refused_with_rules_to_start_from(tmp_path):
    root = write_unknown_names(tmp_path / "data")
    with pytest.raises(UsageError, match="no source has times, and no rule matches") as caught:
        imported(root, tmp_path)
    for name in ("arm.csv", "body.csv", "bus [1].csv", "stamps_front.csv", "ticks.csv"):
        assert name in caught.value.message
    assert "notes.txt" not in caught.value.message
    assert not (tmp_path / "out" / "m.jsonl").exists()


def test_the_rules_to_start_from_take_every_table(tmp_path):
    root = write_unknown_names(tmp_path / "data")
    with pytest.raises(UsageError) as caught:
        imported(root, tmp_path)
    rules = tomllib.loads(caught.value.hint.partition("\n\n")[2])
    clips, notes = imported(root, tmp_path, rules=rules)
    sources = clips[0].sources
    assert {name: str(spec.kind) for name, spec in sources.items()} == {
        "front": "camera",
        "rear": "camera",
        "body": "imu",
        "bus [1]": "can",
        "arm": "state",
        "ticks": "events",
    }
    assert sources["front"].timestamps.endswith("stamps_front.csv")
    assert sources["front"].stamps == "time_ns"
    assert sources["rear"].timestamps is None
    assert sources["bus [1]"].signals == {"speed": "VehicleSpeed"}
    imu = read_source("body", sources["body"], clips[0].base_uri)
    assert imu.findings == ()
    assert imu.channel("gyro").values.tolist() == [[1.0, 2.0, 3.0]] * 2
    assert notes["ignored *.txt: no rule matches it"] == 1


def test_one_dated_clip_lets_the_import_go_on(tmp_path):
    root = write_unknown_names(write_plain_folder(tmp_path / "data", 1))
    clips, _ = imported(root, tmp_path)
    front = clips[1].sources["front"]
    assert (front.start_ns, front.is_start_assumed) == (0, True)


def test_a_single_file_is_its_own_zero(tmp_path):
    clip = tmp_path / "data" / "a"
    clip.mkdir(parents=True)
    (clip / "mic.wav").write_bytes(b"a")
    (clip / "mic.TextGrid").write_text("")
    clips, _ = imported(tmp_path / "data", tmp_path)
    assert not clips[0].sources["mic"].is_start_assumed


PHONES = {
    "sensor_logger": {
        "Gyroscope.csv": "time,seconds_elapsed,z,y,x\n1767225600000000000,0.1,3,2,1\n",
        "TotalAcceleration.csv": "time,seconds_elapsed,z,y,x\n1767225600000000000,0.1,3,2,1\n",
    },
    "mars": {
        "movie.mp4": "not looked at",
        "frame_timestamps.txt": "Frame timestamp[nanosec],Unix time[nanosec]\n5,1\n6,2\n",
        "gyro_accel.csv": "Timestamp[nanosec],gx[rad/s],gy[rad/s],gz[rad/s],ax[m/s^2],ay[m/s^2],"
        "az[m/s^2],Unix time[nanosec]\n5,1,2,3,1,2,3,1\n",
    },
    "opencamera": {
        "VID_1.mp4": "not looked at",
        "VID_1_timestamps.csv": "5\n6\n",
        "VID_1gyro.csv": "1,2,3,5\n",
        "VID_1accel.csv": "1,2,3,5\n",
    },
    "racebox": {
        "imu.csv": "timestamp_ns,gyro_x,gyro_y,gyro_z\n5,1,2,3\n",
        "session.csv": RACEBOX,
    },
}


@pytest.mark.parametrize("phone", PHONES)
def test_files_of_phones_and_loggers_are_known(tmp_path, phone):
    folder = tmp_path / "data" / "one"
    folder.mkdir(parents=True)
    for name, content in PHONES[phone].items():
        (folder / name).write_text(content)
    (clip,), _ = import_clips(tmp_path / "data", tmp_path, format_name="folder")
    seen = set()
    for name, spec in clip.sources.items():
        if spec.kind == "camera":
            assert FrameStamps.read(spec, clip.base_uri).time_ns.tolist() == [5, 6]
            assert spec.stamp_at == "start_of_frame"
            continue
        stream = read_source(name, spec, clip.base_uri)
        seen |= {channel.name for channel in stream.channels}
        if phone != "racebox":
            assert stream.channels[0].values[0].tolist() == [1, 2, 3]
            assert stream.time_ns[0] in (5, 1767225600000000000)
    assert {"gyro", "accel"} <= seen
