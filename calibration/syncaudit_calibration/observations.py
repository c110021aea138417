"""Build the equations of the bundle from all edges, events and intervals.

An observation k of flash f by source s, at ``u`` seconds after the source's anchor, gives

    (u + row * dT + part * dE + sense * S - late * J) (1 + d) + x + sum step_k * [t >= t_k]
        + L * [onset] - W * [end] - tau_f = error

with the unknowns tau (half-light instant of the flash), x and d (offset and drift), dT and dE
(corrections to the assumed line delay and to the exposure, or to how long a row sees the light), S
(how much earlier lights seem to go on, and later off, in the rows of this camera), J (1 if frames
were exposed by an even clock and timestamped late or early, 0 if the timestamps are right), L
(half-light after onset) and W (length of all pulses, if ends of light were seen). All but tau have
a prior; it is tight for stated values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events import EventEvidence
from syncaudit.model import FlashEdges, FlashIntervals
from syncaudit.model.arrays import Floats, Ints
from syncaudit_calibration.association import Map
from syncaudit_calibration.seed import Seed
from syncaudit_calibration.unknowns import Unknown, light_lasts, unknowns_of

STD_FLOOR_S = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observations:
    """All observations of the bundle and the unknowns they constrain."""

    seed: Seed  # association of events with flashes
    sources: tuple[str, ...]  # names, which `source` indexes
    anchor_ns: Mapping[str, int]  # own timestamp of each source from which `u_s` counts
    unknowns: tuple[Unknown, ...]  # columns of the design
    # shape (n,): source and flash of each observation
    source: Ints
    flash: Ints
    frame: Ints  # shape (n,): frame; observations of one source in one frame share its timestamp
    # shape (n,): own time of half-light after the anchor, with assumed line delay, exposure and
    # latency; for intervals, the middle
    u_s: Floats
    # shape (n, p): derivatives by the unknowns, without the factor ``1 + d`` of the drift
    design: Floats
    # shape (n,): random error of the time itself; half the width of an interval (0: a point)
    std_s: Floats
    half_s: Floats
    # shape (n,): random error of the row, which the line delay converts to an error of the time
    row_std_px: Floats
    # shape (n,): own time, on the time axis of the evidence, that decides which clock steps apply
    stamp_s: Floats
    flash_s: Floats  # shape (f,): rough instants after the reference's anchor

    @property
    def prior_std(self) -> Floats:
        """Return the prior standard deviations of the unknowns, shape (p,)."""
        return np.array([unknown.prior_std for unknown in self.unknowns])

    def column(self, kind: str, source: str = "") -> int | None:
        """Return the column of an unknown, or None if it is not an unknown."""
        for k, unknown in enumerate(self.unknowns):
            if unknown.kind == kind and unknown.source == source:
                return k
        return None

    def steps(self, source: str) -> list[int]:
        """Return the columns of a source's steps, in time order."""
        found = [k for k, u in enumerate(self.unknowns) if (u.kind, u.source) == ("step", source)]
        return sorted(found, key=lambda k: self.unknowns[k].at_s)


def observe(evidence: Sequence[EventEvidence], seed: Seed) -> Observations:
    """Set up the equations of all connected sources.

    `evidence` is that given to `find_seed`.
    """
    items = {item.source: item for item in evidence if item.source in seed.maps}
    sources = tuple(sorted(items))
    reference_s = float(np.round(0.5 * (seed.flash_s[0] + seed.flash_s[-1]), 9))
    unknowns = tuple(unknowns_of(items, seed))
    assumed = {(unknown.kind, unknown.source): unknown.assumed for unknown in unknowns}
    parts: list[_Part] = []
    anchor_ns = {}
    for name in sources:
        own_s = _own(seed.maps[name], reference_s)
        anchor_ns[name] = items[name].epoch_ns + round(own_s * 1e9)
        parts.append(_part(items[name], seed, round(own_s * 1e9) * 1e-9, assumed))
    source = np.repeat(np.arange(len(sources)), [part["u_s"].size for part in parts])
    design = np.zeros((source.size, len(unknowns)))
    everything = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    flash: Ints = everything["flash"].astype(np.int64)
    # The instant of a flash is its half-light; if the light lasts, its onset, or its end where
    # ends were not converted to onsets.
    latency = everything["is_onset"] - float(light_lasts(items.values()))
    if seed.length_s is None:
        shows_end = np.bincount(flash, everything["is_end"]) > 0.0
        latency = np.where(shows_end[flash], -latency, latency)
    values = {
        "offset": np.ones(source.size),
        "drift": everything["u_s"],
        "line_delay": everything["row_px"],
        "exposure": everything["exposure_part"],
        "band": everything["band_part"],
        "edge_shift": everything["sense"],
        "jitter": -everything["late_s"],
        "half_light": latency,
        "length": -everything["is_end"],
    }
    for k, unknown in enumerate(unknowns):
        own = 1.0 if not unknown.source else source == sources.index(unknown.source)
        if unknown.kind == "step":
            design[:, k] = own * (everything["stamp_s"] >= unknown.at_s)
        else:
            design[:, k] = values[unknown.kind] * own
    # Onsets are converted to half-light instants by the assumed latency, or vice versa.
    half_light_s = latency * assumed["half_light", ""]
    return Observations(
        seed=seed,
        sources=sources,
        anchor_ns=anchor_ns,
        unknowns=unknowns,
        source=source,
        flash=flash,
        frame=everything["frame"].astype(np.int64),
        u_s=everything["u_s"] + half_light_s,
        design=design,
        std_s=everything["std_s"],
        half_s=everything["half_s"],
        stamp_s=everything["stamp_s"],
        row_std_px=everything["row_std_px"],
        flash_s=seed.flash_s - reference_s,
    )


def free_stated(observations: Observations) -> Observations:
    """Return the same observations with wide priors on stated line delays and exposures."""
    freed = tuple(
        replace(unknown, prior_std=max(unknown.prior_std, 0.3 * unknown.assumed))
        if unknown.is_stated and unknown.kind in ("line_delay", "exposure")
        else unknown
        for unknown in observations.unknowns
    )
    return replace(observations, unknowns=freed)


def _own(clock: Map, reference_s: float) -> float:
    own_s = (reference_s - clock.start_s) / clock.rate
    for at_s, size_s in clock.steps:
        if own_s >= at_s:
            own_s -= size_s
    return own_s


_Part = dict[str, NDArray[Any]]
"""Observations of one source by column, each of shape (n,)."""
# Columns that are zero without edges in rows.
_OF_EDGES = ("row_px", "row_std_px", "exposure_part", "band_part", "sense", "late_s")


def _part(
    item: EventEvidence, seed: Seed, anchor_s: float, assumed: Mapping[tuple[str, str], float]
) -> _Part:
    name = item.source
    events, flash = seed.events[name], seed.flash_of[name]
    if isinstance(item, FlashEdges):
        numbers = dict(zip(events.item.tolist(), flash.tolist(), strict=True))
        return _edges(item, numbers, anchor_s, assumed)
    used = flash >= 0
    index = events.item[used]
    nothing = np.zeros(index.size)
    if isinstance(item, FlashIntervals):
        start, stop = item.start_s[index], item.stop_s[index]
        times, half = 0.5 * (start + stop), 0.5 * (stop - start)
        is_end = nothing if item.sense is None else 1.0 * (item.sense[index] < 0)
    else:
        times, half, is_end = item.times_s[index], nothing, nothing
    return dict.fromkeys(_OF_EDGES, nothing) | {
        "flash": flash[used],
        "frame": np.arange(index.size),
        "u_s": times - is_end * assumed.get(("length", ""), 0.0) - anchor_s,
        "std_s": np.hypot(item.std_s[index], STD_FLOOR_S),
        "half_s": half,
        "is_onset": np.ones(index.size),
        "is_end": is_end,
        "stamp_s": times,
    }


def _edges(
    item: FlashEdges,
    flash_of: dict[int, int],
    anchor_s: float,
    assumed: Mapping[tuple[str, str], float],
) -> _Part:
    flash = np.array([flash_of.get(int(band), -1) for band in item.band], dtype=np.int64)
    used = flash >= 0
    nothing: Floats = np.zeros(int(used.sum()))
    half_s = nothing if item.half_s is None else item.half_s[used]
    # The time from the timestamp to the middle row is as uncertain as line delay and exposure;
    # intervals between two frames already allow for it.
    stamp_part = np.where(half_s > 0.0, 0.0, item.stamp_part)
    row = item.row_px[used] + stamp_part * item.readout_px
    frame_s = item.frame_s[used] - np.where(half_s > 0.0, 0.0, item.from_stamp_s)
    exposure_part, band_part = item.exposure_part[used], nothing
    if ("band", item.source) in assumed:
        exposure_part, band_part = stamp_part, exposure_part
    elif item.exposure_s is None:
        exposure_part = exposure_part + stamp_part
    else:  # edges may suggest a different exposure than the stated one; timestamps do not
        frame_s = frame_s + stamp_part * item.exposure_s
    is_end = nothing if item.sense is None else (item.sense[used] < 0).astype(np.float64)
    times = (
        frame_s
        + row * assumed["line_delay", item.source]
        + exposure_part * assumed.get(("exposure", item.source), 0.0)
        + band_part * assumed.get(("band", item.source), 0.0)
        - is_end * assumed.get(("length", ""), 0.0)
    )
    sense = nothing
    if item.sense is not None:
        sense = np.where(half_s > 0.0, 0.0, item.sense[used])
    late_s = nothing if item.late_s is None else item.late_s[used]
    soft_s = np.where(half_s > 0.0, item.jitter_s, 0.0)
    return {
        "flash": flash[used],
        "frame": item.frame_index[used],
        "u_s": times - anchor_s,
        "row_px": row,
        "exposure_part": exposure_part,
        "band_part": band_part,
        "std_s": np.hypot(STD_FLOOR_S, soft_s),
        "half_s": half_s,
        "row_std_px": item.row_std_px[used],
        "is_onset": nothing + float(item.sense is not None),
        "is_end": is_end,
        "stamp_s": item.frame_s[used],
        "sense": sense,
        "late_s": late_s,
    }
