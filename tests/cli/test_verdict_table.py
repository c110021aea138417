from io import StringIO

from rich.console import Console

from syncaudit.cli.verdict_table import verdict_table
from syncaudit.model import ClipVerdict

WHY = "its knocks could not be matched to imu"


def _printed(row) -> str:
    console = Console(file=StringIO(), width=200)
    console.print(verdict_table([ClipVerdict.from_row(row)]))
    return console.file.getvalue()


def test_why_a_source_was_not_measured_is_said_once():
    source = {
        "kind": "audio",
        "clock": "mic",
        "verdict": "unverified",
        "observable": False,
        "offset_s": None,
        "why_unmeasured": WHY,
    }
    warnings = [
        {"source": "mic", "code": "unobservable", "message": f"mic cannot be judged: {WHY}"},
        {"source": "mic", "code": "gap", "message": "mic was silent for 2 s"},
    ]
    row = {
        "clip_id": "x",
        "verdict": "pass",
        "reference": "imu",
        "reasons": [],
        "warnings": warnings,
        "sources": {"mic": source},
    }
    said = _printed(row)
    assert said.count(WHY) == 1
    assert "silent for 2 s" in said
