"""What may be used for training, and that nothing slips through."""

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


def write_summary(folder, *, complete=True, **changed):
    counts = {"total": 3, "pass": 1, "reject": 1, "unverified": 1} | changed
    summary = {"version": 1, "complete": complete, "clips": counts}
    (folder / "summary.json").write_text(json.dumps(summary))


@pytest.fixture(params=["jsonl", "parquet"])
def folder(tmp_path, request):
    write_summary(tmp_path)
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
    (file,) = folder.glob("verdicts.*")
    assert VerdictIndex.load(file).verdict("b") == "reject"


def test_it_travels_to_workers(folder):
    index = pickle.loads(pickle.dumps(VerdictIndex.load(folder)))  # noqa: S301  # our own
    assert index.admits("a")


def test_half_a_run_is_refused(folder):
    write_summary(folder, complete=False)
    (file,) = folder.glob("verdicts.*")
    for path in (folder, file):
        with pytest.raises(UsageError, match=r"was stopped early .* validate' again: .* --partial"):
            VerdictIndex.load(path)
    assert VerdictIndex.load(folder, partial=True).verdict("a") == "pass"


def test_a_run_that_left_no_summary_is_refused(folder):
    (folder / "summary.json").unlink()
    with pytest.raises(UsageError, match=r"no summary.json beside the verdicts .* --partial"):
        VerdictIndex.load(folder)
    assert len(VerdictIndex.load(folder, partial=True)) == 3


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"complete": true, "clips": {"pass": "x"}}'])
def test_a_summary_that_is_none_is_refused(folder, text):
    (folder / "summary.json").write_text(text)
    with pytest.raises(UsageError, match="is not the summary of a run"):
        VerdictIndex.load(folder)


def test_other_counts_than_the_summary_has_are_refused(folder):
    write_summary(folder, total=4, **{"pass": 2})
    with pytest.raises(UsageError, match=r"holds 3 verdicts .* the summary of the run counts 4"):
        VerdictIndex.load(folder)
    write_summary(folder, total=3, **{"pass": 2, "reject": 0})
    with pytest.raises(UsageError, match=r"2 pass, 0 reject"):
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
    (file,) = folder.glob("verdicts.*")
    store.pipe(f"/index/{file.name}", file.read_bytes())
    store.pipe("/index/summary.json", (folder / "summary.json").read_bytes())
    assert VerdictIndex.load("memory://index/").verdict("b") == "reject"
    assert VerdictIndex.load(f"memory://index/{file.name}").verdict("c") == "unverified"
    write_summary(folder, complete=False)
    store.pipe("/index/summary.json", (folder / "summary.json").read_bytes())
    with pytest.raises(UsageError, match="was stopped early"):
        VerdictIndex.load("memory://index")
    with pytest.raises(UsageError, match="holds no verdicts"):
        VerdictIndex.load("memory://index/nothing")


def test_a_file_of_any_name_can_be_named(folder):
    (file,) = folder.glob("verdicts.*")
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
