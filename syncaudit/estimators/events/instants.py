"""Convert every kind of event evidence to instants on the source's own clock."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.estimators.events.flash_bands import (
    EDGE_SHIFT_PX,
    FlashBands,
    agree_with_bands,
    apparent_height_px,
    band_height_px,
)
from syncaudit.model import EventTrain, FlashEdges, FlashIntervals, Quantity
from syncaudit.model.arrays import Bools, Floats, Ints

EventEvidence = FlashEdges | FlashIntervals | EventTrain

# Defaults where nothing is stated: rolling shutters read out within 4 to 32 ms, fast ones in a
# quarter of their frame period and none in more than a whole one; exposures are 1 to 15 ms.
READOUT_S = 0.004, 0.032
LEAST_READOUT = 0.25
USUAL_EXPOSURE_S = 0.008
USUAL_EXPOSURE_STD_S = 0.005
# Half of a flash's light has arrived this long after its onset (LED pulses, xenon tails), give or
# take the same time.
USUAL_HALF_LIGHT_S = 0.0005
# Share of neighbouring switches that go on and off in turn where a source shows nearly all of them.
MIN_ALTERNATING = 0.93


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrections:
    """Corrections of a camera's assumed line delay and exposure.

    Parameters
    ----------
    line_delay_s, exposure_s : float
        To add to the assumed values.
    exposure_std_s : float
        Standard error of the exposure; 0 where it was not estimated.
    """

    line_delay_s: float = 0.0
    exposure_s: float = 0.0
    exposure_std_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instants:
    """Events of one source in order of time, each a point or an interval.

    The instants assume a line delay and an exposure; `at` returns them for others.

    Parameters
    ----------
    source : str
        Source of the events.
    epoch_ns : int
        Zero of the times on the source's clock.
    times_s : ndarray, shape (n,)
        Instants; midpoints of intervals.
    std_s, half_s : ndarray, shape (n,)
        One-sigma random error; half the width of the interval (0: a point).
    jitter_s : float
        Part of `std_s` that lies in the timestamps of frames rather than in the rows.
    row_px : ndarray, shape (n,)
        Derivative of the instant with respect to the line delay.
    item : ndarray of int, shape (n,)
        Band number of a flash, else the position in the evidence.
    line_delay_s, line_delay_std_s : float
        Assumed line delay and its standard error (0: stated, or no rolling shutter).
    exposure_part : ndarray, shape (n,), optional
        Derivative of the instant with respect to the exposure.
    exposure_s, exposure_std_s : float
        Assumed exposure and its standard error (0: visible as the height of bands). If stated, it
        is what edges may suggest instead.
    systematic_std_s : float
        Error common to all instants: timestamps, and the systematic error given in the evidence.
    is_onset : bool
        Whether the instants are onsets (or ends, see `sense`) of a light rather than its half-light
        instants.
    half_light_s, half_light_std_s : float, optional
        Time from onset to half-light and its standard error, where known.
    sense : ndarray of int, shape (n,), optional
        +1 where a light goes on, -1 where one goes off, 0 where unknown; None: all unknown.
    evidence : FlashEdges, FlashIntervals or EventTrain, optional
        What the instants were derived from.
    """

    source: str
    epoch_ns: int
    times_s: Floats
    std_s: Floats
    half_s: Floats
    row_px: Floats
    item: Ints
    jitter_s: float = 0.0
    line_delay_s: float = 0.0
    line_delay_std_s: float = 0.0
    exposure_part: Floats | None = None
    exposure_s: float = 0.0
    exposure_std_s: float = 0.0
    systematic_std_s: float = 0.0
    is_onset: bool = True
    half_light_s: float | None = None
    half_light_std_s: float | None = None
    sense: Ints | None = None
    evidence: EventEvidence | None = None

    @property
    def n(self) -> int:
        """Return the number of events."""
        return int(self.times_s.size)

    @property
    def sharp(self) -> Ints:
        """Return the positions of the events that are points."""
        return np.flatnonzero(self.half_s == 0.0).astype(np.int64)

    @property
    def senses(self) -> Ints:
        """Return the `sense` of each event, 0 where unknown, shape (n,)."""
        return np.zeros(self.n, dtype=np.int64) if self.sense is None else self.sense

    @property
    def knows_timing(self) -> bool:
        """Return whether the instants depend on no line delay or exposure that is not stated."""
        return self.line_delay_std_s == 0.0 and self.exposure_std_s < USUAL_EXPOSURE_STD_S

    @property
    def exposure_parts(self) -> Floats:
        """Return the `exposure_part` of each event, 0 where there is none, shape (n,)."""
        return np.zeros(self.n) if self.exposure_part is None else self.exposure_part

    def at(self, corrections: Corrections) -> Floats:
        """Return the instants with a corrected line delay and exposure, shape (n,)."""
        moved_s: Floats = self.times_s + self.row_px * corrections.line_delay_s
        return moved_s + self.exposure_parts * corrections.exposure_s

    def take(self, which: Ints) -> Instants:
        """Return the events at these positions, in their order."""
        columns = ("times_s", "std_s", "half_s", "row_px", "item")
        taken = {name: getattr(self, name)[which] for name in columns}
        return replace(
            self,
            **taken,
            exposure_part=None if self.exposure_part is None else self.exposure_part[which],
            sense=None if self.sense is None else self.sense[which],
        )

    def in_order(self) -> Instants:
        """Return the events in order of time."""
        return self.take(np.argsort(self.times_s, kind="stable").astype(np.int64))

    @property
    def main_sense(self) -> Ints:
        """Return the positions of the events of the most frequent sense.

        A lamp goes off some time after it went on. That is not a repetition, because the two are
        never mistaken for each other.
        """
        values, counts = np.unique(self.senses, return_counts=True)
        commonest = values[np.argmax(counts)] if self.n else 0
        return np.flatnonzero(self.senses == commonest).astype(np.int64)

    @property
    def main_sense_s(self) -> Floats:
        """Return the instants of the most frequent sense."""
        times_s: Floats = self.times_s[self.main_sense]
        return times_s

    @property
    def everything(self) -> Instants:
        """Return all events of the source, also those only known to lie between two frames."""
        return self if self.evidence is None else instants_of(self.evidence, with_intervals=True)

    @property
    def is_lasting(self) -> bool:
        """Return whether it shows lights go off."""
        return bool(self.sense is not None and np.any(self.sense < 0))

    @property
    def shows_every_switch(self) -> bool:
        """Return whether it shows nearly every switch of a light: on and off in turn."""
        senses = self.everything.senses
        is_turn = senses[1:] * senses[:-1] < 0
        return bool(is_turn.size and is_turn.mean() >= MIN_ALTERNATING)

    @property
    def tolerance_s(self) -> float:
        """Return how far a typical instant may lie from the truth before any fit."""
        if self.n == 0:
            return 0.0
        row_s = np.abs(self.row_px) * self.line_delay_std_s
        part_s = np.abs(self.exposure_parts - np.mean(self.exposure_parts)) * self.exposure_std_s
        std_s = np.sqrt(self.std_s**2 + row_s**2 + part_s**2)
        return float(np.median(self.half_s + 2.0 * std_s))


def is_by_camera(item: EventEvidence) -> bool:
    """Return whether events are lights that a camera shows."""
    return isinstance(item, FlashEdges) or item.quantity is Quantity.FLASH


def instants_of(evidence: EventEvidence, *, with_intervals: bool = False) -> Instants:
    """Return the events of one source as instants in order of time.

    A band with both edges gives their mean, which does not depend on the exposure. For a band with
    one edge in the image, half the median height of the two-edged bands stands in for half the
    exposure; the stated (or a usual) exposure is needed only where no band has two edges. A counter
    that rose by several gives that many instants, spread over the interval.

    Parameters
    ----------
    evidence : FlashEdges or FlashIntervals or EventTrain
        Of one source.
    with_intervals : bool
        Whether to include edges known only to lie between two frames, besides those dated by rows.
    """
    if isinstance(evidence, FlashEdges):
        found = _of_edges(evidence)
        return (found if with_intervals else found.take(found.sharp)).in_order()
    if isinstance(evidence, FlashIntervals):
        return _of_intervals(evidence).in_order()
    n = evidence.times_s.size
    return Instants(
        source=evidence.source,
        epoch_ns=evidence.epoch_ns,
        times_s=evidence.times_s,
        std_s=evidence.std_s,
        half_s=np.zeros(n),
        row_px=np.zeros(n),
        item=np.arange(n, dtype=np.int64),
        systematic_std_s=evidence.systematic_std_s,
        sense=np.ones(n, dtype=np.int64) if evidence.quantity is Quantity.TRIGGER else None,
        evidence=evidence,
    ).in_order()


def phase_lock(events: Instants, other: EventEvidence | None) -> float:
    """Return how well events keep their phase to the frames of another source.

    The length of the mean vector of their phases, of either sense: 1 where the phase is constant,
    or the frames of a camera are not known; near 0 where they move against each other, or there are
    no frames.
    """
    if isinstance(other, FlashEdges):
        frames_s = other.watched_s[:, 0]
    elif isinstance(other, FlashIntervals) and other.quantity is Quantity.FLASH:
        frames_s = other.dead_s[:, 0]
    else:
        return 0.0
    if frames_s.size < 2:
        return 1.0
    vectors = np.exp(2j * np.pi * events.times_s / float(np.median(np.diff(frames_s))))
    sums = [vectors[events.senses == sense].sum() for sense in (-1, 0, 1)]
    return float(np.abs(sums).sum() / max(1, events.n))


def sensed_beside(events: Instants, other: Instants) -> Instants:
    """Return events that are to be matched with others, with the sense implied by the others.

    Half-light counts, when matched with onsets, as a light that goes on: no clock map is consistent
    with the onsets of some lights and the ends of others.
    """
    if events.is_onset or not other.is_onset:
        return events
    return replace(events, sense=np.ones(events.n, dtype=np.int64))


def opposite_polarity_mask(source: Instants, target: Instants) -> Bools | None:
    """Return which pairs cannot be one event (on here, off there), shape (n, m).

    None where every pair can.
    """
    if source.sense is None or target.sense is None:
        return None
    apart: Bools = np.multiply.outer(source.sense, target.sense) < 0
    return apart if apart.any() else None


def _of_intervals(evidence: FlashIntervals) -> Instants:
    count = np.maximum(evidence.count, 0)
    item = np.repeat(np.arange(count.size, dtype=np.int64), count)
    nth = np.arange(item.size) - np.repeat(np.cumsum(count) - count, count)
    share = (nth + 0.5) / np.maximum(count[item], 1)
    width = (evidence.stop_s - evidence.start_s)[item]
    middle = evidence.start_s[item] + share * width
    # Seen from a point off its middle, an interval reaches further to one side.
    half = (0.5 + np.abs(share - 0.5)) * width
    return Instants(
        source=evidence.source,
        epoch_ns=evidence.epoch_ns,
        times_s=middle,
        std_s=evidence.std_s[item],
        half_s=half,
        row_px=np.zeros(item.size),
        item=item,
        systematic_std_s=evidence.systematic_std_s,
        sense=np.ones_like(item) if evidence.sense is None else evidence.sense[item],
        evidence=evidence,
    )


def _of_edges(edges: FlashEdges) -> Instants:
    bands = FlashBands.of(edges)
    height = band_height_px(edges)
    line_delay_s, line_delay_std_s = _line_delay(edges, height)
    has_both = (bands.n_upper > 0) & (bands.n_lower > 0)
    part = np.select([bands.n_free > 0, has_both, bands.n_upper > 0], [0.0, 0.0, 0.5], -0.5)
    row = np.select(
        [bands.n_free > 0, has_both, bands.n_upper > 0],
        [bands.free_px, 0.5 * (bands.upper_px + bands.lower_px), bands.upper_px],
        bands.lower_px,
    )
    exposure_s, exposure_std_s = (
        (max(USUAL_EXPOSURE_S, 2.0 * (edges.half_light_s or 0.0)), USUAL_EXPOSURE_STD_S)
        if edges.exposure_s is None
        # Encoders move the two edges of all bands apart, like another exposure.
        else (edges.exposure_s, EDGE_SHIFT_PX * line_delay_s if height is None else 0.0)
    )
    exposure_part = np.zeros(row.size)
    systematic_s = math.hypot(edges.rise_std_s, edges.edge_shift_std_s)
    if height is not None:
        height_px, height_std_px = apparent_height_px(edges, height)
        row = row + part * height_px
        # Bands cut by the same side of the image share this error.
        systematic_s = math.hypot(systematic_s, abs(np.mean(part)) * height_std_px * line_delay_s)
    else:
        exposure_part = exposure_part + part
    # From a frame's timestamp to its middle row; intervals between two frames already include it.
    is_sharp = bands.half_s == 0.0
    stamp_part = np.where(is_sharp, edges.stamp_part, 0.0)
    row = row + stamp_part * edges.readout_px
    if height is not None and (edges.exposure_s is None or not agree_with_bands(edges, height)):
        row = row + stamp_part * height[0]
        shift_std_s = math.hypot(height[1], EDGE_SHIFT_PX) * line_delay_s
        systematic_s = math.hypot(systematic_s, edges.stamp_part * shift_std_s)
    else:
        exposure_part = exposure_part + stamp_part
    return Instants(
        source=edges.source,
        epoch_ns=edges.epoch_ns,
        times_s=bands.frame_s
        - np.where(is_sharp, edges.from_stamp_s, 0.0)
        + exposure_part * exposure_s
        + row * line_delay_s,
        std_s=np.hypot(bands.std_px * line_delay_s, edges.jitter_s),
        half_s=bands.half_s,
        row_px=row,
        item=bands.number,
        jitter_s=edges.jitter_s,
        line_delay_s=line_delay_s,
        line_delay_std_s=line_delay_std_s,
        exposure_part=exposure_part,
        exposure_s=exposure_s,
        exposure_std_s=exposure_std_s if exposure_part.any() else 0.0,
        systematic_std_s=systematic_s,
        is_onset=edges.sense is not None,
        half_light_s=edges.half_light_s,
        half_light_std_s=edges.half_light_std_s,
        sense=bands.sense,
        evidence=edges,
    )


def _line_delay(edges: FlashEdges, height: tuple[float, float] | None) -> tuple[float, float]:
    """Return the line delay and its error: stated, from the stated exposure, or usual.

    Where the bands contradict the stated values, the line delay may be as wrong as the exposure.
    """
    if edges.line_delay_s is not None:
        if height is None or agree_with_bands(edges, height):
            return edges.line_delay_s, 0.0
        assert edges.exposure_s is not None  # noqa: S101  # nothing else contradicts it
        apart_s = abs(edges.exposure_s / height[0] - edges.line_delay_s)
        return edges.line_delay_s, min(apart_s, usual_line_delay(edges)[1])
    if edges.exposure_s is not None and height is not None:
        line_delay_s = edges.exposure_s / height[0]
        return line_delay_s, line_delay_s * height[1] / height[0]
    return usual_line_delay(edges)


def usual_line_delay(edges: FlashEdges) -> tuple[float, float]:
    """Return mean and standard deviation of a line delay that is not stated, in seconds."""
    longest_s = longest_readout_s(edges)
    shortest_s = min(READOUT_S[0], LEAST_READOUT * longest_s)
    n_rows = max(1, edges.height_px)
    return (
        0.5 * (shortest_s + longest_s) / n_rows,
        (longest_s - shortest_s) / math.sqrt(12.0) / n_rows,
    )


def longest_readout_s(edges: FlashEdges) -> float:
    """Return how long a readout takes at most: every row is read once per frame period."""
    period_s = float(np.median(np.diff(edges.watched_s))) if edges.watched_s.size else np.inf
    return min(READOUT_S[1], period_s)
