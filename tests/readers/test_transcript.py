from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from syncaudit.errors import StreamReadError
from syncaudit.model import TranscriptSpec, TranscriptStream
from syncaudit.readers import read_source
from testkit.places import real_recording

Put = Callable[..., str]


def transcript(uri: str, base: Path | str = "", **keys: Any) -> TranscriptStream:
    stream = read_source("t", TranscriptSpec(audio="mic", uri=uri, **keys), str(base))
    assert isinstance(stream, TranscriptStream)
    return stream


def rows(stream: TranscriptStream, tier: int = 0) -> list[tuple[float, float, str]]:
    return [(one.start_s, one.stop_s, one.label) for one in stream.tiers[tier].intervals]


@pytest.mark.parametrize(
    ("name", "tiers", "first"),
    [
        ("long.TextGrid", ["words", "marks"], [(0, 1.5, 'say "hi"'), (1.5, 2, "ə")]),
        ("short.TextGrid", ["words"], [(0, 1.5, "say"), (1.5, 2, "")]),
        ("w.ctm", ["words"], [(0.5, 0.75, "hello"), (0.75, 1.25, "world")]),
        ("w.csv", ["label"], [(0.5, 0.75, "hello"), (0.75, 1.25, "world")]),
        ("mfa.csv", ["words", "phones"], [(0.5, 0.75, "hi")]),
        ("mfa.json", ["words"], [(0.5, 0.75, "hello")]),
        ("whisper.json", ["segments", "words"], [(0.5, 1.5, "hello 5")]),
        ("s.srt", ["segments"], [(0.5, 0.75, "hi"), (1, 2, "you")]),
        ("s.vtt", ["segments"], [(0.5, 0.75, "hello"), (1, 2, "you")]),
        ("a.eaf", ["words", "gloss"], [(0.5, 1.25, "hello")]),
        ("a.lab", [], []),
        ("a.txt", [], []),
    ],
)
def test_every_format_gives_its_tiers_in_seconds(
    samples: Mapping[str, Any],
    tmp_path: Path,
    name: str,
    tiers: list[str],
    first: list[tuple[float, float, str]],
) -> None:
    spec = samples[f"transcript {name}"].put(tmp_path)
    stream = transcript(spec.uri, tmp_path)
    assert [tier.name for tier in stream.tiers] == tiers
    assert (rows(stream) if tiers else []) == first
    assert stream.tier == (tiers[0] if len(tiers) == 1 else None)
    assert stream.text == (None if tiers else "hello world")
    assert (stream.audio, stream.time_ns.tolist()) == ("mic", [])


def test_points_are_intervals_without_length(samples: Mapping[str, Any], tmp_path: Path) -> None:
    samples["transcript long.TextGrid"].put(tmp_path)
    assert rows(transcript("long.TextGrid", tmp_path), 1) == [(0.25, 0.25, "click")]


def test_words_without_times_are_counted(samples: Mapping[str, Any], tmp_path: Path) -> None:
    samples["transcript whisper.json"].put(tmp_path)
    stream = transcript("whisper.json", tmp_path)
    assert rows(stream, 1) == [(0.5, 0.75, "hello")]
    (finding,) = stream.findings
    assert (finding.code, finding.severity, finding.value) == ("bad_text", "warning", 1.0)


def test_elan_origin_is_applied_and_reported(samples: Mapping[str, Any], tmp_path: Path) -> None:
    samples["transcript a.eaf"].put(tmp_path)
    stream = transcript("a.eaf", tmp_path)
    assert rows(stream, 1) == [(0.5, 1.25, "greeting")]
    assert {finding.value for finding in stream.findings} == {0.5, 1.0}
    assert any("TIME_ORIGIN of 0.500 s" in finding.message for finding in stream.findings)


def test_manifest_picks_the_tier(samples: Mapping[str, Any], tmp_path: Path) -> None:
    samples["transcript long.TextGrid"].put(tmp_path)
    assert transcript("long.TextGrid", tmp_path, tier="marks").tier == "marks"
    with pytest.raises(StreamReadError, match=r"no tier 'word', found: words, marks.*'words'"):
        transcript("long.TextGrid", tmp_path, tier="word")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_with_marks_are_known(
    samples: Mapping[str, Any], tmp_path: Path, encoding: str
) -> None:
    text = samples["transcript long.TextGrid"].content.decode().replace("\n", "\r\n")
    (tmp_path / "a.TextGrid").write_bytes(text.encode(encoding))
    assert rows(transcript("a.TextGrid", tmp_path))[1] == (1.5, 2.0, "ə")


@pytest.mark.parametrize("name", ["a.TextGrid", "a.ctm", "a.csv", "a.json", "a.srt", "a.lab"])
def test_text_in_another_encoding_is_bad_text(put: Put, name: str) -> None:
    with pytest.raises(StreamReadError, match=r"line 2 is not UTF-8 text.*iconv") as caught:
        transcript(put(name, "a\nüber\n".encode("latin-1")))
    assert caught.value.code == "bad_text"


@pytest.mark.parametrize(
    ("name", "content", "code", "message"),
    [
        ("a.TextGrid", "ooBinaryFile\x08TextGrid", "unreadable", r"binary TextGrid.*as text"),
        ("a.TextGrid", '"ooTextFile"\n"Pitch"\n', "corrupt", r"is not a TextGrid"),
        (
            "a.TextGrid",
            '"ooTextFile" "TextGrid" 0 1 <exists> 2',
            "corrupt",
            r"is truncated in tier",
        ),
        ("a.TextGrid", '"ooTextFile" "TextGrid" 0 1 <exists> x.5', "corrupt", r"is truncated"),
        (
            "a.TextGrid",
            '"ooTextFile" "TextGrid" 0 1 <exists> 1.5',
            "corrupt",
            r"'1\.5' is not a co",
        ),
        ("a.TextGrid", '"ooTextFile" "TextGrid" 0 "a"', "corrupt", r"xmax: expected a number"),
        ("a.TextGrid", '"ooTextFile" "TextGrid" 0 1 <absent>', "empty", r"holds no tier"),
        (
            "a.TextGrid",
            '"ooTextFile" "TextGrid" 0 1 <exists> 1 "Tier" "a"',
            "corrupt",
            r"tier 'a' is of class 'Tier'",
        ),
        ("a.ctm", "utt 1 0.5 word\n", "corrupt", r"line 1 has 4 fields"),
        ("a.ctm", "utt 1 0.5 x word\n", "corrupt", r"line 1: 'x' is not a time"),
        ("a.ctm", "\n;; nothing\n", "empty", r"holds no tier"),
        ("a.csv", "start,end\n1,2\n", "corrupt", r"needs the columns start, end.*found: start"),
        ("a.csv", "start,end,label\n1,2\n", "corrupt", r"line 2 has 2 columns, expected 3"),
        ("a.csv", "start,end,label\n1,nan,a\n", "corrupt", r"line 2: 'nan' is not a time"),
        ("a.csv", 'start,end,label\n1,2,"' + "x" * 200_000, "corrupt", r"is not CSV"),
        ("a.json", "{", "corrupt", r"is not JSON"),
        ("a.json", '{"a": 1}', "corrupt", r"not a known transcript \(found: a\)"),
        ("a.json", '{"tiers": {"w": 5}}', "corrupt", r"tier 'w' has no list 'entries'"),
        ("a.json", '{"tiers": {"w": {"entries": [5]}}}', "corrupt", r"expected \[start, stop"),
        ("a.json", '{"segments": [5]}', "corrupt", r"segments, entry 0: expected an object"),
        ("a.json", '[{"start": "x", "end": 1}]', "corrupt", r"words, entry 0: 'x' is not a time"),
        ("a.srt", "nothing\n", "corrupt", r"holds no SRT subtitle"),
        ("a.vtt", "nothing\n", "corrupt", r"holds no VTT subtitle"),
        ("a.eaf", "<a", "corrupt", r"is not XML"),
        ("a.eaf", "<a/>", "corrupt", r"is not an ELAN file \(its root is <a>\)"),
        ("a.eaf", "<!DOCTYPE a><a/>", "corrupt", r"declares a DOCTYPE"),
        ("a.docx", "hello", "unreadable", r"'\.docx' is not a known transcript format.*\.textgrid"),
        ("a.srt", " \n", "empty", r"holds nothing but blanks"),
    ],
)
def test_broken_transcript_is_refused(
    put: Put, name: str, content: str, code: str, message: str
) -> None:
    with pytest.raises(StreamReadError, match=message) as caught:
        transcript(put(name, content))
    assert caught.value.code == code


def test_textgrid_is_known_by_its_content(samples: Mapping[str, Any], put: Put) -> None:
    path = put("a.grid", samples["transcript long.TextGrid"].content)
    assert len(transcript(path).tiers) == 2


def test_csv_with_durations_and_speakers(put: Put) -> None:
    text = "begin;duration;word;speaker\n0.5;0.25;hi;ann\n1;0.5;you;bob\n"
    stream = transcript(put("a.csv", text))
    assert [tier.name for tier in stream.tiers] == ["ann - word", "bob - word"]
    assert rows(stream, 1) == [(1.0, 1.5, "you")]


def test_ctm_of_several_files_has_a_tier_for_each(put: Put) -> None:
    stream = transcript(put("a.ctm", "a 1 0 1 x\nb 1 0 1 y\na 1 1 1 z\n"))
    assert [tier.name for tier in stream.tiers] == ["a 1", "b 1"]
    assert rows(stream) == [(0, 1, "x"), (1, 2, "z")]


def test_overlaps_and_disorder_stay(put: Put) -> None:
    text = "start,end,label\n2,3,b\n0,2.5,a\n1,1,c\n4,3,d\n"
    expected = [(2, 3, "b"), (0, 2.5, "a"), (1, 1, "c"), (4, 3, "d")]
    assert rows(transcript(put("a.csv", text))) == expected


def test_whisperx_word_segments_and_word_lists(put: Put) -> None:
    word = '{"word": "hi", "start": 0.5, "end": 1}'
    segment = '{"start": 0, "end": 1, "text": "hi"}'
    segments = f'{{"segments": [{segment}], "word_segments": [{word}]}}'
    for text in (segments, f"[{word}]", f'{{"words": [{word}]}}'):
        stream = transcript(put("a.json", text))
        assert rows(stream, len(stream.tiers) - 1) == [(0.5, 1.0, "hi")]


def test_tier_without_labels_is_empty(put: Put) -> None:
    stream = transcript(put("a.csv", "start,end,label\n0,1,\n"))
    assert [finding.code for finding in stream.findings] == ["empty"]


def test_text_of_the_manifest_needs_no_file() -> None:
    stream = read_source("t", TranscriptSpec(audio="mic", text="hello"))
    assert isinstance(stream, TranscriptStream)
    assert (stream.text, stream.tiers, stream.findings) == ("hello", (), ())
    empty = read_source("t", TranscriptSpec(audio="mic", text=" "))
    assert [finding.code for finding in empty.findings] == ["empty"]


def test_text_file_of_blanks_is_empty(put: Put) -> None:
    assert [one.code for one in transcript(put("a.lab", " \n")).findings] == ["empty"]


def real_textgrids() -> list[Path]:
    return sorted(real_recording("").glob("*/*.TextGrid"))


@pytest.mark.realdata
def test_real_textgrids_equal_praatio() -> None:
    from praatio import textgrid

    paths = real_textgrids()
    assert paths
    for path in paths:
        stream = transcript(str(path))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            oracle = textgrid.openTextgrid(str(path), includeEmptyIntervals=True)
        assert [tier.name for tier in stream.tiers] == list(oracle.tierNames)
        for tier in stream.tiers:
            entries = oracle.getTier(tier.name).entries
            ours = [(one.start_s, one.label) for one in tier.intervals]
            assert ours == [(entry[0], entry[-1]) for entry in entries]


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("align.csv", [59, 197]),
        ("align.json", [59, 197]),
        ("align_one.json", [65, 203]),
        ("align.multispeaker.json", [59, 199, 64, 190]),
    ],
)
def test_real_output_of_an_aligner(name: str, counts: list[int]) -> None:
    path = real_recording(f"mfa_output/{name}")
    stream = transcript(str(path))
    assert [len(tier.intervals) for tier in stream.tiers] == counts


@pytest.mark.realdata
def test_real_formats_of_one_alignment_agree() -> None:
    folder = real_recording("mfa_output")
    found = []
    for name in ("align.long.TextGrid", "align.short.TextGrid", "align.json", "align.csv"):
        words = transcript(str(folder / name)).tiers[0].intervals
        found.append([(round(w.start_s, 3), round(w.stop_s, 3), w.label) for w in words if w.label])
    assert all(one == found[0] for one in found)
