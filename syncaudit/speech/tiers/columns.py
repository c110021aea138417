"""Parse tiers in rows: CSV with a header, NIST CTM, subtitles (through pysubs2)."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from syncaudit.errors import one_line
from syncaudit.model import Interval, Tier
from syncaudit.speech.tiers.parsed import Parsed, broken, grouped, seconds

_STARTS = ("start", "begin", "start_s", "start_time", "xmin", "tmin", "onset", "from")
_STOPS = ("end", "stop", "end_s", "stop_s", "end_time", "xmax", "tmax", "to")
_LENGTHS = ("duration", "dur", "duration_s", "length")
_LABELS = ("label", "word", "text", "phone", "phoneme", "token", "mark", "transcript")
_TIERS = ("tier", "type")


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
        raise broken(uri, f"is not CSV ({error})") from error
    names = [name.strip().lower() for name in rows[0]] if rows else []
    start, stop = _find(names, _STARTS), _find(names, _STOPS)
    length, label = _find(names, _LENGTHS), _find(names, _LABELS)
    if start is None or (stop is None and length is None) or label is None:
        raise broken(
            uri,
            f"needs the columns start, end (or duration) and label, found: {', '.join(names)}",
            hint="Rename its columns.",
        )
    tier, speaker = _find(names, _TIERS), _find(names, ("speaker",))
    body = [(line, row) for line, row in enumerate(rows[1:], start=2) if any(row)]
    speakers = {row[speaker] for _, row in body if speaker is not None and speaker < len(row)}
    found: list[tuple[str, Interval]] = []
    for line, row in body:
        if len(row) < len(names):
            raise broken(uri, f"line {line} has {len(row)} columns, expected {len(names)}")
        start_s = seconds(uri, f"line {line}", row[start])
        if stop is not None:
            stop_s = seconds(uri, f"line {line}", row[stop])
        else:
            stop_s = start_s + seconds(uri, f"line {line}", row[length or 0])
        name = row[tier] if tier is not None else names[label]
        if speaker is not None and len(speakers) > 1:
            name = f"{row[speaker]} - {name}"
        found.append((name, Interval(start_s=start_s, stop_s=stop_s, label=row[label].strip())))
    return Parsed(tiers=grouped(found))


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
            raise broken(
                uri, f"line {line} has {len(fields)} fields, expected file channel start dur word"
            )
        start_s = seconds(uri, f"line {line}", fields[2])
        stop_s = start_s + seconds(uri, f"line {line}", fields[3])
        rows.append(
            (f"{fields[0]} {fields[1]}", Interval(start_s=start_s, stop_s=stop_s, label=fields[4]))
        )
    if len({name for name, _ in rows}) == 1:
        rows = [("words", interval) for _, interval in rows]
    return Parsed(tiers=grouped(rows))


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
        raise broken(uri, f"is not {form.upper()} ({one_line(error)})") from error
    if not len(found):
        raise broken(uri, f"holds no {form.upper()} subtitle such as '00:00:01,000 --> ...'")
    segments = tuple(
        Interval(
            start_s=event.start / 1000,
            stop_s=event.end / 1000,
            label=" ".join(event.plaintext.split()),
        )
        for event in found
    )
    return Parsed(tiers=(Tier(name="segments", intervals=segments),))
