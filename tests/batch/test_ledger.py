"""The ledger survives kills, garbage and company."""

import json
import os
from pathlib import Path

import pytest

from syncaudit.batch.ledger import Ledger, VerdictFile
from syncaudit.errors import UsageError


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


def test_rewriting_orders_and_forgets(tmp_path):
    path = tmp_path / "v.jsonl"
    with Ledger(path) as ledger:
        for name in "abc":
            ledger.append(name, "pass", "f", line(name))
        ledger.forget("b")
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
    file = VerdictFile(path)
    (tmp_path / "new").write_text('{"clip_id": "other", "verdict": "reject"}\n' * 3)
    (tmp_path / "new").replace(path)
    assert file.line("a") == '{"clip_id": "a", "verdict": "pass"}'


def test_a_verdict_file_is_closed_when_it_is_let_go(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    path.write_text('{"clip_id": "a", "verdict": "pass"}\n')
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        assert VerdictFile(path).line("a")
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1
