"""Parse files of words and phones with times, one function per format.

Rows (CSV with a header, NIST CTM, subtitles through pysubs2), JSON (Montreal Forced Aligner,
Whisper, WhisperX, lists of words), Praat TextGrid and ELAN.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from xml.etree import ElementTree

from syncaudit.errors import StreamReadError, one_line
from syncaudit.model import Interval, Tier

_START_COLUMNS = ("start", "begin", "start_s", "start_time", "xmin", "tmin", "onset", "from")
_STOP_COLUMNS = ("end", "stop", "end_s", "stop_s", "end_time", "xmax", "tmax", "to")
_LENGTH_COLUMNS = ("duration", "dur", "duration_s", "length")
_LABEL_COLUMNS = ("label", "word", "text", "phone", "phoneme", "token", "mark", "transcript")
_TIER_COLUMNS = ("tier", "type")

_LABEL_KEYS = ("word", "text", "label", "phone", "char")

# Strings (quotes doubled inside), flags, free-standing numbers; the words around them are
# decoration. A comment runs from a free-standing ``!`` to the end of its line.
_TOKEN = re.compile(
    r'"((?:[^"]|"")*)"|(<[A-Za-z]+>)|(?<!\S)([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?!\S)'
    r"|(?<!\S)![^\n]*"
)


def parse_csv(uri: str, text: str) -> Parsed:
    """Parse rows of start, end (or duration) and label, in seconds.

    Column names are case-insensitive. A column ``tier`` or ``type`` (as the Montreal Forced Aligner
    writes) splits the rows into tiers, and several speakers into tiers of their own.
    StreamReadError if a column is missing or a cell is not a time.
    """
    header = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=header.count)
    try:
        rows = list(csv.reader(text.splitlines(), delimiter=delimiter))
    except csv.Error as error:
        raise _broken(uri, f"is not CSV ({error})") from error
    names = [name.strip().lower() for name in rows[0]] if rows else []
    start, stop = _find(names, _START_COLUMNS), _find(names, _STOP_COLUMNS)
    length, label = _find(names, _LENGTH_COLUMNS), _find(names, _LABEL_COLUMNS)
    if start is None or (stop is None and length is None) or label is None:
        raise _broken(
            uri,
            f"needs the columns start, end (or duration) and label, found: {', '.join(names)}",
            hint="Rename its columns.",
        )
    tier, speaker = _find(names, _TIER_COLUMNS), _find(names, ("speaker",))
    body = [(line, row) for line, row in enumerate(rows[1:], start=2) if any(row)]
    speakers = {row[speaker] for _, row in body if speaker is not None and speaker < len(row)}
    found: list[tuple[str, Interval]] = []
    for line, row in body:
        if len(row) < len(names):
            raise _broken(uri, f"line {line} has {len(row)} columns, expected {len(names)}")
        start_s = _seconds(uri, f"line {line}", row[start])
        if stop is not None:
            stop_s = _seconds(uri, f"line {line}", row[stop])
        else:
            stop_s = start_s + _seconds(uri, f"line {line}", row[length or 0])
        name = row[tier] if tier is not None else names[label]
        if speaker is not None and len(speakers) > 1:
            name = f"{row[speaker]} - {name}"
        found.append((name, Interval(start_s=start_s, stop_s=stop_s, label=row[label].strip())))
    return Parsed(tiers=_grouped(found))


def _find(names: Sequence[str], known: Sequence[str]) -> int | None:
    return next((names.index(name) for name in known if name in names), None)


def parse_ctm(uri: str, text: str) -> Parsed:
    """Parse NIST CTM: file, channel, start, duration, word, and a confidence that is ignored.

    The tier is called ``words``; in a CTM of several files or channels each has its own, called
    ``FILE CHANNEL``. StreamReadError if a line has too few fields or no times.
    """
    rows: list[tuple[str, Interval]] = []
    for line, content in enumerate(text.splitlines(), start=1):
        fields = content.split()
        if not fields or content.startswith(";;"):
            continue
        if len(fields) < 5:
            raise _broken(
                uri, f"line {line} has {len(fields)} fields, expected file channel start dur word"
            )
        start_s = _seconds(uri, f"line {line}", fields[2])
        stop_s = start_s + _seconds(uri, f"line {line}", fields[3])
        rows.append(
            (f"{fields[0]} {fields[1]}", Interval(start_s=start_s, stop_s=stop_s, label=fields[4]))
        )
    if len({name for name, _ in rows}) == 1:
        rows = [("words", interval) for _, interval in rows]
    return Parsed(tiers=_grouped(rows))


def parse_subtitles(uri: str, text: str, *, form: str) -> Parsed:
    """Parse SubRip (``srt``) or WebVTT (``vtt``); the tier is called ``segments``.

    StreamReadError if it contains no subtitle.
    """
    import pysubs2

    try:
        found = pysubs2.SSAFile.from_string(text, format_=form)
    except (
        pysubs2.exceptions.Pysubs2Error,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise _broken(uri, f"is not {form.upper()} ({one_line(error)})") from error
    if not len(found):
        raise _broken(uri, f"holds no {form.upper()} subtitle such as '00:00:01,000 --> ...'")
    segments = tuple(
        Interval(
            start_s=event.start / 1000,
            stop_s=event.end / 1000,
            label=" ".join(event.plaintext.split()),
        )
        for event in found
    )
    return Parsed(tiers=(Tier(name="segments", intervals=segments),))


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
        raise _broken(uri, f"is not JSON ({str(error)[:100]})") from error
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
    raise _broken(
        uri,
        f"is not a known transcript (found: {found})",
        hint="Expected JSON of MFA ('tiers') or Whisper ('segments'), or a list of words.",
    )


def _entries(uri: str, name: str, tier: object) -> Tier:
    entries = tier.get("entries") if isinstance(tier, dict) else None
    if not isinstance(entries, list):
        raise _broken(uri, f"tier '{name}' has no list 'entries'")
    intervals: list[Interval] = []
    for place, entry in enumerate(entries):
        where = f"tier '{name}', entry {place}"
        if not isinstance(entry, list) or len(entry) not in (2, 3):
            raise _broken(uri, f"{where}: expected [start, stop, label]")
        start_s = _seconds(uri, where, entry[0])
        # A point tier has [time, label].
        stop_s = _seconds(uri, where, entry[1]) if len(entry) == 3 else start_s
        intervals.append(Interval(start_s=start_s, stop_s=stop_s, label=str(entry[-1]).strip()))
    return Tier(name=name, intervals=tuple(intervals))


def _objects(uri: str, where: str, items: Iterable[Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for place, item in enumerate(items if isinstance(items, list) else [None]):
        if not isinstance(item, dict):
            raise _broken(uri, f"{where}, entry {place}: expected an object with start and end")
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
        label = next((item[key] for key in _LABEL_KEYS if key in item), "")
        intervals.append(
            Interval(
                start_s=_seconds(uri, where, start),
                stop_s=_seconds(uri, where, stop),
                label=str(label).strip(),
            )
        )
    return Tier(name=name, intervals=tuple(intervals)), len(items) - len(intervals)


def parse_textgrid(uri: str, text: str) -> Parsed:
    """Return the tiers of a TextGrid; a point is an interval of zero length.

    StreamReadError if it is not a text TextGrid, or is truncated.
    """
    if text.startswith("ooBinaryFile"):
        raise StreamReadError(
            "is a binary TextGrid", path=uri, hint="Save it from Praat as text (UTF-8)."
        )
    tokens = _Tokens(uri, text)
    if not tokens.string("the header").startswith("ooTextFile") or (
        tokens.string("the header") != "TextGrid"
    ):
        raise _broken(uri, "is not a TextGrid (wrong header)", hint="Save it from Praat as text.")
    tokens.number("xmin")
    tokens.number("xmax")
    if tokens.flag("tiers?") == "<absent>":
        return Parsed(tiers=())
    n_tiers = tokens.count("the number of tiers")
    return Parsed(tiers=tuple(_tier(tokens, place) for place in range(n_tiers)))


def _tier(tokens: _Tokens, place: int) -> Tier:
    kind = tokens.string(f"tier {place + 1}")
    name = tokens.string(f"tier {place + 1}")
    where = f"tier '{name}'"
    if kind not in ("IntervalTier", "TextTier"):
        raise _broken(
            tokens.uri, f"{where} is of class '{kind}', expected IntervalTier or TextTier"
        )
    tokens.number(where)
    tokens.number(where)
    intervals: list[Interval] = []
    for item in range(tokens.count(where)):
        at = f"{where}, item {item + 1}"
        start_s = tokens.number(at)
        stop_s = tokens.number(at) if kind == "IntervalTier" else start_s
        intervals.append(Interval(start_s=start_s, stop_s=stop_s, label=tokens.string(at).strip()))
    return Tier(name=name, intervals=tuple(intervals))


class _Tokens:
    """Strings, flags and numbers of a TextGrid in order."""

    def __init__(self, uri: str, text: str) -> None:
        self.uri = uri
        self._tokens: Iterator[re.Match[str]] = (
            match for match in _TOKEN.finditer(text) if match.lastindex
        )

    def _next(self, group: int, what: str, where: str) -> str:
        match = next(self._tokens, None)
        if match is None:
            raise _broken(self.uri, f"the TextGrid is truncated in {where}")
        if match.lastindex != group:
            raise _broken(self.uri, f"{where}: expected {what}, found {match.group()[:40]}")
        return match.group(group)

    def string(self, where: str) -> str:
        return self._next(1, "text in quotes", where).replace('""', '"')

    def flag(self, where: str) -> str:
        return self._next(2, "<exists> or <absent>", where)

    def number(self, where: str) -> float:
        return _seconds(self.uri, where, self._next(3, "a number", where))

    def count(self, where: str) -> int:
        text = self._next(3, "a count", where)
        if not text.isdecimal() or len(text) > 9:
            raise _broken(self.uri, f"{where}: '{text}' is not a count")
        return int(text)


def parse_eaf(uri: str, text: str) -> Parsed:
    """Parse an ELAN file: aligned annotations, and those that refer to aligned ones.

    ``TIME_ORIGIN`` of the first medium is the position in the medium where the time of the
    annotations starts: it is added to every time and reported.

    StreamReadError if it is not an ELAN file.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise _broken(uri, "declares a DOCTYPE, which ELAN files do not have")
    try:
        root = ElementTree.fromstring(text.encode("utf-8"))  # noqa: S314  # no entities, see above
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as error:
        raise _broken(uri, f"is not XML ({error})") from error
    if root.tag != "ANNOTATION_DOCUMENT":
        raise _broken(uri, f"is not an ELAN file (its root is <{root.tag[:40]}>)")
    medium = root.find(".//MEDIA_DESCRIPTOR")
    origin = medium.get("TIME_ORIGIN") if medium is not None else None
    origin_s = _seconds(uri, "TIME_ORIGIN", origin) / 1000 if origin else 0.0
    slots = {
        slot.get("TIME_SLOT_ID", ""): _seconds(uri, "a TIME_SLOT", value) / 1000 + origin_s
        for slot in root.iter("TIME_SLOT")
        if (value := slot.get("TIME_VALUE")) is not None
    }
    spans: dict[str, tuple[float, float]] = {}
    parents: dict[str, str] = {}
    for item in root.iter("ALIGNABLE_ANNOTATION"):
        start = slots.get(item.get("TIME_SLOT_REF1", ""))
        stop = slots.get(item.get("TIME_SLOT_REF2", ""))
        if start is not None and stop is not None:
            spans[item.get("ANNOTATION_ID", "")] = (start, stop)
    for item in root.iter("REF_ANNOTATION"):
        parents[item.get("ANNOTATION_ID", "")] = item.get("ANNOTATION_REF", "")
    tiers: list[Tier] = []
    n_untimed = 0
    for tier in root.iter("TIER"):
        intervals: list[Interval] = []
        for annotation in tier.iter("ANNOTATION"):
            for item in annotation:
                span = _span(item.get("ANNOTATION_ID", ""), spans, parents)
                if span is None:
                    n_untimed += 1
                    continue
                label = (item.findtext("ANNOTATION_VALUE") or "").strip()
                intervals.append(Interval(start_s=span[0], stop_s=span[1], label=label))
        tiers.append(Tier(name=tier.get("TIER_ID", ""), intervals=tuple(intervals)))
    return Parsed(tiers=tuple(tiers), n_untimed=n_untimed, origin_s=origin_s)


def _span(
    name: str, spans: dict[str, tuple[float, float]], parents: dict[str, str]
) -> tuple[float, float] | None:
    """Return the times of an annotation: its own, or those of the one it refers to."""
    seen: set[str] = set()
    while name not in spans:
        if name in seen or name not in parents:
            return None
        seen.add(name)
        name = parents[name]
    return spans[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Tiers of one file."""

    tiers: tuple[Tier, ...]  # in file order, intervals in file order
    n_untimed: int = 0  # words that the file lists without times
    origin_s: float = 0.0  # declared offset that was added to every time (ELAN's ``TIME_ORIGIN``)


def _broken(uri: str, what: str, *, hint: str = "Export it again.") -> StreamReadError:
    """Return the error for a file that does not follow its format."""
    return StreamReadError(what, code="corrupt", path=uri, hint=hint)


def _seconds(uri: str, where: str, value: object) -> float:
    """Return a time in seconds.

    StreamReadError if it is not a finite number.
    """
    if not isinstance(value, bool) and isinstance(value, int | float | str):
        try:
            found = float(value)
        except (ValueError, OverflowError):
            found = math.nan
        if math.isfinite(found):
            return found
    raise _broken(uri, f"{where}: {str(value)[:40]!r} is not a time in seconds")


def _grouped(rows: Iterable[tuple[str, Interval]]) -> tuple[Tier, ...]:
    """Return tiers from (tier name, interval) rows, both in order of appearance."""
    found: dict[str, list[Interval]] = {}
    for name, interval in rows:
        found.setdefault(name, []).append(interval)
    return tuple(Tier(name=name, intervals=tuple(items)) for name, items in found.items())


# Each takes (uri for messages, decoded text).
TIER_FORMATS: Mapping[str, Callable[[str, str], Parsed]] = {
    ".textgrid": parse_textgrid,
    ".ctm": parse_ctm,
    ".json": parse_json,
    ".csv": parse_csv,
    ".tsv": parse_csv,
    ".srt": partial(parse_subtitles, form="srt"),
    ".vtt": partial(parse_subtitles, form="vtt"),
    ".eaf": parse_eaf,
}
