"""How a folder without a manifest is interpreted."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syncaudit_calibration.recording import find_recording

from syncaudit.errors import ManifestError, UsageError
from syncaudit.model import AudioSpec, CameraSpec, CanSpec, EventsSpec, ImuSpec
from testkit.places import SAMPLE_DATA

FLASHES = SAMPLE_DATA / "flashes"


@pytest.fixture
def folder(tmp_path):
    """Return the sample recording with flashes, without a manifest."""
    for path in FLASHES.iterdir():
        if path.suffix in (".mp4", ".csv", ".log", ".dbc"):
            shutil.copy(path, tmp_path / path.name)
    return tmp_path


def test_videos_take_the_stamps_named_after_them(folder):
    clip = find_recording(str(folder))
    cameras = {n: s for n, s in clip.sources.items() if isinstance(s, CameraSpec)}
    assert cameras
    assert all(spec.timestamps == f"{name}.csv" for name, spec in cameras.items())
    assert clip.base_uri == str(folder)


def test_stamps_may_be_called_timestamps(folder):
    (folder / "cam_front.csv").rename(folder / "cam_front_timestamps.csv")
    clip = find_recording(str(folder))
    assert clip.sources["cam_front"].timestamps == "cam_front_timestamps.csv"


def test_a_video_without_stamps_goes_by_its_container(folder):
    (folder / "cam_front.csv").unlink()
    spec = find_recording(str(folder)).sources["cam_front"]
    assert spec.timestamps is None
    assert spec.start_ns == 0


def test_tables_are_known_by_their_columns(folder):
    (folder / "button.csv").write_text("timestamp_ns\n1\n2\n", encoding="utf-8")
    (folder / "notes.csv").write_text("who,what\na,b\n", encoding="utf-8")
    (folder / "broken.csv").write_bytes(b"\xff\xfe\x00\xd8")
    clip = find_recording(str(folder))
    assert isinstance(clip.sources["button"], EventsSpec)
    assert isinstance(clip.sources["imu"], ImuSpec)
    assert {"notes", "broken"}.isdisjoint(clip.sources)


def test_tables_may_be_parquet(folder):
    pq.write_table(pa.table({"timestamp_ns": [1, 2]}), folder / "button.parquet")
    (folder / "broken.parquet").write_bytes(b"PAR1")
    clip = find_recording(str(folder))
    assert isinstance(clip.sources["button"], EventsSpec)
    assert "broken" not in clip.sources


def test_sound_counts_where_it_has_stamps(folder):
    for name in ("mic.wav", "room.wav"):
        (folder / name).write_bytes(b"")
    (folder / "mic.csv").write_text("timestamp_ns,sample\n1,0\n", encoding="utf-8")
    clip = find_recording(str(folder))
    assert clip.sources["mic"] == AudioSpec(uri="mic.wav", timestamps="mic.csv")
    assert "room" not in clip.sources


def test_the_strobe_of_the_only_database_is_found(folder):
    clip = find_recording(str(folder))
    buses = [spec for spec in clip.sources.values() if isinstance(spec, CanSpec)]
    assert [dict(spec.signals) for spec in buses] == [{"strobe": "StrobeCount"}]


def test_two_databases_are_not_guessed_between(folder):
    (database,) = folder.glob("*.dbc")
    shutil.copy(database, folder / "other.dbc")
    assert not any(isinstance(s, CanSpec) for s in find_recording(str(folder)).sources.values())


def test_a_manifest_in_the_folder_is_preferred():
    clip = find_recording(str(SAMPLE_DATA), "flashes")
    assert clip.clip_id == "flashes"


def test_several_clips_need_a_name():
    with pytest.raises(UsageError, match="--clip ID"):
        find_recording(str(SAMPLE_DATA))


def test_an_empty_folder(tmp_path):
    with pytest.raises(UsageError, match="nothing to calibrate"):
        find_recording(str(tmp_path))


def test_no_such_file(tmp_path):
    with pytest.raises(ManifestError, match="cannot be read"):
        find_recording(str(tmp_path / "absent.jsonl"))
