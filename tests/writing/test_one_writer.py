"""Only `syncaudit.writing` opens files of the user for writing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("syncaudit", "gui/syncaudit_gui", "calibration/syncaudit_calibration")
WRITERS = {"write_text", "write_bytes", "copyfile", "copy", "copy2", "move", "savefig", "savez"}
# Files that write in other ways, and why that is safe.
SPARED = {
    "syncaudit/readers/uris.py": "copies of remote files, in a private temporary folder",
    "syncaudit/datasets/bags/sounds.py": "in the folder of an import, which is claimed",
    "syncaudit/datasets/images.py": "in the folder of an import, which is claimed",
    "syncaudit/datasets/bags/unpacking.py": "unpacked bags, in a private temporary folder",
    "syncaudit/datasets/bags/recording.py": "in the folder of an import, which is claimed",
    "syncaudit/speech/aligners/mfa.py": "input of a program, in a private temporary folder",
    "syncaudit/simulate/packet_faults.py": "a video within a folder of 'simulate', claimed",
    "syncaudit/cli/app.py": "the trace of a defect, beside the temporary files",
    "gui/syncaudit_gui/viewmodel/labels.py": "labels, appended to and never replaced",
}


def modules() -> Iterator[Path]:
    for folder in PRODUCT:
        yield from sorted((ROOT / folder).rglob("*.py"))


def mode_of(call: ast.Call, place: int) -> str:
    """Return the mode that `open` is called with; named modes count as spelled."""
    given = [*call.args[place : place + 1], *(k.value for k in call.keywords if k.arg == "mode")]
    return next((str(a.value) for a in given if isinstance(a, ast.Constant)), "r")


def writes(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            is_handle = ast.unparse(node.args[0]) == "handle"  # of a file that was created safely
            if set(mode_of(node, 1)) & set("wax+") and not is_handle:
                yield node.lineno
        elif isinstance(node.func, ast.Attribute):
            name, owner = node.func.attr, ast.unparse(node.func.value)
            is_module = owner in ("av", "io", "wave", "tarfile", "gzip", "bz2", "lzma", "os")
            mode = mode_of(node, 1 if is_module else 0)
            is_mode = len(mode) <= 3 and set(mode) & set("wax+")
            if (name == "open" and is_mode) or (
                name in WRITERS and owner in ("shutil", "path", "np", "figure", "target", "out")
            ) or name in ("write_text", "write_bytes"):  # fmt: skip
                yield node.lineno


# The first argument of these is an open draft.
OPEN_DRAFTS = {
    "syncaudit/datasets/export/shard_file.py",
    "syncaudit/evaluation/tuning_plots.py",
    "syncaudit/simulate/encode.py",
    "syncaudit/simulate/recorders.py",
    "calibration/syncaudit_calibration/apply/lerobot/files.py",
    "calibration/syncaudit_calibration/plan/video.py",
    "calibration/syncaudit_calibration/plots.py",
}


@pytest.mark.parametrize("path", list(modules()), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_writes_by_itself(path):
    name = path.relative_to(ROOT).as_posix()
    if name.startswith("syncaudit/writing/"):
        return
    text = path.read_text(encoding="utf-8")
    found = [
        number
        for number in writes(ast.parse(text))
        if "write_text" not in text.splitlines()[number - 1] or "sidecars." not in text
    ]
    if name in OPEN_DRAFTS:
        assert "syncaudit.writing import" in text
        return
    assert not found or name in SPARED, f"{name}: lines {found} write by themselves"
