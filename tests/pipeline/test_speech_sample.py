"""Utterances are drawn from manifests with good and broken transcripts."""

import json
from itertools import pairwise

import numpy as np
import pytest
import soundfile

from syncaudit.datasets import load_manifest
from syncaudit.pipeline.speech_sample import draw_utterances


@pytest.fixture
def manifest(tmp_path):
    """Return a function that writes clips with a 20 s sound and CTM words, and loads them."""

    def write(n_clips, *, ctm=None, **changes):
        noise = np.random.default_rng(0).uniform(-0.1, 0.1, 20 * 8000)
        soundfile.write(tmp_path / "a.wav", noise, 8000)
        words = [f"a 1 {t:.2f} 0.3 word{t}" for t in range(1, 19, 2)]
        (tmp_path / "a.ctm").write_text("\n".join(words) + "\n" if ctm is None else ctm)
        rows = []
        for k in range(n_clips):
            sources = {
                "mic": {"kind": "audio", "uri": "a.wav", "start_ns": 5},
                "words": {"kind": "transcript", "uri": "a.ctm", "audio": "mic"},
            }
            sources["words"].update(changes)
            rows.append({"clip_id": f"c{k}", "sources": sources})
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "m.jsonl").write_text(text)
        return load_manifest(str(tmp_path / "m.jsonl"))

    return write


def draw(clips, n, seed=0, **options):
    return draw_utterances(clips, n, np.random.default_rng(seed), **options)


def test_utterances_are_spread_over_clips_and_follow_the_seed(manifest):
    clips = manifest(4)
    drawn, problems = draw(clips, 8)
    assert problems == []
    assert sorted(u.clip_id for u in drawn) == [f"c{k}" for k in range(4) for _ in range(2)]
    again = [(u.clip_id, u.start_s) for u in draw(clips, 8)[0]]
    assert again == [(u.clip_id, u.start_s) for u in drawn]
    assert again != [(u.clip_id, u.start_s) for u in draw(clips, 8, seed=1)[0]]


def test_no_utterance_is_drawn_twice_and_there_may_be_fewer(manifest):
    drawn, _ = draw(manifest(2), 50)
    assert len({(u.clip_id, u.start_s) for u in drawn}) == len(drawn) == 18


def test_samples_belong_to_their_times(manifest):
    for utterance in draw(manifest(1), 9)[0]:
        assert utterance.end_s - utterance.start_s == pytest.approx(0.3)
        assert utterance.sound_start_s == pytest.approx(utterance.start_s - 0.25, abs=1e-4)
        assert utterance.samples.size / utterance.rate_hz == pytest.approx(0.8, abs=1e-3)
        (tier,) = utterance.tiers
        assert [cell.label for cell in tier.intervals if cell.label] == [
            f"word{utterance.start_s:.0f}"
        ]


def test_long_runs_are_parted(manifest):
    ctm = "".join(f"a 1 {1 + 0.3 * k:.2f} 0.3 w\n" for k in range(40))
    drawn, _ = draw(manifest(1, ctm=ctm), 20)
    assert len(drawn) > 2
    assert max(u.end_s - u.start_s for u in drawn) <= 4.0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"uri": "nope.ctm"}, "nope.ctm: file not found"),
        ({"uri": None, "text": "only words"}, "the text has no times"),
    ],
)
def test_what_cannot_be_shown_is_said(manifest, changes, why):
    drawn, problems = draw(manifest(1, **changes), 3)
    assert drawn == []
    assert why in problems[0]
    assert problems[0].startswith("c0, words: ")


def test_words_beyond_the_sound_are_said(manifest):
    drawn, problems = draw(manifest(1, ctm="a 1 100.0 0.3 far\n"), 3)
    assert drawn == []
    assert "within the 20.0 s of audio" in problems[0]


def test_verdict_is_shown_in_words(manifest):
    source = {"verdict": "reject", "observable": True, "offset_s": 0.06, "offset_std_s": 0.004}
    rows = {"c0": {"sources": {"words": source}}}
    (first, *_), _ = draw(manifest(1), 1, verdicts=rows)
    assert (first.verdict, first.verdict_words) == ("reject", "60 ± 4 ms early")
    source["observable"] = False
    (first, *_), _ = draw(manifest(1), 1, verdicts=rows)
    assert first.verdict_words == "offset not observable"


def test_words_and_phones_of_one_speaker_are_shown_together(manifest, tmp_path):
    tiers = {"Ann - words": 2, "Bob - phones": 8, "Ann - phones": 9}
    items = []
    for name, n in tiers.items():
        edges = [0.25 * k for k in range(n + 1)]
        spans = "\n".join(f'{a}\n{b}\n"x{a}"' for a, b in pairwise(edges))
        items.append(f'"IntervalTier"\n"{name}"\n0\n{edges[-1]}\n{n}\n{spans}')
    text = 'File type = "ooTextFile"\nObject class = "TextGrid"\n\n0\n3\n<exists>\n3\n'
    (tmp_path / "a.TextGrid").write_text(text + "\n".join(items) + "\n")
    drawn, problems = draw(manifest(1, uri="a.TextGrid"), 1)
    assert problems == []
    assert [tier.name for tier in drawn[0].tiers] == ["Ann - words", "Ann - phones"]
