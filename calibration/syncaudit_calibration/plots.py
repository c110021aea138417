"""Plot a calibration, and the edges fitted to the bands of lit frames, for visual inspection.

A source has the same colour in all plots; errors are in microseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import iter_luma
from syncaudit.errors import SyncAuditError, require_matplotlib
from syncaudit.estimators.events import Corrections, instants_of
from syncaudit.formatting import word_duration
from syncaudit.model import CameraStream, FlashEdges, seconds_since
from syncaudit.model.arrays import Floats, Ints
from syncaudit.writing import Signature, check_target, replacing
from syncaudit_calibration.calibrate_recording import CalibratedRecording
from syncaudit_calibration.calibration import Calibration, error_budget

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Flashes drawn on one axis: more would hide the effect of the offsets.
N_DRAWN = 10
N_TIMES = 400
# Colours of the viewer and the report, distinguishable with any colour vision.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7d6b00", "#5a636f")
QUIET, LINE = "#5a636f", "#dce1e8"
STYLE: dict[Any, Any] = {
    "figure.dpi": 110,
    "font.size": 9.5,
    "text.color": "#1c2430",
    "axes.edgecolor": LINE,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": QUIET,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
}
# Upper edge of a band, lower edge, and edge of a light that stays on.
EDGE_COLOURS = {0.5: PALETTE[1], -0.5: PALETTE[0], 0.0: PALETTE[2]}

N_IMAGES = 3
# Neighbouring frames on either side to compare with, as in the detector.
NEIGHBOURS = 2


def plot_calibration(
    found: CalibratedRecording, folder: Path, *, force: bool = False
) -> list[Path]:
    """Plot the results and write them as PNG.

    The folder is created if it does not exist; with `force`, files that syncaudit did not write are
    overwritten too.

    Returns
    -------
    list of Path
        ``flashes.png``, ``residuals.png``, ``error_budget.png``, and ``bands_<camera>.png`` for
        every camera with a rolling shutter.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    require_matplotlib()
    import matplotlib as mpl

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with mpl.rc_context(STYLE):
        for name, figure in _figures(found):
            path = folder / f"{name}.png"
            check_target(path, Signature.PLOT, is_forced=force)
            with replacing(path) as file:
                figure.savefig(file, format="png", metadata={"Software": "syncaudit"})
            written.append(path)
    return written


def _figures(found: CalibratedRecording) -> Iterator[tuple[str, Figure]]:
    yield "flashes", _draw_flashes(found)
    yield "residuals", _draw_residuals(found)
    yield "error_budget", _draw_budget(found)
    for name, evidence in found.evidence.items():
        stream = found.streams[name]
        if isinstance(evidence, FlashEdges) and isinstance(stream, CameraStream):
            images = find_band_images(stream, evidence)
            if images:
                yield f"bands_{_safe(name)}", _draw_bands(name, images)


def _new(
    title: str, rows: int, columns: int, size: tuple[float, float]
) -> tuple[Figure, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.ravel())


def _colours(found: CalibratedRecording) -> dict[str, str]:
    names = enumerate(found.calibration.sources)
    return {name: PALETTE[k % len(PALETTE)] for k, name in names}


def _flash_ns(calibration: Calibration) -> Ints:
    """Return the onsets of all flashes in reference time, shape (f,)."""
    return np.array([flash.t_ns for flash in calibration.flashes], dtype=np.int64)


def _micro(seconds: float) -> str:
    """Format a duration with the micro sign, which images can show."""
    return word_duration(seconds).replace(" us", " µs")


def _draw_flashes(found: CalibratedRecording) -> Figure:
    """Plot when each source saw the flashes in mid-recording, as timestamped and corrected."""
    calibration = found.calibration
    colours = _colours(found)
    flashes_s = seconds_since(_flash_ns(calibration), calibration.at_ns)
    middle = flashes_s[np.argsort(np.abs(flashes_s))[:N_DRAWN]]
    span = float(middle.min()), float(middle.max())
    figure, panels = _new(
        f"{found.clip.clip_id}: when each source saw the flashes (grey: actual times)",
        1,
        2,
        (13.0, 1.6 + 0.45 * len(colours)),
    )
    for axes, title, is_corrected in zip(
        panels, ("as timestamped", "corrected"), (False, True), strict=True
    ):
        axes.grid(visible=False)
        for flash_s in flashes_s:
            axes.axvline(flash_s, color="0.8", linewidth=0.8, zorder=0)
        for k, (name, colour) in enumerate(colours.items()):
            instants_s, half_s = _instants_s(found, name, is_corrected=is_corrected)
            if half_s.any():  # the flash was somewhere within
                bars = list(zip(instants_s - half_s, 2.0 * half_s, strict=True))
                axes.broken_barh(bars, (k - 0.4, 0.8), color=colour, alpha=0.6, linewidth=0)
            else:
                axes.vlines(instants_s, k - 0.4, k + 0.4, color=colour)
        margin = 0.08 * (span[1] - span[0]) + 0.05
        axes.set_xlim(span[0] - margin, span[1] + margin)
        axes.set_ylim(len(colours) - 0.4, -0.6)
        axes.set_yticks(range(len(colours)), colours)
        axes.set_title(title)
        axes.set_xlabel("seconds from the middle")
    panels[1].tick_params(labelleft=False)
    return figure


def _instants_s(
    found: CalibratedRecording, name: str, *, is_corrected: bool
) -> tuple[Floats, Floats]:
    """Return the instants of one source relative to the calibration's epoch, and half widths."""
    source = found.calibration.sources[name]
    evidence = found.evidence[name]
    instants = instants_of(evidence)
    timing = Corrections()
    if source.line_delay_s is not None:
        timing = replace(timing, line_delay_s=source.line_delay_s - instants.line_delay_s)
    if source.exposure_s is not None:
        timing = replace(timing, exposure_s=source.exposure_s - instants.exposure_s)
    since_s = instants.at(timing) + (instants.epoch_ns - found.calibration.at_ns) * 1e-9
    if not is_corrected:
        return np.asarray(since_s), instants.half_s
    own_s = since_s + (found.calibration.at_ns - source.at_ns) * 1e-9
    corrected = since_s + source.offset_s + 1e-6 * source.drift_ppm * own_s
    corrected += source.jumps_s(source.at_ns + np.rint(own_s * 1e9).astype(np.int64))
    return np.asarray(corrected), instants.half_s


def _draw_residuals(found: CalibratedRecording) -> Figure:
    """Plot the residual of each observation, one row per source."""
    calibration = found.calibration
    flashes_s = seconds_since(_flash_ns(calibration), calibration.at_ns)
    figure, axes = _new(
        f"{found.clip.clip_id}: residual of each flash, in µs",
        len(calibration.sources),
        1,
        (11.0, 1.0 + 1.4 * len(calibration.sources)),
    )
    colours = _colours(found)
    for axis, (name, source) in zip(axes, calibration.sources.items(), strict=True):
        axis.axhline(0.0, color="0.6", linewidth=0.8)
        residuals_us = 1e6 * source.residuals_s
        axis.plot(source.residual_at_s, residuals_us, ".", color=colours[name], markersize=5)
        for step in source.steps:
            step_s = (step.at_ns - source.at_ns) * 1e-9
            axis.axvline(step_s, color=QUIET, linestyle="--", linewidth=0.9)
        words = f"{name}: rms {_micro(source.residual_rms_s)}"
        if source.outliers:
            words += f", {source.outliers} left out"
        if source.steps:
            words += " (dashed: its clock steps)"
        axis.set_title(words, color=colours[name], pad=3.0)
        axis.set_xlim(flashes_s.min() - 0.5, flashes_s.max() + 0.5)
        axis.tick_params(labelbottom=axis is axes[-1])
    axes[-1].set_xlabel("seconds from the middle")
    return figure


def _draw_budget(found: CalibratedRecording) -> Figure:
    """Plot the standard error of each clock over time, and the flashes."""
    calibration = found.calibration
    from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

    figure, (axis,) = _new(
        f"{found.clip.clip_id}: standard error of each clock's correction", 1, 1, (11.0, 5.0)
    )
    flashes = _flash_ns(calibration)
    first, last = int(flashes.min()), int(flashes.max())
    reach = (last - first) // 4
    at_s = np.linspace(first - reach, last + reach, N_TIMES) - calibration.at_ns
    for name, colour in _colours(found).items():
        source = calibration.sources[name]
        if name == calibration.reference:
            continue
        times_ns = source.at_ns + at_s.astype(np.int64)
        sigma_s = error_budget(calibration, name, times_ns)
        axis.plot(1e-9 * at_s, 1e6 * sigma_s, color=colour, label=name)
    axis.plot(
        seconds_since(flashes, calibration.at_ns),
        np.full(flashes.size, 0.02),
        "|",
        color="0.4",
        transform=axis.get_xaxis_transform(),
        label="flashes",
    )
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(ScalarFormatter())
    axis.set_ylabel("1 standard error, µs")
    axis.set_xlabel("seconds from the middle")
    axis.legend(ncols=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)
    return figure


def _draw_bands(name: str, images: list[BandImage]) -> Figure:
    """Plot lit frames beside the brightness gain of their rows, with the fitted edges."""
    figure, axes = _new(
        f"{name}: bands and fitted edges (at half the light)\norange: the exposure ended; blue: "
        "it began; green: the light stayed on",
        len(images),
        2,
        (11.0, 0.6 + 3.2 * len(images)),
    )
    for image, (left, right) in zip(images, zip(axes[::2], axes[1::2], strict=True), strict=True):
        height, width = image.luma.shape
        left.grid(visible=False)
        left.imshow(image.luma, cmap="gray", vmin=0, vmax=255)
        left.set_ylabel("row")
        left.set_title(f"frame {image.index}")
        right.plot(image.gain, np.arange(height), color="0.3", linewidth=0.9)
        right.set_ylim(height - 0.5, -0.5)
        right.set_xlabel("levels above the neighbouring frames, mean of each row")
        for row, std, part in image.edges:
            colour = EDGE_COLOURS[part]
            left.plot([0, width - 1], [row, row], color=colour, linewidth=1.2)
            right.axhspan(row - 3.0 * std, row + 3.0 * std, color=colour, alpha=0.3)
            right.axhline(row, color=colour, linewidth=1.2)
    return figure


def _safe(name: str) -> str:
    return "".join(char if char.isalnum() or char in "-_." else "_" for char in name)


@dataclass(frozen=True, slots=True, eq=False)
class BandImage:
    """One lit frame."""

    index: int  # position in file order
    # shape (h, w): the frame, its lines as rows in the order in which they are read
    luma: NDArray[np.uint8]
    gain: Floats  # shape (h,): mean brightness of each row minus that of the neighbouring frames
    # (row, std, exposure part): fitted edges, rows from the top
    edges: list[tuple[float, float, float]]


def find_band_images(stream: CameraStream, edges: FlashEdges) -> list[BandImage]:
    """Return a few frames spread over those with both edges of a band, or over all lit ones."""
    frames, counts = np.unique(edges.frame_index, return_counts=True)
    whole = frames[counts >= 2]
    candidates = whole if whole.size else frames
    places = np.linspace(0, candidates.size - 1, min(N_IMAGES, candidates.size))
    wanted = set(candidates[np.unique(np.rint(places).astype(int))].tolist())
    images: list[BandImage] = []
    ring: deque[tuple[int, NDArray[np.uint8]]] = deque(maxlen=2 * NEIGHBOURS + 1)
    try:
        for frame in iter_luma(stream.files):
            ring.append((frame.index, np.array(frame.scanned(edges.scan).luma)))
            if len(ring) == ring.maxlen and ring[NEIGHBOURS][0] in wanted:
                images.append(_image(list(ring), edges))
            if len(images) == len(wanted) or frame.index > max(wanted) + NEIGHBOURS:
                break
    except SyncAuditError:
        return images  # the findings already report the damage
    return images


def _image(frames: list[tuple[int, NDArray[np.uint8]]], edges: FlashEdges) -> BandImage:
    index, luma = frames[NEIGHBOURS]
    rows = np.stack([image.mean(axis=1, dtype=np.float64) for _, image in frames])
    others = np.delete(rows, NEIGHBOURS, axis=0)
    here = np.flatnonzero(edges.frame_index == index)
    middle = 0.5 * (luma.shape[0] - 1)
    return BandImage(
        index=index,
        luma=luma,
        gain=rows[NEIGHBOURS] - np.median(others, axis=0),
        edges=[
            (
                float(edges.row_px[k]) + middle,
                float(edges.row_std_px[k]),
                float(edges.exposure_part[k]),
            )
            for k in here
        ],
    )
