"""The ledger survives kills, corrupt data and concurrent writers."""

import json
import os
from pathlib import Path

import pytest

from syncaudit.batch.ledger import Ledger, VerdictFile
from syncaudit.errors import UsageError
from syncaudit.readers.runs import sealed


def line(clip_id, verdict="pass", fingerprint="f"):
    return json.dumps({"clip_id": clip_id, "verdict": verdict, "fingerprint": fingerprint})


def write(path, *names):
    with Ledger(path) as ledger:
        for name in names:
            ledger.append(name, "pass", "f", line(name))


def test_what_was_appended_is_read_again(tmp_path):
    path = tmp_path / "v.jsonl"
    write(path, "a", "ü")
    with Ledger(path) as ledger:
        assert ledger.entry("ü").fingerprint == "f"
        assert ledger.verdict("a") == "pass"
        assert ledger.verdict("b") is None
        assert "a" in ledger
        assert [row["clip_id"] for row in ledger.rows(["ü", "b", "a"])] == ["ü", "a"]


def test_every_cut_leaves_whole_lines(tmp_path):
    path = tmp_path / "v.jsonl"
    write(path, "a", "b")
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        write(path, "c")
        names = [json.loads(x)["clip_id"] for x in path.read_text().splitlines()]
        assert names == (["a", "c"] if cut >= first else ["c"])


def test_garbage_between_lines_is_passed_over(tmp_path):
    path = tmp_path / "v.jsonl"
    write(path, "a")
    with path.open("ab") as file:
        file.write(b'\xff\x00\n[1]\n{"clip_id": 3, "verdict": "pass"}\n{"clip_id": "x"}\n')
    write(path, "b")
    with Ledger(path) as ledger:
        assert [row["clip_id"] for row in ledger.rows(["a", "x", "b"])] == ["a", "b"]


def test_the_later_line_counts(tmp_path):
    path = tmp_path / "v.jsonl"
    with Ledger(path) as ledger:
        ledger.append("a", "pass", "f", line("a"))
        ledger.append("a", "reject", "g", line("a", "reject", "g"))
    with Ledger(path) as ledger:
        assert (ledger.verdict("a"), ledger.entry("a").fingerprint) == ("reject", "g")


def test_rewriting_orders_and_leaves_out(tmp_path):
    path = tmp_path / "v.jsonl"
    with Ledger(path) as ledger:
        for name in "abc":
            ledger.append(name, "pass", "f", line(name))
        ledger.outdate("b")
        ledger.rewrite(["c", "b", "a"])
    assert [json.loads(x)["clip_id"] for x in path.read_text().splitlines()] == ["c", "a"]


def test_two_runs_do_not_share_a_folder(tmp_path):
    with (
        Ledger(tmp_path / "v.jsonl"),
        pytest.raises(UsageError, match="another run is writing"),
    ):
        Ledger(tmp_path / "v.jsonl")
    Ledger(tmp_path / "v.jsonl").close()


def test_interrupt_while_a_line_is_written_loses_no_whole_line(tmp_path, monkeypatch):
    write_now = os.write
    with Ledger(tmp_path / "v.jsonl") as ledger:
        ledger.append("a", "pass", "f", line("a"))

        def written(handle, data):
            write_now(handle, data)
            raise KeyboardInterrupt

        def torn(handle, data):
            write_now(handle, data[:7])
            raise KeyboardInterrupt

        for name, interrupted in (("b", written), ("c", torn)):
            monkeypatch.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.append(name, "pass", "f", line(name))
            monkeypatch.undo()
            ledger.settle()
        assert ledger.verdict("c") is None
        ledger.rewrite(["a", "b", "c"])
    names = [json.loads(x)["clip_id"] for x in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert names == ["a", "b"]


def test_lines_stay_those_that_were_indexed_when_the_file_is_replaced(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    path.write_text('{"clip_id": "a", "verdict": "pass"}\n')
    file = VerdictFile(path, partial=True)
    (tmp_path / "new").write_text('{"clip_id": "other", "verdict": "reject"}\n' * 3)
    (tmp_path / "new").replace(path)
    assert file.line("a") == '{"clip_id": "a", "verdict": "pass"}'


def test_a_verdict_file_is_closed_when_it_is_let_go(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    path.write_text('{"clip_id": "a", "verdict": "pass"}\n')
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        assert VerdictFile(path, partial=True).line("a")
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1


@pytest.fixture
def synced(monkeypatch):
    """Record, in order, the content of each file when it was synced, and what was replaced."""
    done = []
    sync_now, replace_now = os.fsync, Path.replace

    def sync(handle):
        done.append(("sync", Path(f"/proc/self/fd/{handle}").read_bytes()))
        sync_now(handle)

    def replace(self, target):
        done.append(("replace", Path(target).name))
        return replace_now(self, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", replace)
    return done


def test_what_was_appended_reaches_the_disk_within_a_second(tmp_path, monkeypatch, synced):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    path = tmp_path / "v.jsonl"
    with Ledger(path) as ledger:
        ledger.append("a", "pass", "f", line("a"))
        assert synced == []  # not with every line: that would cost more than an audit
        now[0] += 1.01
        ledger.append("b", "pass", "f", line("b"))
        assert synced == [("sync", path.read_bytes())]
        ledger.append("c", "pass", "f", line("c"))
        assert len(synced) == 1


def test_a_closed_ledger_is_on_the_disk(tmp_path, synced):
    path = tmp_path / "v.jsonl"
    write(path, "a", "b")
    assert synced == [("sync", path.read_bytes())]


def test_a_rewritten_ledger_is_on_the_disk_before_it_takes_the_place_of_the_old(tmp_path, synced):
    path = tmp_path / "v.jsonl"
    with Ledger(path) as ledger:
        for name in "abc":
            ledger.append(name, "pass", "f", line(name))
        synced.clear()
        ledger.rewrite("ca")
        whole = path.read_bytes()
        assert synced.index(("sync", whole)) < synced.index(("replace", path.name))


def test_a_verdict_of_another_version_is_named(tmp_path):
    path = tmp_path / "v.jsonl"
    with Ledger(path) as ledger:
        row = {"clip_id": "a", "verdict": "pass", "reasons": [{"code": "of the future"}]}
        ledger.append("a", "pass", "f", sealed(json.dumps(row)))
        with pytest.raises(UsageError, match=r"on clip 'a' cannot be read .*of the future"):
            next(ledger.verdicts(["a"]))
