"""Take words, or phones, from what people write down."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["phones_of_text", "words_of_text"]

# Apostrophes belong to words (don't), all other marks part them.
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'"})
_WORD = re.compile(r"[\w']+(?:[.,]\d+)*")


def words_of_text(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, as written but without punctuation.

    What stands in brackets or angles (``[laughs]``, ``<unk>``) is a remark, no word.

    Parameters
    ----------
    text : str
        In any script that parts words by blanks.
    """
    plain = unicodedata.normalize("NFC", text).translate(_APOSTROPHES)
    plain = re.sub(r"\[[^\]]*\]|<[^>]*>|\{[^}]*\}", " ", plain).replace("_", " ")
    found = (word.strip("'") for word in _WORD.findall(plain))
    return tuple(word for word in found if any(letter.isalnum() for letter in word))


def phones_of_text(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the phones of a transcription: of each word, where ``|`` parts words.

    Parameters
    ----------
    text : str
        Phones with blanks between them: ``dh ih s | ih z`` or ``ð ɪ s | ɪ z``. Without a bar
        nothing is known of words, and each phone stands for itself.
    """
    if "|" not in text:
        return tuple((phone,) for phone in text.split())
    return tuple(tuple(word.split()) for word in text.split("|") if word.split())
