"""Draw utterances of a manifest at random, for a person to judge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from syncaudit.errors import SyncAuditError
from syncaudit.formatting import word_correction
from syncaudit.model import AudioStream, Clip, Interval, Tier, TranscriptStream
from syncaudit.readers import read_source
from syncaudit.report import TierRow, Utterance
from syncaudit.speech.phonetics import is_silence

MAX_UTTERANCE_S = 4.0
MARGIN_S = 0.25
# Pauses this long separate utterances.
PAUSE_S = 0.25


def draw_utterances(
    clips: Sequence[Clip],
    n: int,
    rng: np.random.Generator,
    *,
    verdicts: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[list[Utterance], list[str]]:
    """Draw at most `n` utterances, spread evenly over the clips and grouped by clip.

    Clips come in random order and each gives its share before any gives more, so that a long clip
    does not crowd out short ones; only clips that are needed are read, and those without a
    transcript are skipped. `verdicts` are rows of ``verdicts.jsonl`` by clip. The second list
    states what could not be shown, one sentence each.
    """
    drawn: list[Utterance] = []
    spare: list[Utterance] = []
    problems: list[str] = []
    spoken = [clip for clip in clips if transcripts_of(clip)]
    for n_visited, place in enumerate(rng.permutation(len(spoken)).tolist()):
        if len(drawn) >= n:
            break
        clip = spoken[place]
        share = -(-(n - len(drawn)) // (len(spoken) - n_visited))
        found: list[Utterance] = []
        for name in transcripts_of(clip):
            try:
                found += _utterances(clip, name, (verdicts or {}).get(clip.clip_id))
            except SyncAuditError as error:
                problems.append(f"{clip.clip_id}, {name}: {error}")
        order = [found[k] for k in rng.permutation(len(found)).tolist()]
        drawn += order[:share]
        spare += order[share : share + n]
    missing = n - len(drawn)
    if missing > 0:
        drawn += [spare[k] for k in rng.permutation(len(spare))[:missing].tolist()]
    first_seen = {u.clip_id: k for k, u in reversed(list(enumerate(drawn)))}
    drawn = sorted(drawn[:n], key=lambda u: (first_seen[u.clip_id], u.source, u.start_s))
    return drawn, problems


def transcripts_of(clip: Clip) -> list[str]:
    """Return the names of a clip's transcripts."""
    return [name for name, spec in clip.sources.items() if spec.kind == "transcript"]


def _utterances(clip: Clip, name: str, verdict: Mapping[str, Any] | None) -> list[Utterance]:
    """Return all utterances of one transcript.

    SyncAuditError if the transcript or its audio cannot be read or shown.
    """
    transcript = read_source(name, clip.sources[name], clip.base_uri)
    if not isinstance(transcript, TranscriptStream):
        return []
    tiers = _shown_tiers(transcript)
    audio = read_source(transcript.audio, clip.sources[transcript.audio], clip.base_uri)
    if not isinstance(audio, AudioStream):
        return []
    if not audio.samples.size or not audio.rate_hz > 0.0:
        raise SyncAuditError(f"its audio '{transcript.audio}' holds no samples")
    end_s = audio.samples.size / audio.rate_hz
    spans = [span for span in _spans(tiers[-1]) if span[0] < end_s]
    if not spans:
        raise SyncAuditError(
            f"no labelled interval of '{tiers[-1].name}' is within the {end_s:.1f} s of audio"
        )
    state, words = _verdict_words(name, verdict)
    found = []
    for start_s, stop_s in spans:
        low, high = max(0.0, start_s - MARGIN_S), min(end_s, stop_s + MARGIN_S)
        first, last = round(low * audio.rate_hz), round(high * audio.rate_hz)
        if last - first < 16:
            continue
        found.append(
            Utterance(
                clip_id=clip.clip_id,
                source=name,
                audio=transcript.audio,
                start_s=start_s,
                end_s=stop_s,
                sound_start_s=first / audio.rate_hz,
                rate_hz=audio.rate_hz,
                samples=audio.samples[first:last],
                tiers=tuple(_cut(tier, low, high) for tier in tiers),
                verdict=state,
                verdict_words=words,
            )
        )
    return found


def _shown_tiers(transcript: TranscriptStream) -> list[Tier]:
    """Return words above phones of one speaker, or the only tier."""
    timed = [t for t in transcript.tiers if any(not _is_pause(i) for i in t.intervals)]
    if not timed:
        raise SyncAuditError("the text has no times", hint="Align it first: syncaudit align.")
    wanted = next((t for t in timed if t.name == transcript.tier), None)
    finest = wanted or max(timed, key=lambda t: sum(not _is_pause(i) for i in t.intervals))
    kin = [t for t in timed if t is not finest and _speaker(t.name) == _speaker(finest.name)]
    both = [finest, *kin[:1]]
    return sorted(both, key=lambda t: sum(not _is_pause(i) for i in t.intervals))


def _speaker(name: str) -> str:
    """Return a tier's name without its content: ``Ann - words`` and ``Ann - phones`` match."""
    return re.sub(r"(words?|phones?|phonemes?|segments?)", "", name.lower()).strip(" -_.:")


def _is_pause(interval: Interval) -> bool:
    return is_silence(interval.label) or interval.label.strip().lower() == "spn"  # spoken noise


def _spans(tier: Tier) -> list[tuple[float, float]]:
    """Return runs of labelled intervals, split at pauses and after `MAX_UTTERANCE_S`."""
    spoken = sorted(
        (i for i in tier.intervals if not _is_pause(i) and i.stop_s > i.start_s >= 0.0),
        key=lambda i: i.start_s,
    )
    spans: list[tuple[float, float]] = []
    for interval in spoken:
        if (
            spans
            and interval.start_s - spans[-1][1] < PAUSE_S
            and interval.stop_s - spans[-1][0] <= MAX_UTTERANCE_S
        ):
            spans[-1] = (spans[-1][0], max(spans[-1][1], interval.stop_s))
        else:
            stop_s = min(interval.stop_s, interval.start_s + MAX_UTTERANCE_S)
            spans.append((interval.start_s, stop_s))
    return spans


def _cut(tier: Tier, low: float, high: float) -> TierRow:
    inside = (i for i in tier.intervals if i.stop_s > low and i.start_s < high)
    return TierRow(
        name=tier.name or "tier",
        intervals=tuple(
            Interval(start_s=i.start_s, stop_s=i.stop_s, label="" if _is_pause(i) else i.label)
            for i in inside
        ),
    )


def _verdict_words(name: str, row: Mapping[str, Any] | None) -> tuple[str | None, str | None]:
    source = None if row is None else row.get("sources", {}).get(name)
    if not source:
        return None, None
    state = str(source["verdict"])
    if not source.get("observable") or source.get("offset_s") is None:
        return state, "offset not observable"
    return state, word_correction(source["offset_s"], source["offset_std_s"])
