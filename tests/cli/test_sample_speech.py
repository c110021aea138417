"""`syncaudit sample-speech`: exit codes and the page."""

import numpy as np
import pytest
import soundfile

from syncaudit.cli.app import run
from testkit.json_lines import write_json_lines


@pytest.fixture
def manifest(tmp_path):
    noise = np.random.default_rng(0).uniform(-0.1, 0.1, 5 * 8000)
    soundfile.write(tmp_path / "a.wav", noise, 8000)
    (tmp_path / "a.ctm").write_text("a 1 1.0 0.5 hello\na 1 3.0 0.5 world\n")

    def write(*transcripts):
        rows = [
            {
                "clip_id": f"c{k}",
                "sources": {
                    "mic": {"kind": "audio", "uri": "a.wav", "start_ns": 5},
                }
                | ({"words": {"kind": "transcript", "uri": uri, "audio": "mic"}} if uri else {}),
            }
            for k, uri in enumerate(transcripts)
        ]
        path = tmp_path / "m.jsonl"
        write_json_lines(path, *rows)
        return str(path)

    return write


def test_page_is_written(manifest, tmp_path, capsys):
    assert run(["sample-speech", manifest("a.ctm"), "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "speech.html").read_text(encoding="utf-8")
    assert "hello" in page
    assert "world" in page
    assert "2 utterances of 1 clip:" in capsys.readouterr().out


def test_broken_source_is_listed_and_exits_1(manifest, tmp_path, capsys):
    path = manifest("a.ctm", "nope.ctm")
    assert run(["sample-speech", path, "--out", str(tmp_path / "out")]) == 1
    assert "not shown: c1, words: " in capsys.readouterr().out
    assert "nope.ctm" in (tmp_path / "out" / "speech.html").read_text(encoding="utf-8")


def test_clip_without_a_transcript_is_no_fault(manifest, tmp_path, capsys):
    path = manifest("a.ctm", None)
    assert run(["sample-speech", path, "--out", str(tmp_path / "out")]) == 0
    assert "1 clip of 2 without a transcript" in capsys.readouterr().out


def test_nothing_to_show_exits_4(manifest, tmp_path):
    assert run(["sample-speech", manifest("nope.ctm"), "--out", str(tmp_path / "out")]) == 4


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read"),
        ("{", "is not a JSON Lines"),
        ('{"a": 1}\n', "line 1 is not a verdict"),
    ],
)
def test_wrong_verdicts_are_a_usage_error(manifest, tmp_path, capsys, content, why):
    path = tmp_path / "v.jsonl"
    if content is not None:
        path.write_text(content)
    code = run(["sample-speech", manifest("a.ctm"), "-o", str(tmp_path), "--verdicts", str(path)])
    assert code == 2
    assert why in capsys.readouterr().err


def test_folder_that_is_a_file_is_a_usage_error(manifest, tmp_path, capsys):
    path = manifest("a.ctm")
    assert run(["sample-speech", path, "--out", str(tmp_path / "a.wav")]) == 2
    assert "is not a folder" in capsys.readouterr().err
