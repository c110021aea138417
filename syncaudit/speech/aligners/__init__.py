"""Align text with audio in time: forced aligners, one per module, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from syncaudit.speech.aligners.alignment import (
    Aligner,
    Alignment,
    Utterance,
    phones_of_text,
    words_of_text,
)
from syncaudit.speech.aligners.mfa import MfaAligner
from syncaudit.speech.aligners.pocketsphinx.aligner import PocketsphinxAligner
from syncaudit.speech.aligners.viter import ViterAligner

__all__ = ["ALIGNERS", "Aligner", "Alignment", "Utterance", "phones_of_text", "words_of_text"]

# In the order in which they are tried: those that need no set-up come first.
ALIGNERS: Mapping[str, Callable[[], Aligner]] = MappingProxyType(
    {"pocketsphinx": PocketsphinxAligner, "mfa": MfaAligner, "viter": ViterAligner}
)
