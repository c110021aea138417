from __future__ import annotations

import numpy as np
import pytest

from syncaudit.detectors import audit_tier
from syncaudit.model import (
    AudioStream,
    ReasonCode,
    Severity,
    TranscriptStream,
)
from testkit.streams import sound_stream, tier_of, transcript_stream

Row = tuple[float, float, str]


def stream_of(*rows: Row) -> TranscriptStream:
    return transcript_stream(tier_of(*rows, name="tier"), uri="a.TextGrid", tier="tier")


def sound(seconds: float, *, file_seconds: float | None = None) -> AudioStream:
    return sound_stream(
        np.zeros(round(100 * seconds)), 100.0, start_ns=0, file_seconds=file_seconds
    )


def phones(n: int, each_s: float = 0.08) -> list[Row]:
    return [(each_s * k, each_s * (k + 1), "aems"[k % 4]) for k in range(n)]


def test_healthy_tier_has_no_findings() -> None:
    assert audit_tier(stream_of(*phones(40)), sound(4.0)) == []
    words = [(0.3 * k, 0.3 * k + 0.25, "word") for k in range(9)]
    assert audit_tier(stream_of(*words), sound(4.0)) == []
    assert audit_tier(stream_of(*words), None) == []


@pytest.mark.parametrize(
    ("row", "code", "severity", "words"),
    [
        ((5.0, 4.9, "back"), ReasonCode.BACKWARDS, Severity.DEFECT, "end before they start"),
        ((5.0, 5.0, "none"), ReasonCode.BAD_TEXT, Severity.WARNING, "of zero length"),
        ((2.5, 2.9, "both"), ReasonCode.BAD_TEXT, Severity.WARNING, "before the previous one ends"),
        ((5.0, 6.6, "looong"), ReasonCode.BAD_TEXT, Severity.WARNING, "longer than 1 s"),
        ((9.8, 10.4, "late"), ReasonCode.LENGTH_MISMATCH, Severity.WARNING, "beyond its audio"),
    ],
)
def test_damage_is_named(row: Row, code: ReasonCode, severity: Severity, words: str) -> None:
    rows = [(0.3 * k, 0.3 * k + 0.25, "word") for k in range(9)]
    found = audit_tier(stream_of(*rows, row), sound(10.0))
    assert [(f.code, f.severity) for f in found] == [(code, severity)]
    assert words in found[0].message
    assert f"'{row[2]}'" in found[0].message


def test_many_labels_after_the_end_of_the_audio_reject() -> None:
    found = audit_tier(stream_of(*phones(100)), sound(4.0))
    assert [(f.code, f.severity) for f in found] == [(ReasonCode.LENGTH_MISMATCH, Severity.DEFECT)]


def test_audio_cut_by_a_window_counts_whole() -> None:
    assert audit_tier(stream_of(*phones(100)), sound(4.0, file_seconds=9.0)) == []


def test_run_of_smallest_phones_tells_where_the_aligner_got_lost() -> None:
    rows = phones(20) + [(2.0 + 0.03 * k, 2.03 + 0.03 * k, "aems"[k % 4]) for k in range(9)]
    (found,) = audit_tier(stream_of(*rows), sound(4.0))
    assert found.code is ReasonCode.BAD_TEXT
    assert "9 phones of 35 ms or less in a row, from 'a' at 2.00 s on" in found.message


def test_unknown_phones_are_listed() -> None:
    (found,) = audit_tier(stream_of(*phones(20), (1.6, 1.7, "☃")), sound(4.0))
    assert "1 of 21 phones that the IPA does not contain ('☃')" in found.message


def test_tier_of_nothing_but_silence_is_empty() -> None:
    (found,) = audit_tier(stream_of((0.0, 3.0, "sil")), sound(4.0))
    assert (found.code, found.severity) == (ReasonCode.EMPTY, Severity.DEFECT)
