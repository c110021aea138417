"""Trends of verdicts and offsets over weeks, by vehicle, rig or software, and their change points.

Clips of one recording share clocks, road and light. A recording therefore contributes one value to
a series, and one case to a rate.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import fmean, median
from typing import Any

from syncaudit.dsp.change_point import ChangePoint, find_change, find_change_of_shares
from syncaudit.dsp.rates import Rate
from syncaudit.formatting import signed_ms
from syncaudit.model import ClipVerdict, Verdict
from syncaudit.report.distribution import Distribution

# Recordings in a series; beyond that, every second one is dropped, repeatedly.
_MOST_RECORDINGS = 20_000
_MOST_VALUES = 40
_MOST_CHANGES = 10
_MOST_WEEKS = 60
# Number of recordings listed on either side of a change.
_NAMED = 3
_LEVEL = 0.05
# Manifest key of the unit whose clocks are the same from recording to recording.
_UNIT = "vehicle"
# A change of an offset by a smaller fraction of its tolerance needs no action.
_LEAST_SHARE = 0.1
# Share of recordings that must agree before and after for a property to coincide with a change.
_MOSTLY = 0.6
# Earlier timestamps are not calendar times: the clock started at zero.
_FIRST_NS = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 10**9

# The share of a verdict, or the offset of a source against a reference.
Series = Verdict | tuple[str, str]


def week_of(at_ns: int | None) -> str | None:
    """Return the Monday of the week of an instant (UTC); None if its clock shows no date."""
    if at_ns is None or at_ns < _FIRST_NS:
        return None
    day = datetime.fromtimestamp(at_ns * 1e-9, UTC).date()
    return (day - timedelta(days=day.weekday())).isoformat()


@dataclass(slots=True, kw_only=True)
class _Tally:
    """Verdicts on some clips, and the number of recordings that they come from."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    n_recordings: int = 0
    last: str = ""

    def add(self, clip: ClipVerdict) -> None:
        self.verdicts[clip.verdict] += 1
        if clip.recording_id != self.last:  # clips of a recording are contiguous
            self.n_recordings += 1
            self.last = clip.recording_id

    def view(self, name: str) -> dict[str, Any]:
        n = self.verdicts.total()
        return {
            "name": name,
            "clips": n,
            **{
                str(verdict): _word_rate(
                    Rate(n_hits=self.verdicts[verdict], n=n, n_clips=self.n_recordings)
                )
                for verdict in Verdict
            },
        }


@dataclass(slots=True, kw_only=True)
class _Recording:
    """One value of every series."""

    at_ns: int
    first: str
    last: str
    about: Mapping[str, str]
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    # Sum and number of offsets by source and reference.
    offsets: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)

    def value(self, series: Series) -> float | None:
        """Return its mean offset, or its share of a verdict."""
        if isinstance(series, Verdict):
            return self.verdicts[series] / self.verdicts.total()
        total, n = self.offsets.get(series, (0.0, 0))
        return total / n if n else None


class Trends:
    """Collects verdicts one by one."""

    def __init__(self, tolerances_s: Mapping[str, float]) -> None:
        self._tolerances_s = tolerances_s
        self._weeks: dict[str, _Tally] = defaultdict(_Tally)
        self._groups: dict[str, dict[str, _Tally]] = defaultdict(lambda: defaultdict(_Tally))
        self._offsets: dict[tuple[str, str], dict[str, Distribution]] = {}
        self._recordings: dict[str, _Recording] = {}
        self._every = 1

    def add(self, clip: ClipVerdict) -> None:
        """Add the verdict on one clip."""
        at_ns = clip.middle_ns
        week = week_of(at_ns)
        if week is not None:
            self._weeks[week].add(clip)
        for key, value in clip.about.items():
            known = self._groups[key]
            name = value if value in known or len(known) < _MOST_VALUES else "others"
            known[name].add(clip)
            offsets = self._offsets.setdefault((key, name), defaultdict(Distribution))
            for (source, _), offset_s in _offsets(clip):
                offsets[source].add(offset_s)
        if week is not None and at_ns is not None:
            self._add_to_series(clip, at_ns)

    def _add_to_series(self, clip: ClipVerdict, at_ns: int) -> None:
        name = clip.recording_id
        if zlib.crc32(_bytes(name)) % self._every:
            return
        one = self._recordings.get(name)
        if one is None:
            one = self._recordings[name] = _Recording(
                at_ns=at_ns, first=clip.clip_id, last=clip.clip_id, about=clip.about
            )
        one.last = clip.clip_id
        one.verdicts[clip.verdict] += 1
        for key, offset_s in _offsets(clip):
            total, n = one.offsets.get(key, (0.0, 0))
            one.offsets[key] = (total + offset_s, n + 1)
        if len(self._recordings) > _MOST_RECORDINGS:
            self._every *= 2
            self._recordings = {
                k: v for k, v in self._recordings.items() if not zlib.crc32(_bytes(k)) % self._every
            }

    def to_view(self) -> dict[str, Any]:
        """Return the view that the template shows."""
        weeks = [self._weeks[week].view(week) for week in sorted(self._weeks)]
        return {
            "weeks": weeks[-_MOST_WEEKS:] if len(weeks) > 1 else [],
            "groups": [
                {"key": key, "lines": list(self._lines(key, known))}
                for key, known in sorted(self._groups.items())
            ],
            "changes": [self._view(*change) for change in self._changes()],
        }

    def _lines(self, key: str, known: Mapping[str, _Tally]) -> Iterator[dict[str, Any]]:
        for value in sorted(known):
            apart = [
                (abs(differs_s) / (self._tolerances_s.get(source) or 1.0), source, differs_s)
                for source, one in self._offsets.get((key, value), {}).items()
                if (differs_s := self._differs_s(key, value, source, one)) is not None
            ]
            worst = max(apart, default=None)
            words = (
                f"{worst[1]} {signed_ms(worst[2])}" if worst and worst[0] > _LEAST_SHARE else "–"
            )
            yield known[value].view(value) | {"differs": words}

    def _differs_s(self, key: str, value: str, source: str, own: Distribution) -> float | None:
        """Return the difference between the offset of a source and that in the rest."""
        rest = Distribution()
        for (other_key, other), offsets in self._offsets.items():
            if other_key == key and other != value and source in offsets:
                rest.merge(offsets[source])
        mine, theirs = own.median(), rest.median()
        return None if mine is None or theirs is None else mine - theirs

    def _changes(self) -> list[tuple[str, Series, Sequence[_Recording], ChangePoint]]:
        """Return the statistically significant changes, the clearest first."""
        ordered = sorted(self._recordings.values(), key=lambda one: one.at_ns)
        scopes = {"": ordered}
        for key, known in self._groups.items():
            for value in known:
                scopes[f"{key} {value}"] = [o for o in ordered if o.about.get(key) == value]
        tried: list[tuple[str, Series, Sequence[_Recording], ChangePoint]] = []
        for scope, recordings in scopes.items():
            series = dict.fromkeys(key for one in recordings for key in one.offsets)
            of_scope: list[Series] = [Verdict.REJECT, Verdict.UNVERIFIED, *series]
            for each in of_scope:
                held = [one for one in recordings if one.value(each) is not None]
                values = [one.value(each) or 0.0 for one in held]
                if isinstance(each, Verdict):
                    found = find_change_of_shares(values)
                else:
                    units = [one.about.get(_UNIT, "") for one in held]
                    found = find_change(_centred(values, units))
                if found is not None:
                    tried.append((scope, each, held, found))
        # Corrected for all tests (Bonferroni).
        clear = [one for one in tried if one[3].chance * len(tried) < _LEVEL and self._matters(one)]
        return sorted(clear, key=lambda one: one[3].chance)[:_MOST_CHANGES]

    def _matters(self, change: tuple[str, Series, Sequence[_Recording], ChangePoint]) -> bool:
        _, series, _, found = change
        if isinstance(series, Verdict):
            return True
        tolerance_s = self._tolerances_s.get(series[0]) or 0.0
        return abs(found.after - found.before) >= _LEAST_SHARE * tolerance_s

    def _view(
        self, scope: str, series: Series, held: Sequence[_Recording], found: ChangePoint
    ) -> dict[str, Any]:
        before, after = held[: found.index], held[found.index :]
        if isinstance(series, Verdict):
            what = f"share {_WORDS[series]}"
            first, last = (fmean(o.value(series) or 0.0 for o in part) for part in (before, after))
            figures = f"{100 * first:.0f} % → {100 * last:.0f} %"
        else:
            source, reference = series
            what = f"offset of {source} against {reference}"
            figures = f"{signed_ms(found.before)} → {signed_ms(found.after)}"
        return {
            "scope": scope or "all",
            "what": what,
            "when": datetime.fromtimestamp(after[0].at_ns * 1e-9, UTC).date().isoformat(),
            "figures": figures,
            "with": "; ".join(_goes_along(before, after)),
            "before": [one.last for one in before[-_NAMED:]],
            "after": [one.first for one in after[:_NAMED]],
        }


_WORDS = {Verdict.REJECT: "rejected", Verdict.UNVERIFIED: "unverified"}


def _offsets(clip: ClipVerdict) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield the offsets that a clip measured, by source and reference."""
    for name, source in clip.sources.items():
        is_measured = source.is_observable and source.clock != clip.reference
        if is_measured and source.offset_s is not None and clip.reference is not None:
            yield (name, clip.reference), source.offset_s


def _centred(values: Sequence[float], units: Sequence[str]) -> list[float]:
    """Return offsets minus the constant offset of each unit."""
    by_unit: dict[str, list[float]] = defaultdict(list)
    for value, unit in zip(values, units, strict=True):
        by_unit[unit].append(value)
    middle = {unit: median(own) for unit, own in by_unit.items()}
    usual = median(values) if values else 0.0
    return [value - middle[unit] + usual for value, unit in zip(values, units, strict=True)]


def _goes_along(before: Sequence[_Recording], after: Sequence[_Recording]) -> Iterator[str]:
    """Yield the recording properties that change at the same point."""
    for key in sorted({key for one in (*before, *after) for key in one.about}):
        first, last = (Counter(one.about.get(key, "–") for one in part) for part in (before, after))
        (was, n_was), (now, n_now) = first.most_common(1)[0], last.most_common(1)[0]
        if was != now and n_was >= _MOSTLY * len(before) and n_now >= _MOSTLY * len(after):
            yield f"{key} {was} → {now}"


def _word_rate(rate: Rate) -> dict[str, Any]:
    low, high = rate.interval()
    share = rate.share or 0.0
    return {
        "share": share,
        "words": f"{100 * share:.0f} %",
        "interval": f"{100 * low:.0f}–{100 * high:.0f} %",
    }


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")
