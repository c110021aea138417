"""Reports for CI servers: every clip once, every finding under its rule."""

import json
from xml.etree import ElementTree

import pytest

from syncaudit.model import ClipVerdict
from syncaudit.report import write_junit, write_sarif


def finding(code, message, source=None):
    return {"code": code, "message": message, "source": source, "value": None, "limit": None}


def row(clip_id, verdict, reasons=(), warnings=()):
    return ClipVerdict.from_row(
        {
            "clip_id": clip_id,
            "recording_id": "drive",
            "verdict": verdict,
            "reasons": list(reasons),
            "warnings": list(warnings),
            "seconds": 1.5,
        }
    )


ROWS = [
    row("good", "pass", warnings=[finding("jitter", "uneven stamps", "imu")]),
    row("b<a>d & \x01", "reject", [finding("offset", 'cam "rear" is 35 ms early', "cam_rear")]),
    row("dark", "unverified", [finding("unobservable", "nothing moves")]),
]
COUNTS = {"pass": 1, "reject": 1, "unverified": 1}


@pytest.fixture
def junit(tmp_path):
    write_junit(ROWS, COUNTS, tmp_path / "junit.xml")
    return ElementTree.parse(tmp_path / "junit.xml").getroot().find("testsuite")  # noqa: S314


def test_every_clip_is_a_test_case(junit):
    assert [junit.get(key) for key in ("tests", "failures", "skipped")] == ["3", "1", "1"]
    assert [case.get("name") for case in junit] == ["good", "b<a>d & \ufffd", "dark"]
    assert [[child.tag for child in case] for case in junit] == [[], ["failure"], ["skipped"]]


def test_failures_say_why(junit):
    failure = junit[1].find("failure")
    assert failure.get("message") == 'cam "rear" is 35 ms early'
    assert failure.get("type") == "offset"


def test_sarif_lists_every_finding(tmp_path):
    write_sarif(ROWS, tmp_path / "s.sarif", version="1", manifest="manifest.jsonl")
    content = json.loads((tmp_path / "s.sarif").read_text())
    run = content["runs"][0]
    assert content["version"] == "2.1.0"
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    found = [(r["ruleId"], r["level"]) for r in run["results"]]
    assert found == [("jitter", "warning"), ("offset", "error"), ("unobservable", "note")]
    assert {code for code, _ in found} <= rules
    prints = [r["partialFingerprints"]["clipSourceCode/v1"] for r in run["results"]]
    assert len(set(prints)) == 3


def test_a_run_without_findings_is_valid_json(tmp_path):
    write_sarif([], tmp_path / "s.sarif", version="1", manifest="m")
    assert json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"] == []
