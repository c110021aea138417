"""Tables for printing a flash plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.table import Table

from syncaudit.formatting import word_duration
from syncaudit_calibration.plan.accuracy import line_delay_std, unobservable
from syncaudit_calibration.plan.cameras import PlannedCamera
from syncaudit_calibration.plan.lights import HAND_LIGHTS, LightKind
from syncaudit_calibration.plan.outline import Plan
from syncaudit_calibration.plan.pulse_train import PulseTrain


def plan_table(rig: Sequence[PlannedCamera], plan: Plan, kind: LightKind) -> Table:
    """Return a table of how to use a light and what to expect, in rows of name and text."""
    train, seen, expected, events = plan.train, plan.seen, plan.expected, plan.events
    is_global = any(camera.is_global for camera in rig)
    edge = "frame" if is_global else events.removesuffix("es" if events == "flashes" else "s")
    rows = {
        "pulses": _pulses(rig, train, kind),
        "gaps": _gaps(train),
        "cannot alias": "shifted against itself, the train meets at most "
        f"{train.runner_up:.0%} of its own pulses",
        "recording": f"{train.duration_s:.0f} s; start cameras before the first flash and stop "
        "them after the last",
        "lamp": _lamp(rig, train),
        "shared": f"two cameras both see {seen.fewest_shared:.0f} {events}"
        + (f"; all {len(rig)} together {seen.shared_by_all:.1f}" if len(rig) > 2 else "")
        + " (mean over frame phases)",
        "tied": f"all cameras, directly or through others, for {seen.share_tied:.0%} of the "
        f"phases; {seen.share_of_pairs_apart:.0%} of the pairs share too few directly",
        f"one {edge}": f"dated to {word_duration(expected.flash_std_s)}",
        "offset": f"about {word_duration(expected.offset_std_s)} (one sigma, estimated) between "
        "the cameras that share the fewest",
        "drift": f"about {expected.drift_std_ppm:.1f} ppm over the recording",
    }
    if kind in HAND_LIGHTS:
        del rows["cannot alias"]
    if kind in (LightKind.LED, LightKind.SPEEDLIGHT):
        triggered = word_duration(expected.triggered_offset_std_s)
        rows["offset"] += f"; {triggered} against a logged trigger"
    rolling = [camera for camera in rig if not camera.is_global]
    if rolling:
        blind = unobservable(rig, train)
        share = max(line_delay_std(camera, n_shared=seen.fewest_shared) for camera in rolling)
        rows["line delay"] = (
            f"not observable in {len(blind)} of {len(rig)} cameras, see below"
            if blind
            else f"to {share:.2%} of its value if not stated"
        )
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows.items():
        table.add_row(*row)
    return table


def _pulses(rig: Sequence[PlannedCamera], train: PulseTrain, kind: LightKind) -> str:
    width = word_duration(train.width_s)
    if kind in HAND_LIGHTS:
        return f"{train.n} times {HAND_LIGHTS[kind].words}"
    if kind is LightKind.SCREEN:
        return f"{train.n} times white for {width}, the whole screen, at full brightness"
    if any(camera.is_global for camera in rig):
        return f"light on for {width}, {train.n} times, at random instants (global shutter)"
    if train.n_per_burst == 1:
        return f"{train.n} single pulses of {width}"
    period = word_duration(max(camera.period_s for camera in rig))
    return (
        f"{train.n} pulses of {width}, in bursts of {train.n_per_burst} that divide one frame "
        f"period ({period}) unevenly"
    )


def _gaps(train: PulseTrain) -> str:
    gaps_s = np.diff(train.starts_s)
    is_inner = np.arange(1, train.n) % train.n_per_burst != 0
    parts = []
    for words, some in (("within a burst", gaps_s[is_inner]), ("", gaps_s[~is_inner])):
        if some.size:
            where = words or ("from burst to burst" if is_inner.any() else "from start to start")
            parts.append(f"{word_duration(some.min())} to {word_duration(some.max())} {where}")
    return "irregular, " + ", ".join(parts)


def _lamp(rig: Sequence[PlannedCamera], train: PulseTrain) -> str:
    """Describe how bright the lamp must be: a flash should add 15 % to the light of a row."""
    longest = max(rig, key=lambda camera: camera.exposure_s)
    factor = 0.15 * longest.exposure_s / min(train.width_s, longest.exposure_s)
    return (
        f"while on, {factor:.2g} times as bright in the scene as all other light: each flash "
        "then adds 15 % to an image; it must not clip"
    )


def view_table(rig: Sequence[PlannedCamera], plan: Plan) -> Table:
    """Return a table of what each kind of camera will see."""
    table = Table(box=None, pad_edge=False)
    for name in ("cameras", "frames", "read-out", "exposure"):
        table.add_column(name, no_wrap=True, justify="right")
    for name in (f"see of all {plan.events}", "by formula", "of all bursts", "both edges"):
        table.add_column(name, justify="right")
    for camera in dict.fromkeys(rig):
        view = plan.seen.views[rig.index(camera)]
        table.add_row(
            str(sum(other == camera for other in rig)),
            f"{float(camera.rate_hz):g} Hz",
            "global" if camera.is_global else word_duration(camera.readout_s),
            word_duration(camera.exposure_s),
            f"{100 * view.share_seen:.0f} ± {100 * view.share_seen_std:.0f} %",
            f"{view.share_by_formula:.0%}",
            f"{view.share_of_bursts:.0%}",
            f"{view.share_with_both_edges:.0%}",
        )
    return table
