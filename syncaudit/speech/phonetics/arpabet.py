"""The ARPAbet, as CMUdict writes it and with the additions of TIMIT."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from syncaudit.speech.phonetics.classes import PhoneClass

__all__ = ["ARPABET", "classes_of_arpabet"]

_BY_CLASS: Mapping[tuple[PhoneClass, ...], str] = MappingProxyType(
    {
        (PhoneClass.VOWEL,): (
            "aa ae ah ao aw ax axh axr ay eh er ey ih ix iy ow oy uh uw ux oh ia ea ua"
        ),
        (PhoneClass.NASAL,): "m n ng em en eng nx",
        (PhoneClass.APPROXIMANT,): "l r w y el wh dx",
        (PhoneClass.SIBILANT,): "s z sh zh",
        (PhoneClass.FRICATIVE,): "f v th dh hh hv h",
        (PhoneClass.CLOSURE, PhoneClass.PLOSIVE): "p t k b d g",
        (PhoneClass.CLOSURE, PhoneClass.SIBILANT): "ch jh",
        (PhoneClass.CLOSURE,): "q bcl dcl gcl pcl tcl kcl",
    }
)
ARPABET: Mapping[str, tuple[PhoneClass, ...]] = MappingProxyType(
    {symbol: classes for classes, symbols in _BY_CLASS.items() for symbol in symbols.split()}
)


def classes_of_arpabet(symbol: str) -> tuple[PhoneClass, ...] | None:
    """Return the classes of a phone in order, None where the ARPAbet has no such symbol.

    Case and the stress digit do not matter, nor does the position that some recognisers add
    (``AA_B``).

    Parameters
    ----------
    symbol : str
        ``AH0``, ``sh``, ``tcl``.
    """
    plain = symbol.strip().lower()
    if plain[-2:] in ("_b", "_e", "_i", "_s"):
        plain = plain[:-2]
    return ARPABET.get(plain.rstrip("012"))
