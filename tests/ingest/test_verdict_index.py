"""What may train, and that nothing slips through unseen."""

import json
import pickle
import subprocess
import sys

import pytest

from syncaudit.batch.tables import write_parquet
from syncaudit.errors import UsageError
from syncaudit.ingest import UnknownClipError, VerdictIndex

ROWS = [
    {"clip_id": "a", "verdict": "pass"},
    {"clip_id": "b", "verdict": "reject"},
    {"clip_id": "c", "verdict": "unverified"},
]


@pytest.fixture(params=["jsonl", "parquet"])
def folder(tmp_path, request):
    if request.param == "jsonl":
        text = "".join(json.dumps(row) + "\n" for row in ROWS)
        (tmp_path / "verdicts.jsonl").write_text(text)
    else:
        write_parquet(ROWS, tmp_path / "verdicts.parquet")
    return tmp_path


def test_only_what_passed_may_train(folder):
    index = VerdictIndex.load(folder)
    assert [index.admits(name) for name in "abc"] == [True, False, False]
    assert index.dropped == {"reject": 1, "unverified": 1}
    assert list(index.admitted()) == ["a"]
    assert len(index) == 3


def test_the_unverified_may_be_let_in_on_demand(folder):
    index = VerdictIndex.load(folder, admit=("pass", "unverified"))
    assert [index.admits(name) for name in "abc"] == [True, False, True]


def test_a_clip_without_a_verdict_stops_the_loader(folder):
    with pytest.raises(UnknownClipError, match=r"clip 'z' has no verdict in .*verdicts"):
        VerdictIndex.load(folder).admits("z")


def test_a_clip_without_a_verdict_can_be_dropped_and_is_counted(folder):
    index = VerdictIndex.load(folder, unknown="drop")
    assert not index.admits("z")
    assert index.dropped == {"unknown": 1}


def test_a_file_can_be_named(folder):
    (file,) = folder.iterdir()
    assert VerdictIndex.load(file).verdict("b") == "reject"


def test_it_travels_to_workers(folder):
    index = pickle.loads(pickle.dumps(VerdictIndex.load(folder)))  # noqa: S301  # our own
    assert index.admits("a")


def test_half_a_run_is_refused(folder):
    (folder / "summary.json").write_text('{"complete": false}')
    with pytest.raises(UsageError, match="was stopped early"):
        VerdictIndex.load(folder)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("verdicts.jsonl", b"hello\n"),
        ("verdicts.jsonl", b'{"clip_id": "a", "verdict": "perhaps"}\n'),
        ("verdicts.jsonl", b"\xff\xfe\n"),
        ("verdicts.parquet", b"PAR1 no"),
    ],
)
def test_what_is_no_verdict_file_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match="the verdicts cannot be read"):
        VerdictIndex.load(tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(UsageError, match="holds no verdicts"):
        VerdictIndex.load(tmp_path)


def test_wrong_options_are_refused():
    with pytest.raises(UsageError, match="no verdict is called 'passed'"):
        VerdictIndex([], admit=("passed",))
    with pytest.raises(UsageError, match="unknown is 'keep'"):
        VerdictIndex([], unknown="keep")


def test_verdicts_are_read_from_stores(folder):
    import fsspec

    store = fsspec.filesystem("memory")
    if store.exists("/index"):
        store.rm("/index", recursive=True)
    (file,) = folder.iterdir()
    store.pipe(f"/index/{file.name}", file.read_bytes())
    assert VerdictIndex.load("memory://index/").verdict("b") == "reject"
    assert VerdictIndex.load(f"memory://index/{file.name}").verdict("c") == "unverified"
    store.pipe("/index/summary.json", b'{"complete": false}')
    with pytest.raises(UsageError, match="was stopped early"):
        VerdictIndex.load("memory://index")
    with pytest.raises(UsageError, match="holds no verdicts"):
        VerdictIndex.load("memory://index/nothing")


def test_a_file_of_any_name_can_be_named(folder):
    (file,) = folder.iterdir()
    copy = file.rename(folder / f"monday{file.suffix}")
    assert VerdictIndex.load(copy).verdict("a") == "pass"


def test_importing_it_imports_no_loader():
    code = (
        "import sys, syncaudit.ingest\n"
        "print([m for m in ('torch', 'datasets', 'ray', 'webdataset', 'pandas', 'pyarrow', 'av')"
        " if m in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603  # ours
    assert done.stdout.strip() == "[]"
