"""Find out in which direction the rolling shutters of a recording read their images.

Drivers rotate the images of cameras that are mounted upside down, and phones those held upright:
rows are then no longer read from the top to the bottom. A camera read the wrong way dates every
flash as far from the middle row as it was, but to the other side. Cameras agree about that among
each other only if they all are read the wrong way and run at the same rate: within each frame, time
runs backwards for all of them.

Logs may hold both edges of pulses, as of a GPIO line that changes its level; they are found too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from syncaudit.estimators.events.exposures import settle_exposures
from syncaudit.estimators.events.instants import EventEvidence, Instants, instants_of
from syncaudit.estimators.events.light_length import find_light_length, limit_light, shortened
from syncaudit.estimators.events.matching import match_events
from syncaudit.model import EventTrain, FlashEdges, Quantity
from syncaudit.model.clip import OPPOSITE_SCANS, Scan

# Directions are taken as shown if others are less likely by this factor: as sure as a match.
MARGIN = -math.log(3e-4)
# A pair speaks for the likelier of two assignments only if it matches this many times better under
# it, on a log scale (chance, too, makes one of two equally good matches a little more significant),
# but against it if it matches better at all.
MORE = 2.0

# Figure of a measurement: the images of one side (its prefix) are read from the last row on.
READ_UP = "is_read_up"

_Options = Mapping[str, Mapping[Scan | None, Instants]]
_Assignment = dict[str, Scan | None]
_Choice = tuple[str, Scan | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weight:
    """Minus the log of the chance of a match; 0 where it is refused, or where chance explains it.

    One that is refused since another offset explains as much agrees all the same.
    """

    accepted: float = 0.0
    agreeing: float = 0.0


_Weights = Mapping[frozenset[_Choice], _Weight]

MIN_PULSES = 5
# Programs hold pulses to this share of their length; the gaps between irregular pulses differ by
# more.
EQUAL_SHARE = 0.02
# Onsets of two flashes in the same camera as far apart as the edges, within this part of their
# distance or a frame's resolution of such flashes: at least as many are no coincidence.
MIN_TWICE = 3
NEAR_S = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class Scans:
    """Directions of reading.

    Parameters
    ----------
    found : mapping of str to str
        Cameras that are not read as assumed, and their direction.
    unknown : tuple of str
        Cameras read as assumed that match as well if all of them are read the other way.
    undecided : mapping of str to str
        Cameras that are not read as assumed, but in this direction, unless others, which match
        them, are not.
    apart : tuple of str
        Sources without any match, read in whichever direction.
    """

    found: Mapping[str, Scan] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    undecided: Mapping[str, Scan] = field(default_factory=dict)
    apart: tuple[str, ...] = ()


def find_scans(
    evidence: Mapping[str, EventEvidence],
    others: Sequence[FlashEdges] = (),
    *,
    max_offset_s: float,
) -> Scans:
    """Return the directions of reading under which the sources match best.

    All pairs are matched in all directions that neither the manifest nor lasting lights determine.
    Those are chosen that make the probability least that chance matched all accepted pairs, by
    changing one camera at a time (iterated conditional modes; Besag, "On the statistical analysis
    of dirty images", J. R. Stat. Soc. B 48, 1986). Of about equally likely ones, those with the
    fewest cameras read otherwise than assumed.

    Parameters
    ----------
    evidence : mapping of str to FlashEdges, FlashIntervals or EventTrain
        By source, with rows counted as assumed.
    others : sequence of FlashEdges
        What cameras show if read in the direction of `scan`.
    max_offset_s : float
        Search bound.
    """
    options = _options(evidence, others, max_offset_s)
    weights = _weights(options, max_offset_s)
    assumed = {name: next(iter(own)) for name, own in options.items()}
    tried = [_best(options, weights, {name: scan}) for name, own in options.items() for scan in own]
    best = max(tried, key=lambda each: _total(each, weights), default=assumed)
    equal = [each for each in (assumed, *tried) if _lead(best, each, weights, options) <= MARGIN]
    best = min(equal, key=lambda each: sum(each[name] != assumed[name] for name in each))
    found: dict[str, Scan] = {}
    undecided: dict[str, Scan] = {}
    unknown, apart = [], []
    for name, scan in best.items():
        alternatives = [each for each in tried if each[name] != scan]
        is_sure = all(
            _lead(best, alternative, weights, options) > MARGIN for alternative in alternatives
        )
        if not any(_weight_of(name, each, weights) for each in (best, *alternatives)):
            apart.append(name)
        elif scan == assumed[name]:
            unknown += [] if is_sure else [name]
        elif scan is not None:
            (found if is_sure else undecided)[name] = scan
    return Scans(found=found, unknown=tuple(unknown), undecided=undecided, apart=tuple(apart))


def word_undecided_scan(name: str, scan: Scan) -> str:
    """Return why a camera cannot be calibrated although its flashes match."""
    return (
        f"{name} matches others only if its images, or theirs, are not read from the first row to "
        f'the last: if they were rotated, state "scan" in the manifest, of {name} ("{scan}" or '
        f'"{OPPOSITE_SCANS[scan]}") or of one of the others ("down" or "up"); if not, its rows do '
        "not date this light: use one that switches at once"
    )


def word_scans(scans: Scans, calibrated: Collection[str]) -> list[str]:
    """Return warnings of calibrated cameras that are, or may be, read otherwise than assumed."""
    words = [
        f"the images of {name} are not read from the first row to the last, but {scan}: state "
        f'"scan": "{scan}" in the manifest, for audits as well'
        for name, scan in scans.found.items()
        if name in calibrated
    ]
    if assumed := sorted(set(scans.unknown).intersection(calibrated)):
        words.append(
            f"{', '.join(assumed)}: the flashes do not show whether the first row is read first or "
            "the last, as in images rotated by 180 degrees after readout; the first was assumed. "
            'State "scan" in the manifest ("down" or "up"), or record a trigger or a '
            "microphone"
        )
    return words


def _options(
    evidence: Mapping[str, EventEvidence], others: Sequence[FlashEdges], max_offset_s: float
) -> _Options:
    """Return the events of each source by direction of reading; the assumed one first."""
    settled = limit_light(settle_exposures(list(evidence.values())))
    light = find_light_length(settled, max_offset_s=max_offset_s)
    # What is read in a wrong direction must not determine what others show.
    settled += [limit_light(settle_exposures([*evidence.values(), each]))[-1] for each in others]
    free = {item.source for item in others}
    options: dict[str, dict[Scan | None, Instants]] = {item.source: {} for item in settled}
    for item in settled:
        item, own = shortened(item, light.likely_s), options[item.source]
        if isinstance(item, FlashEdges):
            events = instants_of(item, with_intervals=True)
            if item.source not in evidence:
                own[None] = events.take(np.empty(0, dtype=np.int64))
            own[item.scan or "down"] = events
            if item.scan is None and item.source not in free:
                own["up"] = instants_of(item.mirrored(), with_intervals=True)
        else:
            own[None] = instants_of(item)
    return options


def _weights(options: _Options, max_offset_s: float) -> _Weights:
    """Match every pair of options."""
    weights = {}
    for one, other in itertools.combinations(sorted(options), 2):
        for (scan, events), (other_scan, others) in itertools.product(
            options[one].items(), options[other].items()
        ):
            match = match_events(events, others, max_offset_s=max_offset_s, check_periods=False)
            weight = -math.log(max(match.chance, 1e-300))
            if weight > MARGIN:
                weights[frozenset({(one, scan), (other, other_scan)})] = _Weight(
                    accepted=weight if match.why is None else 0.0, agreeing=weight
                )
    return weights


def _best(options: _Options, weights: _Weights, fixed: _Assignment) -> _Assignment:
    """Return the directions with the largest sum of weights, with some of them fixed."""
    found = []
    for place in (0, -1):  # all as assumed; all the other way
        chosen: _Assignment = {name: list(own)[place] for name, own in options.items()} | fixed
        is_changed = True
        while is_changed:
            is_changed = False
            for name, own in options.items():
                if name in fixed:
                    continue
                sums = {s: _weight_of(name, chosen | {name: s}, weights) for s in own}
                likeliest = max(own, key=lambda scan: sums[scan])
                if sums[likeliest] > sums[chosen[name]]:
                    chosen[name], is_changed = likeliest, True
        found.append(chosen)
    return max(found, key=lambda each: _total(each, weights))


def _lead(one: _Assignment, other: _Assignment, weights: _Weights, options: _Options) -> float:
    """Return by how much pairs that match clearly better in one outweigh those that match worse.

    Where only one of two sources that date instants is read otherwise, one of the two matches is
    chance. Any other pair is of the same lights either way, and where it does not match, it may
    have been just short of it. A match that is refused because it is ambiguous weakens an accepted
    one, but speaks for neither assignment.
    """
    lead = 0.0
    for pair, changed in zip(_pairs(one), _pairs(other), strict=True):
        kept = set(pair) & set(changed)
        is_chance = any(not options[name][scan].half_s.all() for name, scan in kept)
        floor = 0.0 if is_chance else MARGIN
        ours, theirs = _weights_of((pair, changed), weights)
        a = max(ours.accepted, min(ours.agreeing, theirs.accepted), floor)
        b = max(theirs.accepted, min(theirs.agreeing, ours.accepted), floor)
        lead += a - b if a < b or a > MORE * b else 0.0
    return lead


def _total(chosen: _Assignment, weights: _Weights) -> float:
    return sum(each.accepted for each in _weights_of(_pairs(chosen), weights))


def _weight_of(name: str, chosen: _Assignment, weights: _Weights) -> float:
    own = name, chosen[name]
    pairs = [(own, each) for each in chosen.items() if each != own]
    return sum(each.accepted for each in _weights_of(pairs, weights))


def _pairs(chosen: _Assignment) -> list[tuple[_Choice, _Choice]]:
    return list(itertools.combinations(sorted(chosen.items(), key=lambda each: each[0]), 2))


def _weights_of(pairs: Sequence[tuple[_Choice, _Choice]], weights: _Weights) -> list[_Weight]:
    return [weights.get(frozenset(pair), _Weight()) for pair in pairs]


def without_ends(evidence: Sequence[EventEvidence]) -> list[EventEvidence]:
    """Return the evidence with the ends of pulses removed from logs that hold both edges.

    Every second gap of such a log is as long as a pulse, and the others differ. The same holds for
    lights that flash twice, but then cameras show flashes that far apart.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source, of one light.
    """
    seen = [instants_of(item) for item in evidence if not isinstance(item, EventTrain)]
    return [
        _onsets(item, seen)
        if isinstance(item, EventTrain) and item.quantity is Quantity.TRIGGER
        else item
        for item in evidence
    ]


def _onsets(log: EventTrain, seen: Sequence[Instants]) -> EventTrain:
    order = np.argsort(log.times_s, kind="stable")
    gaps_s = np.diff(log.times_s[order])
    for first in (0, 1):
        on_s, off_s = gaps_s[first::2], gaps_s[1 - first :: 2]
        if on_s.size < MIN_PULSES:
            continue
        length_s, std_s = float(np.median(on_s)), float(np.median(log.std_s))
        allowed_s = EQUAL_SHARE * length_s + 4.0 * std_s
        is_equal = np.all(np.abs(on_s - length_s) < allowed_s)
        if is_equal and np.ptp(off_s) > 4.0 * allowed_s and not _flash_twice(seen, length_s):
            kept = order[first::2]
            return replace(log, times_s=log.times_s[kept], std_s=log.std_s[kept])
    return log


def _flash_twice(seen: Sequence[Instants], length_s: float) -> bool:
    """Return whether a camera shows flashes this far apart."""
    near_s = max(NEAR_S, EQUAL_SHARE * length_s)
    return length_s > near_s and any(
        np.count_nonzero(np.abs(np.diff(events.main_sense_s) - length_s) < near_s) >= MIN_TWICE
        for events in seen
    )
