"""Tell the alphabet of phone labels, and the classes of each label."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from syncaudit.phonetics.arpabet import classes_of_arpabet
from syncaudit.phonetics.classes import PhoneClass
from syncaudit.phonetics.ipa import classes_of_ipa

__all__ = ["Alphabet", "alphabet_of", "classes_of_phone", "is_silence"]

_SILENCE = frozenset(
    {"", "sil", "sp", "pau", "pause", "epi", "h#", "#", "##", "_", "-", "<eps>", "<sil>", "<p:>"}
    | {"<p>", "<s>", "</s>", "...", "…", "{sl}", "[sil]", "(.)", "silence", "[silence]", "ssil"}
)
# Somebody spoke, but what is not written.
_SPOKEN = frozenset({"spn", "<unk>", "<oov>", "unk", "[unk]", "xxx", "yyy", "[oov]", "<spoken>"})


class Alphabet(StrEnum):
    """How phones are written."""

    IPA = "IPA"
    ARPABET = "ARPAbet"


def is_silence(label: str) -> bool:
    """Return whether a label marks that nobody speaks."""
    return label.strip().lower() in _SILENCE


def alphabet_of(labels: Iterable[str]) -> tuple[Alphabet, float]:
    """Return the alphabet that knows most of the labels, and the share of them that it knows.

    Silences do not count. Without any label that counts the share is 0.

    Parameters
    ----------
    labels : iterable of str
        Labels of a tier, repetitions and all.
    """
    spoken = [label for label in labels if not is_silence(label) and not _is_spoken(label)]
    if not spoken:
        return Alphabet.IPA, 0.0
    known = {alphabet: [_classes(label, alphabet) for label in spoken] for alphabet in Alphabet}
    count = {
        alphabet: sum(classes is not None for classes in found) for alphabet, found in known.items()
    }
    is_upper = any(label != label.lower() for label in spoken)
    best = Alphabet.IPA
    if count[Alphabet.ARPABET] > count[best] or (
        count[Alphabet.ARPABET] == count[best] and is_upper
    ):
        best = Alphabet.ARPABET
    return best, count[best] / len(spoken)


def classes_of_phone(label: str, alphabet: Alphabet) -> tuple[PhoneClass, ...] | None:
    """Return the classes of a phone label in order; None where the alphabet has no such phone.

    Parameters
    ----------
    label : str
        As it stands in a tier; silences and "spoken noise" are known in every alphabet.
    alphabet : Alphabet
        From `alphabet_of`.
    """
    if is_silence(label):
        return (PhoneClass.SILENCE,)
    return (PhoneClass.SPEECH,) if _is_spoken(label) else _classes(label, alphabet)


def _is_spoken(label: str) -> bool:
    return label.strip().lower() in _SPOKEN


def _classes(label: str, alphabet: Alphabet) -> tuple[PhoneClass, ...] | None:
    of = classes_of_arpabet if alphabet is Alphabet.ARPABET else classes_of_ipa
    return of(label)
