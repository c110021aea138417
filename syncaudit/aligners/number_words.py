"""Say whole numbers in English words."""

from __future__ import annotations

import re

__all__ = ["words_of_number"]

_ONES = "zero one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_SMALL = f"{_ONES} {_TEENS}".split()
_DECADES = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = dict(enumerate(_DECADES.split(), start=2))
_SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"))
_LARGEST = 10**12


def words_of_number(token: str) -> list[str]:
    """Return the words of a number, nothing if the token is none.

    Whole numbers below 10^12 with or without commas (``1,250``) are read out, digits after a
    point one by one; longer ones, and those that begin with 0, digit by digit.
    """
    if not re.fullmatch(r"\d+(,\d{3})*(\.\d+)?", token) or not token.isascii():
        return []
    whole, _, decimals = token.replace(",", "").partition(".")
    is_code = int(whole) >= _LARGEST or (len(whole) > 1 and whole.startswith("0"))
    words = [_SMALL[int(digit)] for digit in whole] if is_code else _read_out(int(whole))
    return words + (["point", *(_SMALL[int(digit)] for digit in decimals)] if decimals else [])


def _read_out(number: int) -> list[str]:
    for scale, name in _SCALES:
        if number >= scale:
            rest = number % scale
            return [*_read_out(number // scale), name, *(_read_out(rest) if rest else [])]
    if number >= 100:
        rest = number % 100
        return [_SMALL[number // 100], "hundred", *(_read_out(rest) if rest else [])]
    if number < 20:
        return [_SMALL[number]]
    return [_TENS[number // 10], *([_SMALL[number % 10]] if number % 10 else [])]
