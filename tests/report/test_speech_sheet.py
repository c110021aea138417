"""The speech sheet: one page, nothing loaded, all text escaped, cells at their times."""

import base64
import re

import cv2
import numpy as np
import pytest

from syncaudit.model import Interval
from syncaudit.report import TierRow, Utterance, write_speech_sheet
from syncaudit.report.spectrogram import spectrogram_png, waveform_path


def utterance(**changes):
    rate = changes.pop("rate_hz", 16_000.0)
    samples = changes.pop("samples", np.sin(np.arange(int(2 * rate)) * 0.1).astype(np.float32))
    return Utterance(
        **{
            "clip_id": "c1",
            "source": "phones",
            "audio": "mic",
            "start_s": 10.25,
            "end_s": 11.75,
            "sound_start_s": 10.0,
            "rate_hz": rate,
            "samples": samples,
            "tiers": (
                TierRow(
                    name="phones",
                    intervals=(
                        Interval(start_s=10.5, stop_s=11.0, label="a"),
                        Interval(start_s=11.0, stop_s=13.0, label=""),
                    ),
                ),
            ),
            **changes,
        }
    )


def page_of(tmp_path, *utterances, problems=()):
    write_speech_sheet(utterances, tmp_path / "s.html", about="m.jsonl", problems=problems)
    return (tmp_path / "s.html").read_text(encoding="utf-8")


def test_cells_stand_at_their_times(tmp_path):
    page = page_of(tmp_path, utterance())
    cells = re.findall(r'data-from="([\d.]+)" data-to="([\d.]+)" style="left:([\d.]+)%', page)
    assert [[float(x) for x in cell] for cell in cells] == [[0.5, 1.0, 25.0], [1.0, 2.0, 50.0]]


def test_sound_is_embedded_to_the_sample(tmp_path):
    page = page_of(tmp_path, utterance())
    pcm = np.frombuffer(base64.b64decode(re.search(r'data-pcm="([^"]+)"', page)[1]), "<i2")
    expected = np.sin(np.arange(32_000) * 0.1)
    np.testing.assert_allclose(pcm / 32767.0, 0.9 * expected, atol=1e-3)


def test_fine_sound_is_thinned_to_what_phones_need(tmp_path):
    page = page_of(tmp_path, utterance(rate_hz=48_000.0))
    assert 'data-rate="16000.0"' in page


def test_nothing_is_loaded_from_elsewhere(tmp_path):
    page = page_of(tmp_path, utterance())
    assert "default-src 'none'" in page
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "http" not in page.replace("http-equiv", "")


def test_names_of_strangers_are_escaped(tmp_path):
    bad = '"><script>alert(1)</script>'
    row = TierRow(name=bad, intervals=(Interval(start_s=10.5, stop_s=11.0, label=bad),))
    evil = utterance(clip_id=bad, source=bad, tiers=(row,), verdict="pass", verdict_words=bad)
    page = page_of(tmp_path, evil, problems=[bad])
    assert "<script>alert" not in page


def test_problems_are_listed_and_a_sheet_may_be_empty(tmp_path):
    page = page_of(tmp_path, problems=["c9, words: file not found"])
    assert "c9, words: file not found" in page
    assert "nothing to listen to" in page


@pytest.mark.parametrize(
    "samples",
    [np.zeros(3200), np.full(3200, np.nan), np.full(20, 0.1), np.array([np.inf, 0.0] * 1000)],
)
def test_broken_sound_is_drawn_all_the_same(tmp_path, samples):
    page = page_of(tmp_path, utterance(samples=samples.astype(np.float32)))
    assert "NaN" not in page
    assert "nan" not in waveform_path(samples.astype(np.float32))


def test_tone_is_drawn_at_its_frequency():
    tone = np.sin(2 * np.pi * 2000 * np.arange(32_000) / 16_000).astype(np.float32)
    frame = cv2.imdecode(
        np.frombuffer(spectrogram_png(tone, 16_000.0), np.uint8), cv2.IMREAD_UNCHANGED
    )
    row = int(np.argmax(frame[:, 300, 3]))
    assert 8000.0 * (1.0 - row / 127.0) == pytest.approx(2000.0, abs=150.0)
