"""Parse and write files of words and phones with times: one function per format, two tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from syncaudit.speech.tiers.columns import parse_csv, parse_ctm, parse_subtitles
from syncaudit.speech.tiers.elan import parse_eaf
from syncaudit.speech.tiers.objects import parse_json
from syncaudit.speech.tiers.parsed import Parsed
from syncaudit.speech.tiers.textgrid import parse_textgrid
from syncaudit.speech.tiers.writing import TIER_WRITERS

__all__ = ["TIER_FORMATS", "TIER_WRITERS", "Parsed"]

# Each takes (uri for messages, decoded text).
TIER_FORMATS: Mapping[str, Callable[[str, str], Parsed]] = MappingProxyType(
    {
        ".textgrid": parse_textgrid,
        ".ctm": parse_ctm,
        ".json": parse_json,
        ".csv": parse_csv,
        ".tsv": parse_csv,
        ".srt": partial(parse_subtitles, form="srt"),
        ".vtt": partial(parse_subtitles, form="vtt"),
        ".eaf": parse_eaf,
    }
)
