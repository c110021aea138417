"""Decode parts of a video alone, where these can clear its camera, and tell whether they did.

A cascade: parts of a video either show that its camera agrees with the gyroscope, or all of it is
decoded as ever. Which parts is decided by the gyroscope and by the sizes of packets, before a frame
is decoded; whether they suffice, by measurements alone and never by a policy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from syncaudit.decode import CodedFrames, list_coded
from syncaudit.detectors import choose_increments, increment_information
from syncaudit.estimators import offsets_of_pieces
from syncaudit.model import (
    Activity,
    CameraStream,
    ClipEvidence,
    Finding,
    PairMeasurement,
    Quantity,
    ReasonCode,
    Severity,
    seconds_since,
)
from syncaudit.model.arrays import Bools, Floats
from syncaudit.pipeline.pairing import APART_S, POOR_S, SURE, is_odd
from syncaudit.pipeline.window import part_of

__all__ = ["choose_excerpt", "not_cleared", "told_in_part"]

# Of every 20 s a part from the first third, the middle one and the last: a clock that steps and
# stays there is wrong in one of them at least. The first and the last begin at the ends.
PART_S = 20.0 / 3.0
MIN_PARTS = 3
# Each is measured alone, to 5 ms where pictures are poor (0.7 mrad an increment), and all together
# to better than 1.2 ms where they are usual (0.3 mrad). In (rad/s)^2.
PART_INFORMATION, INFORMATION = 0.02, 0.08
MIN_FRAMES = 24
# Seeking costs about two frames: shorter groups of pictures are joined.
MIN_GROUP_S = 1.0
# Where more is needed, decoding all at once is cheaper than perhaps twice.
MAX_SHARE = 0.5
# A frame that repeats another takes hardly any bytes, or, coded by itself, as many. So many of them
# are no chance, and frozen images may be among them.
QUIET_SHARE, MIN_QUIET = 0.1, 3
# Intervals of frames may differ by this part of the usual one.
MAX_UNEVEN = 0.2
# Every part lies within the limit by so many of its own standard errors.
PART_SURE = 2.0


def choose_excerpt(
    stream: CameraStream, rate: Activity, wanted: Bools | None = None
) -> Bools | None:
    """Return which frames of a camera to decode first.

    Parameters
    ----------
    stream : CameraStream
        The camera; its stamps are believed to within the span of a movement.
    rate : Activity
        Angular rate of the same body, three axes.
    wanted : ndarray of bool, shape (n_frames,), optional
        The run of frames that the clip's window needs; None: all.

    Returns
    -------
    ndarray of bool, shape (n_frames,), or None
        None where all of them are to be decoded at once.
    """
    n_frames = stream.time_ns.size
    if stream.pts_s is None or stream.pts_s.size != n_frames:
        return None
    if choose_increments(stream, rate, wanted=wanted) is None:
        return None
    frames = np.arange(n_frames) if wanted is None else np.flatnonzero(wanted)
    times_s = seconds_since(stream.time_ns[frames], int(stream.time_ns[frames[0]]))
    steps_s = np.diff(times_s)
    if np.ptp(steps_s) >= MAX_UNEVEN * np.median(steps_s):
        return None  # whose jitter it is, and what is missing, takes all frames to tell
    coded = list_coded(stream.files if wanted is None else part_of(stream, wanted))
    if coded is None or coded.is_key.size != frames.size or _n_quiet(coded) >= MIN_QUIET:
        return None
    told = increment_information(stream, rate)[0][frames]
    groups = _groups(coded, times_s)
    chosen = np.zeros(n_frames, dtype=np.bool_)
    for k in _chosen(groups, [float(told[group][1:].sum()) for group in groups], times_s):
        chosen[frames[groups[k]]] = True
    return chosen if chosen.sum() <= MAX_SHARE * frames.size else None


def _n_quiet(coded: CodedFrames) -> int:
    """Count the frames that may repeat another."""
    predicted = coded.n_bytes[~coded.is_key]
    if not predicted.size:
        return int(np.count_nonzero(np.diff(coded.n_bytes) == 0))
    return int(np.count_nonzero(predicted < QUIET_SHARE * np.median(predicted)))


def _groups(coded: CodedFrames, times_s: Floats) -> list[np.ndarray]:
    """Part frames into runs that begin with a key frame and last a second, but for the last."""
    starts = [0]
    for at in np.flatnonzero(coded.is_key).tolist():
        if times_s[at] - times_s[starts[-1]] >= MIN_GROUP_S:
            starts.append(at)
    return np.split(np.arange(times_s.size), starts[1:])


def _chosen(groups: Sequence[np.ndarray], told: Sequence[float], times_s: Floats) -> set[int]:
    """Return the groups that tell enough of every part of a clip, and of all of it."""
    span_s = float(times_s[-1] - times_s[0])
    n_parts = max(MIN_PARTS, round(span_s / PART_S))
    middle_s = np.array([times_s[group].mean() - times_s[0] for group in groups])
    place = np.minimum(middle_s / span_s * n_parts, n_parts - 1).astype(np.int64)
    best = np.argsort(-np.array(told), kind="stable").tolist()
    orders = [
        range(len(groups)),
        *([k for k in best if place[k] == part] for part in range(1, n_parts - 1)),
        range(len(groups) - 1, -1, -1),
    ]
    chosen: set[int] = set()
    for order in orders:
        n_frames, sum_told = 0, 0.0
        for k in order:
            if n_frames >= MIN_FRAMES and sum_told >= PART_INFORMATION:
                break
            n_frames, sum_told = n_frames + groups[k].size, sum_told + told[k]
            chosen.add(k)
    for k in best:
        if sum(told[one] for one in chosen) >= INFORMATION:
            break
        chosen.add(k)
    return chosen


def not_cleared(
    evidence: ClipEvidence,
    measured: Sequence[PairMeasurement],
    expected_offset_s: Mapping[str, float],
) -> list[str]:
    """Return the cameras that were decoded in part and need all of their frames.

    What the excerpt of a camera must show to clear it: nothing wrong with its images, no light
    pulse, and an offset to a gyroscope that is as well known as that of any camera (1.2 ms), even
    throughout, and surely within what exposure and read-out explain (10 ms): by three standard
    errors as a whole (the boundary of Haybittle, "Repeated assessment of results in clinical
    trials of cancer treatment", 1971, doi:10.1259/0007-1285-44-526-793, which leaves the error
    rate of the final look what it is), by two in every part.

    Parameters
    ----------
    evidence : ClipEvidence
        With `excerpts`.
    measured : sequence of PairMeasurement
        What was measured with it.
    expected_offset_s : mapping of str to float
        Intended offset of every source.
    """
    return [
        name
        for name in sorted(evidence.excerpts)
        if not _is_cleared(name, evidence, measured, expected_offset_s)
    ]


def _is_cleared(
    name: str,
    evidence: ClipEvidence,
    measured: Sequence[PairMeasurement],
    expected_offset_s: Mapping[str, float],
) -> bool:
    images = evidence.pictures.get(name)
    if images is None or images.counts or images.errors or images.new_share is not None:
        return False
    if name in evidence.flashes or any(one.source == name for one in evidence.findings):
        return False
    for pair in measured:
        motion = evidence.motion.get(pair.target, {})
        if pair.source == name and pair.accepted and Quantity.ANGULAR_RATE in motion:
            intended_s = expected_offset_s.get(name, 0.0) - expected_offset_s.get(pair.target, 0.0)
            return not is_odd(pair) and all(
                abs(offset_s - intended_s) + by * std_s <= APART_S
                for offset_s, std_s, by in _offsets(pair, evidence)
            )
    return False


def _offsets(pair: PairMeasurement, evidence: ClipEvidence) -> Iterator[tuple[float, float, float]]:
    """Yield offset, standard error, and by how many of these it must lie within the limit."""
    offset_s, std_s = pair.offset_s or 0.0, pair.offset_std_s or math.inf
    yield offset_s, std_s if std_s <= POOR_S else math.inf, SURE
    camera = evidence.rotations[pair.source]
    n_pieces = max(MIN_PARTS, round(float(np.ptp(camera.stop_s)) / PART_S))
    rate = evidence.motion[pair.target][Quantity.ANGULAR_RATE]
    for piece in offsets_of_pieces(camera, rate, near_s=offset_s, n_pieces=n_pieces):
        yield *piece, PART_SURE


def told_in_part(evidence: ClipEvidence, wanted: Mapping[str, Bools]) -> Iterator[Finding]:
    """Yield for every camera that was decoded in part what nobody looked for.

    Parameters
    ----------
    evidence : ClipEvidence
        With `excerpts`.
    wanted : mapping of str to ndarray of bool, shape (n_frames,)
        Frames that the clip's window needs, of cameras of which it does not need all.
    """
    for name, frames in evidence.excerpts.items():
        n_frames = np.count_nonzero(wanted[name]) if name in wanted else frames.size
        yield Finding(
            code=ReasonCode.UNOBSERVABLE,
            source=name,
            message=(
                f"{name}: {np.count_nonzero(frames)} of {n_frames} frames were decoded (--sparse): "
                "what is damaged, covered or lit among the others is unknown."
            ),
            severity=Severity.WARNING,
        )
