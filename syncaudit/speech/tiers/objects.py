"""Parse tiers in JSON: Montreal Forced Aligner, Whisper, WhisperX, lists of words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from syncaudit.model import Interval, Tier
from syncaudit.speech.tiers.parsed import Parsed, broken, seconds

_LABELS = ("word", "text", "label", "phone", "char")


def parse_json(uri: str, text: str) -> Parsed:
    """Parse JSON of an aligner or recogniser.

    Supported are ``{"tiers": {name: {"entries": [[start, stop, label]]}}}`` (Montreal Forced
    Aligner), ``{"segments": [{"start", "end", "text", "words": [...]}]}`` (Whisper, WhisperX), and
    a list of objects with start, end and label. StreamReadError if it is not JSON, or none of
    these.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise broken(uri, f"is not JSON ({str(error)[:100]})") from error
    if isinstance(data, dict) and isinstance(data.get("tiers"), dict):
        return Parsed(
            tiers=tuple(_entries(uri, name, tier) for name, tier in data["tiers"].items())
        )
    if isinstance(data, dict) and isinstance(data.get("segments"), list):
        segments = _objects(uri, "segments", data["segments"])
        tiers = [_timed(uri, "segments", segments)]
        words = [
            word
            for segment in segments
            for word in _objects(uri, "words", segment.get("words") or [])
        ]
        if not words and isinstance(data.get("word_segments"), list):
            words = _objects(uri, "word_segments", data["word_segments"])
        if words:
            tiers.append(_timed(uri, "words", words))
        return Parsed(
            tiers=tuple(tier for tier, _ in tiers), n_untimed=sum(count for _, count in tiers)
        )
    for key in ("words", "word_segments"):
        if isinstance(data, dict) and isinstance(data.get(key), list):
            data = data[key]
    if isinstance(data, list):
        tier, n_untimed = _timed(uri, "words", _objects(uri, "the list", data))
        return Parsed(tiers=(tier,), n_untimed=n_untimed)
    found = ", ".join(list(data)[:6]) if isinstance(data, dict) else type(data).__name__
    raise broken(
        uri,
        f"is not a known transcript (found: {found})",
        hint="Expected JSON of MFA ('tiers') or Whisper ('segments'), or a list of words.",
    )


def _entries(uri: str, name: str, tier: object) -> Tier:
    entries = tier.get("entries") if isinstance(tier, dict) else None
    if not isinstance(entries, list):
        raise broken(uri, f"tier '{name}' has no list 'entries'")
    intervals: list[Interval] = []
    for place, entry in enumerate(entries):
        where = f"tier '{name}', entry {place}"
        if not isinstance(entry, list) or len(entry) not in (2, 3):
            raise broken(uri, f"{where}: expected [start, stop, label]")
        start_s = seconds(uri, where, entry[0])
        # A point tier has [time, label].
        stop_s = seconds(uri, where, entry[1]) if len(entry) == 3 else start_s
        intervals.append(Interval(start_s=start_s, stop_s=stop_s, label=str(entry[-1]).strip()))
    return Tier(name=name, intervals=tuple(intervals))


def _objects(uri: str, where: str, items: Iterable[Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for place, item in enumerate(items if isinstance(items, list) else [None]):
        if not isinstance(item, dict):
            raise broken(uri, f"{where}, entry {place}: expected an object with start and end")
        found.append(item)
    return found


def _timed(uri: str, name: str, items: list[dict[str, Any]]) -> tuple[Tier, int]:
    """Return a tier of the items that have times, and the number of those without."""
    intervals: list[Interval] = []
    for place, item in enumerate(items):
        start, stop = item.get("start"), item.get("end", item.get("stop"))
        if start is None or stop is None:
            continue
        where = f"{name}, entry {place}"
        label = next((item[key] for key in _LABELS if key in item), "")
        intervals.append(
            Interval(
                start_s=seconds(uri, where, start),
                stop_s=seconds(uri, where, stop),
                label=str(label).strip(),
            )
        )
    return Tier(name=name, intervals=tuple(intervals)), len(items) - len(intervals)
