"""Parse subtitles (SRT, WebVTT) through pysubs2."""

from __future__ import annotations

from syncaudit.errors import one_line
from syncaudit.model import Interval, Tier
from syncaudit.speech.tiers.parsed import Parsed, broken

__all__ = ["parse_subtitles"]


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
