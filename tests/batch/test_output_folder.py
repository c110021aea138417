"""Outputs on object stores: written locally, uploaded periodically, downloaded to resume."""

import json
import time
from dataclasses import replace

import fsspec
import pytest

from syncaudit.batch import OutputFolder, fetch_outputs, run_batch
from syncaudit.datasets import clip_to_row, load_manifest
from syncaudit.errors import StreamReadError, UsageError
from syncaudit.ingest import VerdictIndex
from syncaudit.readers import access
from testkit.fake_audits import POLICY, audit, make_clip


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Return an empty memory file system."""
    monkeypatch.setattr(access, "_SILENT", set())
    monkeypatch.setattr(access, "_BACK_OFF_S", 0.0)
    files = fsspec.filesystem("memory")
    if files.exists("/out"):
        files.rm("/out", recursive=True)
    return files


def run(place, clips, **options):
    return run_batch(
        clips,
        POLICY,
        out=place.folder,
        workers=0,
        audit=audit,
        to_row=place.to_row(clip_to_row),
        **options,
    )


def names(store):
    return {path.rpartition("/")[2] for path in store.ls("/out", detail=False)}


def test_a_url_gets_what_a_local_folder_gets(store, tmp_path):
    clips = [make_clip(name, base_uri=str(tmp_path)) for name in ("ok", "reject", "silent")]
    run_batch(clips, POLICY, out=tmp_path / "out", workers=0, audit=audit, to_row=clip_to_row)
    with OutputFolder("memory://out", cache=tmp_path / "cache") as place:
        run(place, clips)
    local = {path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")}
    assert names(store) == local
    rows = [json.loads(line) for line in store.cat("/out/verdicts.jsonl").splitlines()]
    assert [row["verdict"] for row in rows] == ["pass", "reject", "unverified"]
    assert not list((tmp_path / "cache" / "outputs").iterdir())  # nothing is left behind


def test_manifests_of_what_passed_resolve_from_the_url(store, tmp_path):
    local = make_clip("ok1", base_uri=str(tmp_path))
    there = make_clip("ok2", base_uri="memory://data/set")
    with OutputFolder("memory://out/", cache=tmp_path) as place:
        run(place, [local, there])
    one, two = load_manifest("memory://out/passed.jsonl")
    assert one.sources["imu"].uri == str(tmp_path / "imu.csv")
    assert (two.base_uri, two.sources["imu"].uri) in {
        ("memory://out", "memory://data/set/imu.csv"),
        ("memory://out", "../data/set/imu.csv"),
    }


def test_another_machine_goes_on_where_this_one_stopped(store, tmp_path, monkeypatch):
    for name in ("cam.mp4", "cam.csv", "imu.csv"):
        (tmp_path / name).write_text("data")
    clips = [make_clip(f"ok{k}", base_uri=str(tmp_path)) for k in range(4)]
    with OutputFolder("memory://out", cache=tmp_path / "one") as place:
        run(place, clips[:3])
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv("FAKE_MARKS", str(marks))
    with OutputFolder("memory://out", cache=tmp_path / "two") as place:
        summary = run(place, clips)
    assert summary.reused == 3
    assert [path.name.partition(".")[0] for path in marks.iterdir()] == ["ok3"]
    assert len(store.cat("/out/verdicts.jsonl").splitlines()) == 4


class _Killed(BaseException):
    pass


def test_a_killed_run_finds_its_own_ledger_again(store, tmp_path):
    """It holds more than was uploaded."""
    for name in ("cam.mp4", "cam.csv", "imu.csv"):
        (tmp_path / name).write_text("data")
    clips = [make_clip(f"ok{k}", base_uri=str(tmp_path)) for k in range(4)]

    def kill(state):
        if state.done == 1:
            place.checkpoint()
        if state.done == 3:
            raise _Killed

    with pytest.raises(_Killed), OutputFolder("memory://out", cache=tmp_path / "c") as place:
        run(place, clips, on_progress=kill)
    assert len(store.cat("/out/verdicts.jsonl").splitlines()) == 1
    with OutputFolder("memory://out", cache=tmp_path / "c") as place:
        assert run(place, clips).reused == 3


def test_what_another_machine_sent_meanwhile_counts(store, tmp_path):
    """Neither ledger is mixed into the other."""
    clips = [make_clip(f"ok{k}") for k in range(3)]

    def kill(state):
        if state.done == 1:
            place.checkpoint()
            raise _Killed

    with pytest.raises(_Killed), OutputFolder("memory://out", cache=tmp_path / "one") as place:
        run(place, clips, on_progress=kill)
    with OutputFolder("memory://out", cache=tmp_path / "two") as place:
        run(place, clips[1:], prune=True)
    with OutputFolder("memory://out", cache=tmp_path / "one") as place:
        lines = (place.folder / "verdicts.jsonl").read_text().splitlines()
        assert [json.loads(line)["clip_id"] for line in lines] == ["ok1", "ok2"]


def test_the_ledger_is_sent_while_the_run_is_on(store, tmp_path, monkeypatch):
    monkeypatch.setattr("syncaudit.batch.output_folder._SEND_EVERY_S", -1.0)
    monkeypatch.setattr("syncaudit.batch.output_folder._SHARE_OF_TIME", 1e9)
    sizes = []

    def tell(state):
        there = store.exists("/out/verdicts.jsonl")
        sizes.append(len(store.cat("/out/verdicts.jsonl").splitlines()) if there else 0)

    with OutputFolder("memory://out", cache=tmp_path) as place:
        run(place, [make_clip(f"ok{k}") for k in range(3)], on_progress=place.sending(tell))
    assert sizes == [0, 0, 1, 2]


def test_a_store_that_fails_for_a_while_stops_no_run(store, tmp_path, monkeypatch):
    monkeypatch.setattr("syncaudit.batch.output_folder._SEND_EVERY_S", -1.0)
    with OutputFolder("memory://out", cache=tmp_path) as place:
        put = type(store).put_file
        with monkeypatch.context() as patch:
            patch.setattr(type(store), "put_file", _refuse)
            run(place, [make_clip("ok")], on_progress=place.sending(str))
            assert not store.exists("/out/verdicts.jsonl")
        assert type(store).put_file is put
    assert store.exists("/out/verdicts.jsonl")


def _refuse(*args, **kwargs):
    raise OSError("503 slow down")


def test_outputs_that_cannot_be_sent_are_kept_and_sent_by_the_next_run(
    store, tmp_path, monkeypatch
):
    for name in ("cam.mp4", "cam.csv", "imu.csv"):
        (tmp_path / name).write_text("data")
    clips = [make_clip("ok", base_uri=str(tmp_path))]
    place = OutputFolder("memory://out", cache=tmp_path / "c")
    place.__enter__()
    run(place, clips)
    with monkeypatch.context() as patch:
        patch.setattr(type(store), "put_file", _refuse)
        with pytest.raises(UsageError, match=r"cannot be sent; they are kept in .*503 slow down"):
            place.__exit__(None, None, None)
    with OutputFolder("memory://out", cache=tmp_path / "c") as place:
        assert run(place, clips).reused == 1
    assert "summary.json" in names(store)


def test_a_url_that_cannot_be_written_to_is_told_before_the_audit(tmp_path, monkeypatch, store):
    monkeypatch.setattr(type(store), "pipe_file", _refuse)
    with (
        pytest.raises(UsageError, match=r"cannot be written to .*503.*credentials"),
        OutputFolder("memory://out", cache=tmp_path),
    ):
        pytest.fail("nothing shall run")


@pytest.mark.parametrize("method", ["pipe_file", "put_file", "exists"])
def test_a_store_that_never_answers_holds_no_run_up(tmp_path, monkeypatch, store, method):
    monkeypatch.setattr(access, "REMOTE_WAIT_S", 0.05)
    monkeypatch.setattr(access, "_SILENT_WAIT_S", 0.05)
    with OutputFolder("memory://out", cache=tmp_path / "one") as place:
        run(place, [make_clip("ok")])
    monkeypatch.setattr(type(store), method, lambda *_, **__: time.sleep(2.0))
    began = time.monotonic()
    with (
        pytest.raises(UsageError, match="did not answer within"),
        OutputFolder("memory://out", cache=tmp_path / "two") as place,
    ):
        run(place, [make_clip("ok")])
    if method == "exists":
        with pytest.raises(StreamReadError, match="did not answer within"):
            VerdictIndex.load("memory://out")
    assert time.monotonic() - began < 1.5


def test_a_second_run_here_leaves_the_first_alone(store, tmp_path):
    def second(state):
        with (
            pytest.raises(UsageError, match="another run is writing"),
            OutputFolder("memory://out", cache=tmp_path) as other,
        ):
            run(other, [make_clip("ok")])

    with OutputFolder("memory://out", cache=tmp_path) as place:
        summary = run(place, [make_clip("ok")], on_progress=second)
    assert summary.done == 1
    assert "summary.json" in names(store)


def test_episode_lists_that_no_longer_hold_are_taken_away(store, tmp_path):
    from syncaudit.model import Origin

    episode = replace(make_clip("ok"), origin=Origin(dataset="d", episode_index=0))
    with OutputFolder("memory://out", cache=tmp_path) as place:
        run(place, [episode])
    assert "keep.json" in names(store)
    with OutputFolder("memory://out", cache=tmp_path) as place:
        run(place, [make_clip("ok")])
    assert "keep.json" not in names(store)


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_local_folders_are_written_to_themselves(tmp_path, prefix):
    with OutputFolder(f"{prefix}{tmp_path}/here") as place:
        assert not place.is_remote
        run(place, [make_clip("ok")])
    assert (tmp_path / "here" / "verdicts.parquet").exists()
    assert fetch_outputs(f"{prefix}{tmp_path}/here", tmp_path) == tmp_path / "here"


def test_a_run_takes_no_url_for_a_folder():
    with pytest.raises(UsageError, match=r"local folders.*OutputFolder"):
        run_batch([make_clip("ok")], POLICY, out="memory://out", workers=0, audit=audit)


def test_a_killed_rerun_is_not_believed_on_a_store(store, tmp_path):
    clips = [make_clip(f"ok{k}") for k in range(3)]
    with OutputFolder("memory://out", cache=tmp_path) as place:
        run(place, clips, on_progress=place.sending(lambda _: None))
    assert VerdictIndex.load("memory://out").admits("ok0")

    seen = []

    def kill(state):
        if seen:
            raise _Killed
        seen.append(state)  # the store is notified after this

    with pytest.raises(_Killed), OutputFolder("memory://out", cache=tmp_path) as place:
        run(place, [*clips, make_clip("ok3")], on_progress=place.sending(kill))
    for name in ("", "/verdicts.parquet", "/verdicts.jsonl"):
        with pytest.raises(UsageError, match="stopped early or is still running"):
            VerdictIndex.load(f"memory://out{name}")
    with OutputFolder("memory://out", cache=tmp_path) as place:
        run(place, [*clips, make_clip("ok3")])
    assert VerdictIndex.load("memory://out").admits("ok0")


@pytest.mark.parametrize("name", ["report.html", "summary.json", "verdicts.jsonl"])
def test_files_of_others_on_a_store_stay(store, tmp_path, name):
    store.pipe(f"/out/{name}", b"stranger")
    with (
        pytest.raises(UsageError, match=rf"{name}: exists, and syncaudit did not write it"),
        OutputFolder("memory://out", cache=tmp_path),
    ):
        pass
    assert store.cat(f"/out/{name}") == b"stranger"
    with OutputFolder("memory://out", cache=tmp_path, force=True) as place:
        run(place, [make_clip("ok")], force=True)
    assert store.cat(f"/out/{name}") != b"stranger"


def test_an_empty_place_is_refused():
    with pytest.raises(UsageError, match="--out is empty"):
        OutputFolder("")
