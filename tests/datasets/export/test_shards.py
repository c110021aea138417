"""Shards hold the passed clips byte for byte, and are read back as the same clips."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from dataclasses import asdict, replace
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncaudit.datasets import clip_to_row, load_manifest
from syncaudit.datasets.export import ExportOptions, export_shards
from syncaudit.datasets.importing import import_dataset
from syncaudit.errors import StreamReadError, SyncAuditError, UsageError
from syncaudit.model import CameraSpec, CameraStream, Clip, SignalStream, StateSpec
from syncaudit.readers import read_source
from testkit.data_sets.examples import EXAMPLES
from testkit.data_sets.lerobot_data import write_lerobot_v2, write_lerobot_v3
from testkit.data_sets.plain_folder import write_plain_folder
from testkit.data_sets.webdataset_data import write_webdataset

URIS = ("uri", "timestamps", "dbc", "arrivals", "rows")


def imported(root, out, **options):
    import_dataset(str(root), out, **options)
    return load_manifest(str(out))


def folder_clips(tmp_path, n_clips):
    root = write_plain_folder(tmp_path / "data", n_clips)
    for path in root.glob("*/mic.TextGrid"):
        path.write_text("no transcript, but not empty")
    return imported(root, tmp_path / "manifest" / "m.jsonl")


def all_pass(clip_id):
    return "pass"


def exported(clips, out, verdict_of=all_pass, **options):
    return export_shards(clips, verdict_of, out, ExportOptions(**options))


def read_back(out, tmp_path):
    return imported(out, tmp_path / "back" / "m.jsonl", format_name="webdataset")


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive}


def hashes(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


def content(name: str, clip: Clip):
    """Return everything a reader finds in a source, in a comparable form."""
    try:
        stream = read_source(name, clip.sources[name], clip.base_uri)
    except StreamReadError as error:
        return error.code
    found = [stream.time_ns.tolist(), [f.code for f in stream.findings]]
    if isinstance(stream, SignalStream):
        found += [(c.name, c.time_ns.tolist(), c.values.tobytes()) for c in stream.channels]
    if isinstance(stream, CameraStream):
        found.append([Path(path).read_bytes() for path in stream.files.paths])
    if hasattr(stream, "samples"):
        found.append(np.asarray(stream.samples).tobytes())
    return found


def assert_same(clips, back):
    assert [clip.clip_id for clip in back] == [clip.clip_id for clip in clips]
    for clip, other in zip(clips, back, strict=True):
        assert replace(other, sources={}, base_uri="") == replace(clip, sources={}, base_uri="")
        assert list(other.sources) == list(clip.sources)
        for name, spec in clip.sources.items():
            said, again = asdict(spec), asdict(other.sources[name])
            for key in URIS:
                said.pop(key, None), again.pop(key, None)
            assert again == said
            assert content(name, other) == content(name, clip), f"{name} of {clip.clip_id}"


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"lerobot"}))
def test_shards_of_every_format_are_read_back_alike(name, tmp_path):
    root = EXAMPLES[name].write(tmp_path / "data", 3)
    for path in root.glob("*/mic.TextGrid"):
        path.write_text("no transcript, but not empty")
    clips = imported(root, tmp_path / "m" / "m.jsonl", format_name=name)
    done = exported(clips, tmp_path / "out")
    assert (done.n_clips, done.failed, done.left_out) == (3, {}, {})
    assert_same(clips, read_back(tmp_path / "out", tmp_path))


def test_episodes_with_files_of_their_own_are_packed(tmp_path):
    clips = imported(write_lerobot_v2(tmp_path / "data", 2), tmp_path / "m.jsonl")
    assert exported(clips, tmp_path / "out").failed == {}
    assert_same(clips, read_back(tmp_path / "out", tmp_path))


def test_spans_of_shared_videos_are_left_to_their_own_tools(tmp_path):
    clips = imported(write_lerobot_v3(tmp_path / "data", 2), tmp_path / "m.jsonl")
    done = exported(clips, tmp_path / "out")
    assert done.n_clips == 0
    assert set(done.failed) == {clip.clip_id for clip in clips}
    assert "span of a video that holds several clips" in done.failed["episode_000000"]
    index = json.loads((tmp_path / "out" / "shards.json").read_text())
    assert index["failed"] == done.failed


def test_rows_of_a_shared_table_become_a_table(tmp_path):
    data = {"timestamp_ns": pa.array(range(10)), "q": pa.array(np.arange(10.0))}
    pq.write_table(pa.table(data), tmp_path / "all.parquet")
    spec = StateSpec(uri="all.parquet", rows=[3, 6])
    clip = Clip(clip_id="a", recording_id="a", sources={"arm": spec}, base_uri=str(tmp_path))
    exported([clip], tmp_path / "out")
    [back] = read_back(tmp_path / "out", tmp_path)
    assert back.sources["arm"].rows is None
    stream = read_source("arm", back.sources["arm"], back.base_uri)
    assert stream.time_ns.tolist() == [3, 4, 5]


def test_folders_of_images_keep_their_order(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(12):
        (folder / f"f{number}.png").write_bytes(b"image %d" % number)
    (tmp_path / "t.csv").write_text("timestamp_ns\n" + "".join(f"{k}\n" for k in range(12)))
    spec = CameraSpec(uri="pictures", timestamps="t.csv")
    clip = Clip(clip_id="a", recording_id="a", sources={"cam.0": spec}, base_uri=str(tmp_path))
    exported([clip], tmp_path / "out")
    [back] = read_back(tmp_path / "out", tmp_path)
    paths = read_source("cam.0", back.sources["cam.0"], back.base_uri).files.paths
    assert [Path(path).read_bytes() for path in paths] == [b"image %d" % k for k in range(12)]


def test_samples_of_shards_are_copied_with_all_their_members(tmp_path):
    root = write_webdataset(tmp_path / "data", 50)
    clips = imported(root, tmp_path / "m.jsonl")
    wanted = {clips[k].clip_id for k in (3, 41)}
    exported(clips, tmp_path / "out", lambda name: "pass" if name in wanted else "reject")
    before = {**members(root / "train-000000.tar"), **members(root / "train-000001.tar")}
    after = members(tmp_path / "out" / "shard-000000.tar")
    rows = [name for name in after if name.endswith(".syncaudit.json")]
    assert len(rows) == 2
    assert {name: after[name] for name in after.keys() - rows} == {
        name: data for name, data in before.items() if name[6:12] in ("000003", "000041")
    }
    assert "drive/000003.txt" in after
    assert {clip.clip_id for clip in read_back(tmp_path / "out", tmp_path)} == wanted


def test_keys_that_shards_share_stay_two_samples(tmp_path):
    for name in ("a", "b"):
        write_webdataset(tmp_path / name, 1)
    for name in ("a", "b"):
        (tmp_path / name / "shards" / "train-000000.tar").rename(tmp_path / f"{name}.tar")
    clips = imported(tmp_path / "a.tar", tmp_path / "ma.jsonl")
    clips += imported(tmp_path / "b.tar", tmp_path / "mb.jsonl")
    exported(clips, tmp_path / "out")
    back = read_back(tmp_path / "out", tmp_path)
    assert [clip.clip_id for clip in back] == ["a/drive/000000", "b/drive/000000"]


def test_shards_of_shards_hold_one_row_a_sample(tmp_path):
    clips = imported(write_webdataset(tmp_path / "data", 2), tmp_path / "m.jsonl")
    exported(clips, tmp_path / "first")
    again = read_back(tmp_path / "first", tmp_path)
    exported(again, tmp_path / "second")
    one = members(tmp_path / "first" / "shard-000000.tar")
    two = members(tmp_path / "second" / "shard-000000.tar")
    assert one == two


def test_the_webdataset_package_reads_them(tmp_path):
    webdataset = pytest.importorskip("webdataset")
    clips = folder_clips(tmp_path, 3)
    exported(clips, tmp_path / "out", max_clips=2)
    samples = []
    for path in sorted((tmp_path / "out").glob("*.tar")):
        with path.open("rb") as stream:  # its own opener leaves files open
            source = [{"url": str(path), "stream": stream}]
            files = webdataset.tariterators.tar_file_expander(source)
            grouped = webdataset.tariterators.group_by_keys(files)
            samples += map(webdataset.autodecode.Decoder([]), grouped)
    assert [sample["__key__"] for sample in samples] == [clip.clip_id for clip in clips]
    assert [sample["json"]["clip_id"] for sample in samples] == [clip.clip_id for clip in clips]
    assert samples[0]["cam_front.mp4"] == b"not looked at"


def test_only_what_passed_goes_in_and_the_rest_is_counted(tmp_path):
    clips = folder_clips(tmp_path, 5)
    verdicts = dict(
        zip((c.clip_id for c in clips), ("pass", "reject", "unverified", "pass"), strict=False)
    )
    done = exported(clips, tmp_path / "out", verdicts.get)
    assert done.left_out == {"reject": 1, "unverified": 1, "unknown": 1}
    assert [c.clip_id for c in read_back(tmp_path / "out", tmp_path)] == [
        clips[0].clip_id,
        clips[3].clip_id,
    ]
    more = exported(clips, tmp_path / "out", verdicts.get, include=("pass", "unverified"))
    assert (more.n_clips, more.left_out) == (3, {"reject": 1, "unknown": 1})


def test_the_same_clips_give_the_same_bytes(tmp_path):
    clips = folder_clips(tmp_path, 4)
    exported(clips, tmp_path / "one", max_clips=3)
    for path in (tmp_path / "data").rglob("*.csv"):
        os.utime(path, (1, 1))
    exported(clips, tmp_path / "two", max_clips=3)
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")
    index = json.loads((tmp_path / "one" / "shards.json").read_text())
    for shard in index["shards"]:
        data = (tmp_path / "one" / shard["name"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (shard["bytes"], shard["sha256"])
    assert [shard["clips"] for shard in index["shards"]] == [3, 1]
    with tarfile.open(tmp_path / "one" / "shard-000000.tar") as archive:
        assert {(m.mtime, m.uid, m.gid, m.uname) for m in archive} == {(0, 0, 0, "")}


def test_shards_stay_below_their_size(tmp_path):
    clips = folder_clips(tmp_path, 6)
    done = exported(clips, tmp_path / "out", max_bytes=20_000)
    assert len(done.shards) > 1
    # The end of an archive is padded to 10240 bytes.
    assert all(shard["bytes"] <= 20_000 + 10_240 for shard in done.shards)
    assert done.n_clips == 6


class _Killed(BaseException):
    pass


def stop_at(number):
    def on_clip(n_clips):
        if n_clips == number:
            raise _Killed

    return on_clip


def test_a_stopped_export_goes_on_where_it_stopped(tmp_path):
    clips = folder_clips(tmp_path, 7)
    out, options = tmp_path / "out", ExportOptions(max_clips=2)

    def verdict_of(name):
        return "reject" if name.endswith("1") else "pass"

    with pytest.raises(_Killed):
        export_shards(clips, verdict_of, out, options, on_clip=stop_at(5))
    assert not (out / "shards.json").exists()
    assert [path.name for path in out.glob("*.tar")] == ["shard-000000.tar"]
    made_at = (out / "shard-000000.tar").stat().st_mtime_ns
    seen = []
    done = export_shards(clips, verdict_of, out, options, on_clip=seen.append)
    assert seen[0] > 1
    assert (out / "shard-000000.tar").stat().st_mtime_ns == made_at
    assert done.left_out == {"reject": 1}
    export_shards(clips, verdict_of, tmp_path / "whole", options)
    assert hashes(out) == hashes(tmp_path / "whole")


def test_other_verdicts_or_options_start_anew(tmp_path):
    clips = folder_clips(tmp_path, 7)
    out = tmp_path / "out"
    with pytest.raises(_Killed):
        export_shards(clips, all_pass, out, ExportOptions(max_clips=1), on_clip=stop_at(6))
    done = exported(clips, out, lambda name: "reject" if name.endswith("0") else "pass")
    assert (done.n_clips, len(done.shards)) == (6, 1)
    assert sorted(path.name for path in out.iterdir()) == ["shard-000000.tar", "shards.json"]


def test_a_finished_export_is_done_anew(tmp_path):
    clips = folder_clips(tmp_path, 3)
    exported(clips, tmp_path / "out", max_clips=1)
    exported(clips[:1], tmp_path / "out")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"shard-000000.tar", "shards.json"}


def test_shards_of_others_are_not_touched(tmp_path):
    clips = folder_clips(tmp_path, 1)
    root = write_webdataset(tmp_path / "theirs", 1)
    before = hashes(root)
    with pytest.raises(UsageError, match=r"train-000000\.tar, which no export wrote"):
        exported(clips, root)
    (root / "shards.json").write_text('{"shards": [{"name": "../../precious"}]}')
    with pytest.raises(UsageError, match="not the index of an export"):
        exported(clips, root)
    assert hashes(root).items() >= before.items()


def test_a_clip_whose_file_is_gone_is_told_and_the_others_are_there(tmp_path):
    clips = folder_clips(tmp_path, 3)
    (tmp_path / "data" / "drives" / "clip_000001" / "imu.csv").unlink()
    done = exported(clips, tmp_path / "out")
    assert "not found" in done.failed["clip_000001"]
    back = read_back(tmp_path / "out", tmp_path)
    assert [clip.clip_id for clip in back] == ["clip_000000", "clip_000002"]


def test_a_file_that_shrinks_meanwhile_stops_the_export(tmp_path, monkeypatch):
    from syncaudit.datasets.export.shard_file import Part

    clips = folder_clips(tmp_path, 1)
    whole = Part.of_file.__func__
    monkeypatch.setattr(
        Part, "of_file", lambda name, path: replace(whole(Part, name, path), size=10**6)
    )
    with pytest.raises(SyncAuditError, match="became shorter while it was copied"):
        exported(clips, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*shard-*"))


def test_remote_files_and_shards_are_copied(tmp_path):
    store = fsspec.filesystem("memory")
    root = write_webdataset(tmp_path / "data", 2)
    shard = (root / "train-000000.tar").read_bytes()
    store.pipe("/exp/train-000000.tar", shard)
    store.pipe("/exp/imu.csv", b"timestamp_ns,gyro_x,gyro_y,gyro_z\n1,0,0,0\n2,0,0,1\n")
    rows = [
        {"clip_id": "plain", "sources": {"imu": {"kind": "imu", "uri": "imu.csv"}}},
        {
            "clip_id": "shard",
            "sources": {
                "imu": {"kind": "imu", "uri": "tar://drive/000001.imu.csv::train-000000.tar"}
            },
        },
    ]
    # The last part of a chain starts in the manifest's folder.
    store.pipe("/exp/m.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    clips = load_manifest("memory://exp/m.jsonl")
    assert exported(clips, tmp_path / "out").failed == {}
    found = members(tmp_path / "out" / "shard-000000.tar")
    assert found["plain.imu.csv"] == store.cat("/exp/imu.csv")
    local = members(root / "train-000000.tar")
    assert found["drive/000001.txt"] == local["drive/000001.txt"]
    assert_same(clips, read_back(tmp_path / "out", tmp_path))


def test_a_row_of_someone_else_is_no_row(tmp_path):
    """Whatever a data set stores in its JSON, only parts of the sample are ever named."""
    clips = folder_clips(tmp_path, 1)
    row = clip_to_row(clips[0])  # its URIs are paths, not parts
    path = tmp_path / "theirs" / "a.tar"
    path.parent.mkdir()
    with tarfile.open(path, "w") as archive:
        for name, data in {"1.json": json.dumps(row).encode(), "1.imu.csv": b"t\n"}.items():
            (tmp_path / "member").write_bytes(data)
            archive.add(tmp_path / "member", name)
    [clip] = imported(path, tmp_path / "x.jsonl")
    assert list(clip.sources) == ["imu"]
    assert clip.clip_id == "a/1"
