from __future__ import annotations

import json

import pytest

from syncaudit.datasets import source as source_module
from syncaudit.datasets.source import Source, iter_json_lines, iter_json_list
from syncaudit.errors import ManifestError

ROWS = [{"name": "Größe", "n": k, "nested": [{"a": "]}, {"}]} for k in range(50)]


@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 16])
@pytest.mark.parametrize("indent", [None, 0, 2])
def test_a_list_is_read_whatever_the_pieces(tmp_path, monkeypatch, chunk, indent):
    monkeypatch.setattr(source_module, "_CHUNK", chunk)
    text = "\ufeff\n" + json.dumps(ROWS, indent=indent, ensure_ascii=False) + "\n"
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    assert list(iter_json_list(Source(str(tmp_path)), "a.json")) == ROWS


def test_an_empty_list_holds_nothing(tmp_path):
    (tmp_path / "a.json").write_text(" [ ] ")
    assert list(iter_json_list(Source(str(tmp_path)), "a.json")) == []


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (b'[{"a": 1}, {"b"', "item 1 is not valid JSON.*Copy the file again"),
        (b'[{"a": 1}', "item 1 is not valid JSON"),
        (b"[1]", "item 0 is not an object"),
        (b'{"a": 1}', "not a list of objects"),
        (b'[{"a": "\xff"}]', "item 0 is not valid JSON"),
        (b"   ", "not a list of objects"),
    ],
)
def test_damaged_lists_are_told(tmp_path, content, pattern):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ManifestError, match=pattern):
        list(iter_json_list(Source(str(tmp_path)), "a.json"))


def test_lines_are_numbered(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"a": 1}\n\n{"a": 2}\n\xff\n')
    rows = iter_json_lines(Source(str(tmp_path)), "a.jsonl")
    assert [next(rows), next(rows)] == [("line 1", {"a": 1}), ("line 3", {"a": 2})]
    with pytest.raises(ManifestError, match="line 4 is not valid JSON"):
        next(rows)
