"""Clips of a microphone and its transcript, and what is reported where they disagree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from syncaudit.datasets import load_manifest
from syncaudit.model import ClipVerdict, ReasonCode, Tier, Verdict
from syncaudit.pipeline import audit, measure_tier
from syncaudit.policy import load_policy
from syncaudit.readers.audio import read_audio
from syncaudit.simulate.speech import Utterance, Voice
from syncaudit.simulate.speech_texts import speak_at_length
from testkit.manifest_rows import clip_of_row

pytest.importorskip("espeakng_loader")

T0 = 1_767_225_600_000_000_000
S = 1_000_000_000
# Boundaries of synthetic phones are found with 1 ms rmse for clips of at least 12 s.
TOLERANCE_S = 0.004


@pytest.fixture(scope="module")
def said() -> Utterance:
    return speak_at_length(Voice(language="en+m2"), duration_s=30.0, rng=np.random.default_rng(21))


@pytest.fixture(scope="module")
def folder(said: Utterance, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("speech")
    hiss = np.random.default_rng(22).normal(0.0, 1e-4, said.samples.size)
    soundfile.write(path / "mic.wav", said.samples + hiss, round(said.rate_hz))
    return path


def write_tier(path: Path, tier: Tier, to: Callable[[float], float] = lambda t: t) -> str:
    rows = [f"{to(i.start_s):.5f},{to(i.stop_s):.5f},{i.label}" for i in tier.intervals]
    path.write_text("\n".join(["start,end,label", *rows]) + "\n", encoding="utf-8")
    return path.name


def audited(
    folder: Path, transcript: dict[str, Any], *, policy: str = "driving", **fields: Any
) -> ClipVerdict:
    mic = {"kind": "audio", "uri": "mic.wav", "start_ns": T0}
    text = {"kind": "transcript", "audio": "mic", **transcript}
    row = {"clip_id": "c", "sources": {"mic": mic, "text": text}} | fields
    clip = clip_of_row(folder, row)
    return audit(clip, load_policy(profile=policy))


def test_tier_that_fits_passes_with_its_audio_as_reference(folder: Path, said: Utterance) -> None:
    verdict = audited(folder, {"uri": write_tier(folder / "fits.csv", said.phones)})
    assert verdict.verdict is Verdict.PASS
    assert verdict.reference == "mic"
    assert verdict.sources["text"].offset_s == pytest.approx(0.0, abs=TOLERANCE_S)
    assert verdict.sources["mic"].verdict is Verdict.PASS
    assert [pair.method for pair in verdict.pairs] == ["speech"]
    assert verdict.warnings == ()


@pytest.mark.parametrize("offset_s", [-0.3, 0.06])
def test_late_and_early_tiers_are_rejected(folder: Path, said: Utterance, offset_s: float) -> None:
    uri = write_tier(folder / "moved.csv", said.phones, lambda t: t - offset_s)
    verdict = audited(folder, {"uri": uri})
    assert verdict.verdict is Verdict.REJECT
    assert [(r.code, r.source) for r in verdict.reasons] == [(ReasonCode.OFFSET, "text")]
    assert verdict.sources["text"].offset_s == pytest.approx(offset_s, abs=TOLERANCE_S)
    assert verdict.sources["mic"].verdict is Verdict.PASS


def test_offset_between_the_limits_is_a_warning(folder: Path, said: Utterance) -> None:
    uri = write_tier(folder / "moved.csv", said.phones, lambda t: t + 0.034)
    verdict = audited(folder, {"uri": uri})
    assert verdict.verdict is Verdict.PASS
    assert [w.code for w in verdict.warnings] == [ReasonCode.OFFSET]
    assert "state 'expected_offset_s'" in verdict.warnings[0].message
    assert "ms late against mic" in verdict.warnings[0].message
    intended = audited(folder, {"uri": uri, "expected_offset_s": -0.034})
    assert intended.verdict is Verdict.PASS
    assert intended.warnings == ()
    # The convention of older aligners must not cause a finding.
    older = write_tier(folder / "older.csv", said.phones, lambda t: t - 0.008)
    assert audited(folder, {"uri": older}).warnings == ()


def test_words_have_limits_of_their_own(folder: Path, said: Utterance) -> None:
    uri = write_tier(folder / "words.csv", said.words, lambda t: t - 0.06)
    verdict = audited(folder, {"uri": uri})
    assert verdict.verdict is Verdict.PASS
    assert [w.code for w in verdict.warnings] == [ReasonCode.OFFSET]
    assert audited(folder, {"uri": uri}, policy="strict").verdict is Verdict.REJECT


@pytest.mark.parametrize("ppm", [3000.0, -3000.0])
def test_tier_that_drifts_over_half_a_minute_never_passes(
    folder: Path, said: Utterance, ppm: float
) -> None:
    # 38 ms in the middle, within the limit, and 77 ms at the end.
    first = Tier(
        name="phones", intervals=tuple(i for i in said.phones.intervals if i.stop_s < 25.7)
    )
    uri = write_tier(folder / "drifts.csv", first, lambda t: t * (1.0 - 1e-6 * ppm))
    verdict = audited(folder, {"uri": uri})
    assert verdict.verdict is Verdict.REJECT
    assert [(r.code, r.source) for r in verdict.reasons] == [(ReasonCode.DRIFT, "text")]


def test_other_phones_are_rejected_as_text(folder: Path) -> None:
    other = speak_at_length(Voice(language="de"), duration_s=30.0, rng=np.random.default_rng(23))
    verdict = audited(folder, {"uri": write_tier(folder / "other.csv", other.phones)})
    assert verdict.verdict is Verdict.REJECT
    assert ReasonCode.BAD_TEXT in [r.code for r in verdict.reasons]
    assert "are not what is spoken in mic" in verdict.reasons[-1].message


def test_other_words_are_unverified_since_a_recogniser_may_have_timed_them(folder: Path) -> None:
    other = speak_at_length(Voice(language="de"), duration_s=30.0, rng=np.random.default_rng(23))
    verdict = audited(folder, {"uri": write_tier(folder / "other.csv", other.words)})
    assert verdict.verdict is Verdict.UNVERIFIED
    assert "could not be matched" in verdict.reasons[-1].message


def test_too_few_words_are_unverified(folder: Path, said: Utterance) -> None:
    few = Tier(name="words", intervals=said.words.intervals[:5])
    verdict = audited(folder, {"uri": write_tier(folder / "few.csv", few)})
    assert verdict.verdict is Verdict.UNVERIFIED
    assert "too few" in verdict.reasons[0].message


def test_step_inside_the_clip_is_told_as_a_step(folder: Path, said: Utterance) -> None:
    uri = write_tier(folder / "step.csv", said.phones, lambda t: t + (0.2 if t > 19.0 else 0.0))
    verdict = audited(folder, {"uri": uri})
    assert verdict.verdict is Verdict.REJECT
    assert ReasonCode.STEP in [r.code for r in verdict.reasons]
    assert "jumps 200" in verdict.reasons[0].message


def test_several_steps_are_rejected_as_steps(folder: Path, said: Utterance) -> None:
    uri = write_tier(
        folder / "steps.csv", said.phones, lambda t: t + 0.25 * (t > 10.0) + 0.25 * (t > 20.0)
    )
    verdict = audited(folder, {"uri": uri})
    assert verdict.verdict is Verdict.REJECT
    assert [r.code for r in verdict.reasons if r.source == "text"] == [ReasonCode.STEP]
    assert "jumps 2 times" in verdict.reasons[0].message


def test_window_judges_its_own_part_by_the_seconds_of_the_file(
    folder: Path, said: Utterance
) -> None:
    uri = write_tier(folder / "moved.csv", said.phones, lambda t: t - 0.1)
    verdict = audited(folder, {"uri": uri}, start_ns=T0 + 12 * S, end_ns=T0 + 22 * S)
    assert verdict.sources["text"].offset_s == pytest.approx(0.1, abs=TOLERANCE_S)
    assert verdict.verdict is Verdict.REJECT


def test_transcript_is_judged_by_its_audio_even_where_nothing_ties_that(
    folder: Path, said: Utterance
) -> None:
    time_ns = T0 + np.arange(0, 30 * S, S // 100)
    table = [f"{t},0.0,0.0,0.0" for t in time_ns]
    (folder / "imu.csv").write_text("\n".join(["timestamp_ns,gyro_x,gyro_y,gyro_z", *table]))
    uri = write_tier(folder / "fits.csv", said.phones)
    sources = {
        "imu": {"kind": "imu", "uri": "imu.csv"},
        "mic": {"kind": "audio", "uri": "mic.wav", "start_ns": T0},
        "text": {"kind": "transcript", "audio": "mic", "uri": uri},
    }
    verdict = audited(folder, {}, sources=sources, reference="imu")
    assert verdict.sources["text"].verdict is Verdict.PASS
    assert verdict.sources["mic"].verdict is Verdict.UNVERIFIED


def test_two_late_transcripts_do_not_outvote_their_audio(folder: Path, said: Utterance) -> None:
    uri = write_tier(folder / "moved.csv", said.phones, lambda t: t - 0.3)
    text = {"kind": "transcript", "audio": "mic", "uri": uri}
    mic = {"kind": "audio", "uri": "mic.wav", "start_ns": T0}
    verdict = audited(folder, {}, sources={"mic": mic, "a": text, "b": text})
    assert verdict.reference == "mic"
    assert verdict.sources["mic"].verdict is Verdict.PASS
    assert [r.source for r in verdict.reasons] == ["a", "b"]


def test_unreadable_audio_leaves_no_traceback(folder: Path, said: Utterance) -> None:
    uri = write_tier(folder / "fits.csv", said.phones)
    mic = {"kind": "audio", "uri": "absent.wav", "start_ns": T0}
    text = {"kind": "transcript", "audio": "mic", "uri": uri}
    verdict = audited(folder, {}, sources={"mic": mic, "text": text})
    assert verdict.verdict is Verdict.REJECT
    assert verdict.sources["text"].verdict is Verdict.UNVERIFIED


def test_one_tier_is_measured_without_a_clip(folder: Path, said: Utterance) -> None:
    (folder / "m.jsonl").write_text(
        json.dumps(
            {
                "clip_id": "c",
                "sources": {"mic": {"kind": "audio", "uri": "mic.wav", "start_ns": T0}},
            }
        )
    )
    (clip,) = load_manifest(str(folder / "m.jsonl"))
    spec: Any = clip.sources["mic"]
    audio = read_audio("mic", spec, clip.base_uri)
    pair = measure_tier(said.phones, audio)
    assert pair.accepted
    assert pair.offset_s == pytest.approx(0.0, abs=TOLERANCE_S)
    empty = measure_tier(Tier(name="none", intervals=()), audio)
    assert empty.why == "the tier holds no words and no phones"
