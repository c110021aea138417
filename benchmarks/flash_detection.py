"""Timing of single flashes: a camera's edges compared with the true half-light instants."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from flash_recordings import FlashRecording
from numpy.typing import NDArray

from syncaudit.decode import iter_luma
from syncaudit.model import CameraStream, FlashEdges, FlashIntervals
from syncaudit.readers import read_source
from syncaudit.simulate import Truth

Floats = NDArray[np.float64]
FALSE_S = 1e-3  # an edge farther than this from every pulse is false
ROW_MARGIN_PX = 15  # edges nearer than this to the top or bottom of the image need not be found


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """The detections in one camera, and their cost."""

    evidence: FlashEdges | FlashIntervals | None
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Score:
    """Errors of one camera relative to the truth.

    Attributes
    ----------
    edge_errors_s, edge_std_s : ndarray, shape (n,)
        Error and claimed standard error of every edge that belongs to a pulse.
    flash_errors_s : ndarray, shape (f,)
        For every pulse seen: weighted mean of the errors of all its edges in this camera.
    n_false : int
        Edges that belong to no pulse.
    n_expected, n_found : int
        Edges that lie well inside a frame, and how many of them were found.
    """

    edge_errors_s: Floats
    edge_std_s: Floats
    flash_errors_s: Floats
    n_false: int
    n_expected: int
    n_found: int


def camera_streams(recording: FlashRecording) -> dict[str, CameraStream]:
    """Return the cameras of a recording as produced by the readers."""
    clip = recording.clip
    streams = {
        name: read_source(name, clip.sources[name], clip.base_uri)
        for name in recording.config.cameras
    }
    return {name: s for name, s in streams.items() if isinstance(s, CameraStream)}


def detect(stream: CameraStream) -> Detection:
    """Run the detector on one camera with one thread."""
    from syncaudit.detectors.flash.detector import FlashDetector

    begun = time.process_time()
    detector = FlashDetector(stream)
    with iter_luma(stream.files) as frames:
        for frame in frames:
            detector.update(frame)
    return Detection(evidence=detector.finish(), cpu_s=time.process_time() - begun)


def decode_only_s(stream: CameraStream) -> float:
    """Return the CPU time of decoding one camera and nothing else."""
    begun = time.process_time()
    with iter_luma(stream.files) as frames:
        for _ in frames:
            pass
    return time.process_time() - begun


def score_edges(edges: FlashEdges, truth: Truth) -> Score:
    """Compare a camera's edges with its truth.

    Frames are placed at their true times, so that timestamp jitter does not enter: what remains is
    the detector's own error. Line delay and exposure are the true ones.
    """
    shutter = truth.sources[edges.source].shutter
    assert shutter is not None
    frames = _seconds(truth, shutter.frame_ns)
    instants, parts = _instants(truth, edges.source)
    line_s, exposure_s = shutter.line_delay_s, shutter.exposure_s
    timed = frames[edges.frame_index] + edges.row_px * line_s + edges.exposure_part * exposure_s
    nearest = np.abs(timed[:, None] - instants).argmin(axis=1)
    errors = timed - instants[nearest]
    # A change between two frames yields an interval, not the time of a row.
    is_dated = np.ones(timed.size, np.bool_) if edges.half_s is None else edges.half_s == 0.0
    is_true = (np.abs(errors) < FALSE_S) & is_dated
    std = np.maximum(edges.row_std_px * line_s, 1e-9)
    expected = _expected(frames, instants, parts, line_s, exposure_s, shutter.height_px)
    found = set(
        zip(
            edges.frame_index[is_true].tolist(),
            nearest[is_true].tolist(),
            edges.exposure_part[is_true].tolist(),
            strict=True,
        )
    )
    per_flash = [
        np.average(errors[chosen], weights=std[chosen] ** -2)
        for flash in np.unique(nearest[is_true])
        for chosen in (is_true & (nearest == flash),)
    ]
    return Score(
        edge_errors_s=errors[is_true],
        edge_std_s=std[is_true],
        flash_errors_s=np.array(per_flash),
        n_false=int((is_dated & ~is_true).sum()),
        n_expected=len(expected),
        n_found=len(expected & found),
    )


def score_intervals(found: FlashIntervals, truth: Truth) -> tuple[int, int]:
    """Return how many intervals of a camera contain a true pulse, and how many there are."""
    instants, _ = _instants(truth, found.source)
    source = truth.sources[found.source]
    at_s = 1e-9 * (found.epoch_ns - truth.at_ns)
    start, stop = (
        (at_s + own_s) * (1 + 1e-6 * source.drift_ppm) + source.offset_s
        for own_s in (found.start_s, found.stop_s)
    )
    slack = 3 * found.std_s
    is_held = (instants >= (start - slack)[:, None]) & (instants <= (stop + slack)[:, None])
    return int(is_held.any(axis=1).sum()), found.start_s.size


def _instants(truth: Truth, camera: str) -> tuple[Floats, tuple[float, ...]]:
    """Return the instants that a camera's edges mark, and the exposure fractions of such edges."""
    shutter, light = truth.sources[camera].shutter, truth.light
    assert shutter is not None
    assert light is not None
    seen = [
        t for t in truth.flash_ns if not any(start <= t < stop for start, stop in shutter.blind_ns)
    ]
    onsets = np.sort(_seconds(truth, (*seen, *shutter.false_flash_ns)))
    if light.half_light_s is not None:
        return onsets + light.half_light_s, (0.5, -0.5)
    assert light.width_s is not None
    return np.sort(np.concatenate([onsets, onsets + light.width_s])), (0.0,)


def _expected(
    frames: Floats,
    instants: Floats,
    parts: tuple[float, ...],
    line_s: float,
    exposure_s: float,
    height_px: int,
) -> set[tuple[int, int, float]]:
    """Return (frame, pulse, part) of all edges well inside a frame."""
    if not line_s:
        return set()
    reach_px = (height_px - 1) / 2 - ROW_MARGIN_PX
    expected = set()
    for part in parts:
        row = (instants - frames[:, None] - part * exposure_s) / line_s
        frame, pulse = np.nonzero(np.abs(row) < reach_px)
        expected |= {(k, f, part) for k, f in zip(frame.tolist(), pulse.tolist(), strict=True)}
    return expected


def _seconds(truth: Truth, times_ns: tuple[int, ...]) -> Floats:
    """Return true times in seconds relative to the middle of the clip."""
    return 1e-9 * (np.array(times_ns, dtype=np.int64) - truth.at_ns)
