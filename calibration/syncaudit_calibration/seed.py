"""Find initial values for the bundle: associate events with flashes and relate clocks roughly.

All pairs of sources are matched; the accepted pairs form a graph whose maximum spanning tree (by
events matched) relates the clocks to the reference. The other edges close loops and are tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.estimators.events import (
    EventEvidence,
    EventMatch,
    Instants,
    band_height_px,
    instants_of,
    is_by_camera,
    period_of,
    shortened,
)
from syncaudit.formatting import word_duration
from syncaudit.model import EventTrain, FlashEdges
from syncaudit.model.arrays import Floats, Ints
from syncaudit_calibration.association import Map
from syncaudit_calibration.closures import Closure, Links, groups_of, match_all
from syncaudit_calibration.pulse_length import as_onsets, find_pulse_length
from syncaudit_calibration.rematch import composed, match_with_all, rematch
from syncaudit_calibration.step_owners import steps_of, unseen_s

# Two for the offset and drift of a clock, one to check them, and one to identify an outlier.
MIN_EVENTS = 4
# Fraction of the lit cells that may clip: with more, too few remain to fit edges.
MAX_CLIPPED_SHARE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seed:
    """Initial values of the bundle."""

    reference: str  # source whose clock is reference time
    maps: Mapping[str, Map]  # rough clock map of each connected source
    events: Mapping[str, Instants]  # events of the connected sources
    flash_of: Mapping[str, Ints]  # flash number of every event of each source; -1: none
    flash_s: Floats  # shape (f,): rough reference time of each flash
    closures: tuple[Closure, ...]  # of all matched pairs beyond the tree
    refused: Mapping[str, str]  # sources that could not be used, and why
    # Length of all pulses, by which their ends were converted to onsets in `events`.
    length_s: float | None = None


def find_seed(
    evidence: Sequence[EventEvidence],
    *,
    reference: str | None,
    max_offset_s: float,
    light_s: float = np.inf,
) -> Seed | dict[str, str]:
    """Match every pair of sources and relate the clocks to the reference.

    `reference` is the source whose clock is reference time; default: the first camera by name in
    the largest connected group, preferring those that date instants, or else its first source.
    Lights that last longer than `light_s` are not matched. If no two sources could be connected,
    the reason of each is returned.
    """
    refused: dict[str, str] = {}
    events: dict[str, Instants] = {}
    vague: dict[str, Instants] = {}
    cameras = {item.source for item in evidence if is_by_camera(item)}
    for item in sorted(evidence, key=lambda item: item.source):
        wide = instants_of(item, with_intervals=True)
        sharp = instants_of(item)
        why = _why_unusable(wide, sharp, max_offset_s)
        if why is None:
            sharp = instants_of(shortened(item, light_s))
            events[item.source] = sharp
            if wide.n > sharp.n:
                vague[item.source] = wide
        else:
            refused[item.source] = word_clipping(item) or why
    length_s = find_pulse_length(events, max_offset_s=max_offset_s)
    if length_s is not None:
        events = {name: as_onsets(train, length_s) for name, train in events.items()}
        vague = {name: as_onsets(train, length_s) for name, train in vague.items()}
    links = match_all(events, max_offset_s)
    items = {item.source: item for item in evidence}
    groups = groups_of(list(events), links)
    largest = max(groups, key=len, default=[])
    apart = set(events).difference(largest)
    if apart and vague:
        # Intervals between two frames are less precise, but cover far more lights.
        events |= vague
        links = match_all(events, max_offset_s)
        groups = groups_of(list(events), links)
    if reference is not None and reference in refused:
        return refused
    if reference is not None:
        group = next((group for group in groups if reference in group), [])
    else:
        group = max(groups, key=len, default=[])
    if not group:
        return refused
    # Relative to a reference with intervals only, no clock is known any better than that.
    is_vague = {name: not events[name].sharp.size for name in group}
    root = reference or min(group, key=lambda name: (name not in cameras, is_vague[name], name))
    steps = steps_of(links, root)
    maps = _carry(root, group, links, steps)
    # A source that was matched off by a pulse with one would be so with all.
    for name in sorted(set(events) - set(maps) - links.contradicted):
        _try_merged(name, root, maps, events, links, max_offset_s)
    for name in sorted(set(events) - set(maps)):
        refused[name] = _why_apart(items[name], root, links)
    if len(maps) < 2:
        refused.setdefault(root, "no other source shares enough events with it")
        return refused
    used = {name: events[name] for name in sorted(maps)}
    maps, found = rematch(maps, used, links, root, max_offset_s)
    if not found.flash_s.size:
        why = (
            "its flashes are too uncertain to be paired with others: state line_delay_s, exposure_s"
        )
        return refused | dict.fromkeys(used, why)
    return Seed(
        reference=root,
        maps=maps,
        events=used,
        flash_of=found.flash_of,
        flash_s=found.flash_s,
        closures=found.closures,
        refused=refused,
        length_s=length_s,
    )


def _why_unusable(events: Instants, sharp: Instants, max_offset_s: float) -> str | None:
    if events.n < MIN_EVENTS:
        return (
            f"{events.source} shows {events.n} flashes; at least {MIN_EVENTS} are needed: record "
            "longer, or use more pulses per frame period"
        )
    period_s = period_of(sharp if sharp.n else events, max_offset_s=max_offset_s)
    if period_s is None or _is_denied(period_s, events, sharp, max_offset_s):
        return None
    return (
        f"the events of {events.source} are periodic: its offset is known only modulo "
        f"{word_duration(period_s)}. Use an irregular train"
    )


def word_clipping(item: EventEvidence) -> str | None:
    """Describe the problem and its cure, or return None if little of the flashes' light clips."""
    if isinstance(item, EventTrain) or item.clipped_share <= MAX_CLIPPED_SHARE:
        return None
    return (
        f"the flash clips {100 * item.clipped_share:.0f} % of what it lights in the image of "
        f"{item.source}: lower its exposure or gain, or dim the light"
    )


def _is_denied(period_s: float, events: Instants, sharp: Instants, max_offset_s: float) -> bool:
    """Return whether most events are intervals between two frames and are not periodic.

    The few sharp events may lie on a grid by chance.
    """
    tells = events.n > 2 * sharp.n > 0 and period_s > 4.0 * events.tolerance_s
    return tells and period_of(events, max_offset_s=max_offset_s) is None


def _carry(
    root: str,
    group: Sequence[str],
    links: Links,
    steps: Mapping[str, tuple[tuple[float, float], ...]],
) -> dict[str, Map]:
    """Return the map of every source of the group, along the best matched pairs."""
    maps = {root: Map(steps=steps.get(root, ()))}
    while len(maps) < len(group):
        border = [
            (_n_sharp(match), match.n, pair)
            for pair, match in links.matches.items()
            if (pair[0] in maps) != (pair[1] in maps)
        ]
        if not border:
            break
        *_, pair = max(border)
        child = pair[1] if pair[0] in maps else pair[0]
        parent = pair[0] if child == pair[1] else pair[1]
        match, is_source, own = links.matches[pair], child == pair[0], steps.get(child, ())
        plain = composed(maps[parent], match, is_source=is_source)
        # Steps that a pair did not notice came before all events that it shares.
        before_s = unseen_s(match, own, is_source=is_source)
        before_s -= unseen_s(match, maps[parent].steps, is_source=not is_source)
        maps[child] = replace(plain, start_s=plain.start_s - before_s, steps=own)
    return maps


def _n_sharp(match: EventMatch) -> int:
    """Count the pairs with sharp instants on both sides: intervals relate clocks to ms only."""
    half_s = np.maximum(match.source.half_s[match.i], match.target.half_s[match.j])
    return int(np.count_nonzero(half_s == 0.0))


def _try_merged(
    name: str,
    root: str,
    maps: dict[str, Map],
    events: Mapping[str, Instants],
    links: Links,
    max_offset_s: float,
) -> None:
    """Match a source against all others together if it shares too little with each of them."""
    match = match_with_all(name, root, maps, events, max_offset_s)
    if match is None:
        return
    if match.why is None:
        maps[name] = composed(Map(), match, is_source=True)
    else:
        links.reasons[min(name, root), max(name, root)] = match.why


def _why_apart(item: EventEvidence, root: str, links: Links) -> str:
    name = item.source
    why = links.reasons.get((min(name, root), max(name, root)), "no events in common")
    return (
        f"{name} could not be connected to {root}: {why}. {_what_to_state(item)}Record more "
        "flashes that both see (irregular gaps, several pulses per frame period)"
    )


def _what_to_state(item: EventEvidence) -> str:
    """Describe what the manifest should state about a camera to relate its edges in time."""
    if not isinstance(item, FlashEdges):
        return ""
    unknown = ["line_delay_s"] if item.line_delay_s is None else []
    # An upper edge dates the end of an exposure, a lower one its beginning.
    if item.exposure_s is None and band_height_px(item) is None and item.exposure_part.any():
        unknown.append("exposure_s")
    return f"State its {' and '.join(unknown)}. " if unknown else ""
