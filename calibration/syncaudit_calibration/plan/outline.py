"""Assemble a plan: the train of a light, its visibility, the expected accuracy, and advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.formatting import word_duration
from syncaudit_calibration.plan.accuracy import Accuracy, expected_accuracy, unobservable
from syncaudit_calibration.plan.cameras import PlannedCamera
from syncaudit_calibration.plan.lights import HAND_LIGHTS, LightKind
from syncaudit_calibration.plan.pulse_train import PulseTrain, switchings
from syncaudit_calibration.plan.train import bands_apart_s, choose_train
from syncaudit_calibration.plan.visibility import Visibility, visibility

SAFE_PER_SECOND = 3  # WCAG 2.1, success criterion 2.3.1
FEW_SHARED = 12
SURELY_TIED = 0.98
MAX_RUNNER_UP = 0.5
TRIGGER = "wire the trigger output of the lamp to a logged input"
POOR_OFFSET_S = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """How to use a light, and what to expect from it."""

    train: PulseTrain  # train to be played, or an example of one fired by hand
    seen: Visibility  # of its pulses; for a light that stays on, of its switching on and off
    events: str  # name of these events: flashes or switchings
    expected: Accuracy
    advice: tuple[str, ...]  # a sentence for each weakness


def plan_of(
    kind: LightKind,
    cameras: Sequence[PlannedCamera],
    *,
    duration_s: float | None = None,
    rng: np.random.Generator,
) -> Plan:
    """Return the plan for a light.

    `cameras`: all cameras to be calibrated. `duration_s`: by default, as long as needed. `rng`:
    draws gaps and phases.
    """
    train = shown = choose_train(cameras, kind, duration_s=duration_s, rng=rng)
    if kind.stays_on and not any(camera.is_global for camera in cameras):
        on_s = np.full(train.n, train.width_s)
        if light := HAND_LIGHTS.get(kind):
            on_s = rng.uniform(light.shortest_s, light.longest_s, train.n)
        shown = switchings(train, on_s)
    seen = visibility(cameras, shown, rng=rng)
    expected = expected_accuracy(cameras, shown, n_shared=seen.fewest_shared, rng=rng, kind=kind)
    return Plan(
        train=train,
        seen=seen,
        events="flashes" if shown is train else "switchings",
        expected=expected,
        advice=advice(cameras, train, seen, expected, kind),
    )


def advice(
    cameras: Sequence[PlannedCamera],
    train: PulseTrain,
    seen: Visibility,
    expected: Accuracy,
    kind: LightKind = LightKind.LED,
) -> tuple[str, ...]:
    """Return a sentence for each weakness of a plan, with a cure."""
    sentences = []
    is_global = any(camera.is_global for camera in cameras)
    is_short = kind is LightKind.SPEEDLIGHT
    if is_short and is_global:
        sentences.append(
            "A flash this short may fall anywhere within the exposure of a global shutter: use "
            "a light that stays on for two frames (--light led or torch)."
        )
    if kind is LightKind.SCREEN:
        sentences.append(
            "A screen lights line by line within 1/60 s: calibrate dates the middle of that if "
            "all cameras see the same wall or sheet of paper lit by it in a dark room. State "
            "line delay and exposure of every camera, and lock its exposure: if that follows "
            "the light, or the screen itself is filmed (keep all of it in the frame), only the "
            "two frames between which it changed are known. A torch (--light torch) is more "
            "precise. Screens and speakers are late by tens of milliseconds, each by its own "
            "amount: the clicks tie microphones only to one another."
        )
    blind = unobservable(cameras, train)
    if blind:
        which = "no camera" if len(blind) == len(cameras) else f"{len(blind)} of the cameras"
        verb = "has" if which == "no camera" else "have not"
        sentences.append(
            f"Line delay: {which} {verb} a partner whose frames drift against its own, so every "
            "flash shifts the rows of both equally and any line delay fits without residuals. "
            "State the read-out or the line delay in the manifest (line_delay_s; or exposure_s, "
            f"which gives it through the height of the bands), {TRIGGER}, or give one camera "
            "another frame rate."
        )
    if is_global and not is_short and expected.offset_std_s > POOR_OFFSET_S:
        sentences.append(
            "Global shutters: cameras with constant relative phase are lit the same by every "
            f"flash; the offset stays uncertain by {word_duration(expected.offset_std_s)}. Give "
            "the cameras different frame rates or the longest exposure that the scene allows, "
            f"or {TRIGGER}: against it {word_duration(expected.triggered_offset_std_s)} is "
            "reached."
        )
    if not is_global and train.smallest_gap_s < bands_apart_s(cameras, train.width_s):
        sentences.append(
            f"Bands: pulses {word_duration(train.smallest_gap_s)} apart may touch in an image. "
            "Use a shorter exposure."
        )
    if train.runner_up > MAX_RUNNER_UP and kind not in HAND_LIGHTS:
        sentences.append(
            f"Alias: shifted against itself the train meets {train.runner_up:.0%} of its own "
            "pulses within 1 ms; matching may refuse it if timestamps jitter. Use a longer "
            "exposure."
        )
    if seen.share_tied < SURELY_TIED:
        sentences.append(
            f"Apart: for {1.0 - seen.share_tied:.0%} of the possible frame phases, some camera "
            "shares too few flashes with all others: cameras of equal rate may see different "
            f"pulses of every burst. Best {TRIGGER}, which ties each camera directly; or use a "
            "longer exposure, another frame rate for one camera, or restart cameras that "
            "'syncaudit calibrate' could not connect."
        )
    if seen.fewest_shared < FEW_SHARED:
        sentences.append(
            f"Few: two cameras share only {seen.fewest_shared:.0f} flashes; at least "
            f"{FEW_SHARED} are needed. Record longer (--duration)."
        )
    return tuple(sentences)


def safety_note(train: PulseTrain) -> str:
    """Return the warning about flashing light that goes with every plan."""
    n = train.most_per_second
    keeps = "is within" if n <= SAFE_PER_SECOND else "exceeds"
    return (
        "Flashing light can trigger seizures in people with photosensitive epilepsy. This train "
        f"has up to {n} flash{'' if n == 1 else 'es'} per second, which {keeps} the usual limit "
        f"of {SAFE_PER_SECOND}; even so, warn everyone who may see it, let those at risk leave, "
        "do not look into the lamp, and never use it where people drive."
    )
