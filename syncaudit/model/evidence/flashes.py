"""Light pulses as cameras and strobe counters detect them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import arrays
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.clip import OPPOSITE_SCANS, Scan
from syncaudit.model.evidence.activity import Quantity

# Half of a light's rise delays half-light. Up to a quarter of a ramp, no rise is noticed: rms of
# half of it, as a part of the ramp.
UNSEEN_RISE_PART = 0.07
# Readout where no line delay is stated: 3 to 33 ms.
UNSTATED_READOUT_S = 0.018
UNSTATED_READOUT_SHARE = 0.45


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlashEdges:
    """Edges of the bright bands that light pulses leave in a rolling shutter's frames.

    Rows are counted in the order in which they are read: as `scan` states, or downwards.

    An edge in row r of frame k dates the half-light instant of a pulse, when half of its light had
    arrived, on the camera's own clock:

        t = frame_s + row_px * line_delay + exposure_part * exposure

    The upper edge of a band is the end of its rows' exposure (part +1/2), the lower edge its start
    (part -1/2). The mean of both, and the edge of a light that goes on or off and stays, do not
    depend on the exposure (part 0); if the exposure is to be estimated, both ends of the ramp of
    such a light are edges instead (parts +1/2 and -1/2).

    Parameters
    ----------
    source : str
        Camera.
    epoch_ns : int
        Zero of the times on the camera's clock.
    frame_index : ndarray of int, shape (n,)
        Position of the edge's frame in file order.
    frame_s : ndarray, shape (n,)
        Middle of the exposure of that frame's middle row.
    row_px, row_std_px : ndarray, shape (n,)
        Distance of the edge below the middle row, and its one-sigma error.
    exposure_part : ndarray, shape (n,)
        +0.5, -0.5 or 0.
    band : ndarray of int, shape (n,)
        Edges of one band have the same number: they belong to one pulse.
    height_px : int
        Rows of a frame.
    reached_px : tuple of float, optional
        First and last row that lights reach, below the middle row; None: all are reached.
    watched_s : ndarray, shape (m, 2)
        Middle-row times of every two neighbouring frames that were both examined: a pulse between
        them that neither shows fell between their exposures. Other times were not examined.
    line_delay_s, exposure_s : float, optional
        If stated.
    scan : str, optional
        Direction of reading, if stated or shown by the light; None: assumed to be downwards.
    half_light_s, half_light_std_s : float, optional
        From the onset of a pulse to its half-light instant, by the shape of the edges: as if their
        ramps were as long as the light. Where no line delay is stated, it assumes that a frame is
        read within `UNSTATED_READOUT_S`.
    stamp_part, from_stamp_s : float
        `frame_s` is the timestamp plus `from_stamp_s`, and should be the timestamp plus this part
        of exposure and readout together: +0.5 if the start of a frame is stamped, -0.5 its end.
    sense : ndarray of int, shape (n,), optional
        +1 if a light went on and stayed, -1 if it went off, 0 for pulses; None: all pulses.
    clipped_share : float
        Share of the lit cells that the light drives into clipping, median of the lit frames.
    rise_std_s : float
        Common error that moves all edges the same way: of a light that rises slowly, parts that go
        on early or late may light what this camera sees more than what others see; full light may
        be guessed, and so may the shape of pulses.
    half_s : ndarray, shape (n,), optional
        Half of the interval around its instant in which an edge lies: a light that goes on or off
        between two frames. 0, the same as None, for edges that a row dates.
    late_s : ndarray, shape (n,), optional
        How much later the frame was stamped than an even clock would have. Flashes can show whether
        frames were exposed evenly, or when they were stamped.
    jitter_s : float
        Standard deviation of that, over all frames.
    edge_shift_std_s : float
        How much earlier a light that goes on and stays may appear, and as much later when it goes
        off, in all edges alike: by the tone curve, the encoder, or ramps that do not fit any light;
        by half an exposure where the edges may belong to pulses after all (`of_pulses`).
    """

    source: str
    epoch_ns: int
    frame_index: Ints
    frame_s: Floats
    row_px: Floats
    row_std_px: Floats
    exposure_part: Floats
    band: Ints
    height_px: int
    watched_s: Floats
    line_delay_s: float | None = None
    exposure_s: float | None = None
    scan: Scan | None = None
    half_light_s: float | None = None
    half_light_std_s: float | None = None
    stamp_part: float = 0.0
    from_stamp_s: float = 0.0
    sense: Ints | None = None
    clipped_share: float = 0.0
    rise_std_s: float = 0.0
    half_s: Floats | None = None
    late_s: Floats | None = None
    jitter_s: float = 0.0
    reached_px: tuple[float, float] | None = None
    edge_shift_std_s: float = 0.0

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        n = np.asarray(self.frame_s).shape[0]
        columns = ("frame_s", "row_px", "row_std_px", "exposure_part", "half_s", "late_s")
        arrays.freeze_columns(self, *columns, n=n)
        arrays.freeze_stamps(self, "frame_index", "band", n=n)
        if not np.isin(self.exposure_part, (-0.5, 0.0, 0.5)).all():
            raise ValueError("exposure_part must be -0.5, 0 or +0.5")
        _check_sense(self.sense, n)
        arrays.freeze_matrices(self, "watched_s", width=2)

    @property
    def is_lasting(self) -> bool:
        """Return whether it shows lights go off."""
        return _has_ends(self.sense)

    @property
    def readout_px(self) -> int:
        """Return how many line delays after its first row the last row of a frame is read."""
        return self.height_px - 1

    @property
    def view_px(self) -> tuple[float, float]:
        """Return the first and last row in which lights show, below the middle row."""
        half = 0.5 * self.readout_px
        return (-half, half) if self.reached_px is None else self.reached_px

    @property
    def by_rows(self) -> NDArray[np.bool_]:
        """Return which edges are dated by a row, not by the two frames they lie between."""
        return np.ones(self.band.size, np.bool_) if self.half_s is None else self.half_s == 0.0

    @property
    def unseen_rise_s(self) -> float:
        """Error of half-light's latency, alike in all cameras, by a rise that ramps do not show.

        Ramps are as long as the light or the exposure, whichever is shorter.
        """
        length_s = 2.0 * (self.half_light_s or 0.0)
        return UNSEEN_RISE_PART * min(length_s, self.exposure_s or length_s)

    def mirrored(self) -> FlashEdges:
        """Return the same edges as those of an image whose last row was read first."""
        sign = np.where(self.by_rows, -1, 1)
        first_px, last_px = self.view_px
        return replace(
            self,
            row_px=self.row_px * sign,
            exposure_part=self.exposure_part * sign,
            sense=None if self.sense is None else self.sense * sign,
            reached_px=(-last_px, -first_px),
            scan=None if self.scan is None else OPPOSITE_SCANS[self.scan],
        )

    def of_pulses(self) -> FlashEdges:
        """Return the same edges as those of pulses shorter than the exposure.

        Edges between two frames carry no information then and are left out. Lights of which only
        one sense was seen stay as they are, as do ramps of which both ends were dated. Half of the
        light arrives as far from the middle of their ramps as the course of a lasting light may be
        from even: a flash may have a tail that these ramps do not show.
        """
        if self.sense is None or not {-1, 1} <= set(self.sense.tolist()):
            return self
        if self.exposure_part.any():
            return self
        used = self.by_rows
        return replace(
            self,
            frame_index=self.frame_index[used],
            frame_s=self.frame_s[used],
            row_px=self.row_px[used],
            row_std_px=self.row_std_px[used],
            exposure_part=0.5 * self.sense[used].astype(np.float64),
            band=self.band[used],
            half_light_s=None,
            half_light_std_s=None,
            sense=None,
            rise_std_s=math.hypot(self.rise_std_s, self.half_light_std_s or 0.0),
            edge_shift_std_s=0.0,
            half_s=None,
            late_s=None if self.late_s is None else self.late_s[used],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlashIntervals:
    """Intervals of a source's own clock within each of which a light went on, or off.

    Examples are a strobe counter that changed between two messages, or a frame of a global shutter
    that was lit while the one before was not. A frame that is partly lit dates a light that goes on
    or off and stays so: there the interval is as short as its softness.

    Parameters
    ----------
    source : str
        Source they were found in.
    quantity : Quantity
        `FLASH` or `STROBE`.
    epoch_ns : int
        Zero of the times on the source's clock.
    start_s, stop_s : ndarray, shape (n,)
        It went on, or off, between them.
    std_s : ndarray, shape (n,)
        One-sigma softness of both ends.
    count : ndarray of int, shape (n,)
        How many pulses fell there: a counter may jump by more than one.
    lit_s : ndarray, shape (n,), optional
        Time until which the light was on at least: one that lasts at most L went on no earlier than
        L before.
    sense : ndarray of int, shape (n,), optional
        +1 if a light went on, -1 if it went off; None: all on.
    clipped_share : float
        For flashes, as in `FlashEdges`.
    dead_s : ndarray, shape (m, 2), optional
        For a camera: the times between the exposures of neighbouring frames, to one of which a
        pulse that was not seen belongs.
    systematic_std_s : float
        Common error of all intervals.
    """

    source: str
    quantity: Quantity
    epoch_ns: int
    start_s: Floats
    stop_s: Floats
    std_s: Floats
    count: Ints
    lit_s: Floats | None = None
    sense: Ints | None = None
    clipped_share: float = 0.0
    dead_s: Floats = field(default_factory=lambda: np.empty((0, 2)))
    systematic_std_s: float = 0.0

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        n = np.asarray(self.start_s).shape[0]
        arrays.freeze_columns(self, "start_s", "stop_s", "std_s", "lit_s", n=n)
        if n and float(np.min(self.stop_s - self.start_s)) < 0.0:
            raise ValueError("stop_s must not be before start_s")
        arrays.freeze_stamps(self, "count", n=n)
        arrays.freeze_matrices(self, "dead_s", width=2)
        _check_sense(self.sense, n)

    @property
    def is_lasting(self) -> bool:
        """Return whether it shows lights go off."""
        return _has_ends(self.sense)

    def of_light(self, longest_s: float) -> FlashIntervals:
        """Return the same intervals for lights that stay on no longer than this, in seconds.

        Those that contradict it stay as they are.
        """
        if self.lit_s is None:
            return self
        start_s = np.maximum(self.start_s, self.lit_s - longest_s)
        return replace(self, start_s=np.where(start_s < self.stop_s, start_s, self.start_s))


def _has_ends(sense: Ints | None) -> bool:
    return sense is not None and bool((sense < 0).any())


def _check_sense(sense: Ints | None, n: int) -> None:
    if sense is not None and (sense.shape != (n,) or not np.isin(sense, (-1, 0, 1)).all()):
        raise ValueError(f"sense must have shape ({n},) and hold -1, 0 or +1")
