"""`syncaudit doctor` on a stand-in diagnosis."""

import json

import pytest

import syncaudit.doctor
from syncaudit.doctor import Status, Symptom

FOUND = {
    "codecs": [Symptom(name="H.264", status=Status.OK, detail="decodes on the CPU")],
    "extras": [
        Symptom(
            name="[ray]",
            status=Status.ABSENT,
            detail="lacks ray\x1b[31m",
            cure="pip install 'syncaudit[ray]'",
        ),
        Symptom(name="[x]", status=Status.FAULTY, detail="it crashed (SIGSEGV)"),
    ],
}


@pytest.fixture(autouse=True)
def diagnosis(monkeypatch):
    monkeypatch.setattr(syncaudit.doctor, "examine_machine", lambda: FOUND)


def test_the_table_names_what_is_there_and_the_cure_for_what_is_not(invoke):
    result = invoke("doctor")
    assert result.exit_code == 0
    assert "✓ H.264" in result.stdout
    assert "– [ray]" in result.stdout
    assert "✕ [x]" in result.stdout
    assert "pip install 'syncaudit[ray]'" in result.stdout
    assert "\x1b" not in result.stdout


def test_json_holds_the_same(invoke):
    content = json.loads(invoke("doctor", "--json").stdout)
    assert list(content) == ["codecs", "extras"]
    assert content["extras"][0] == {
        "name": "[ray]",
        "status": "absent",
        "detail": "lacks ray\x1b[31m",
        "cure": "pip install 'syncaudit[ray]'",
    }
