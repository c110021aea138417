"""Draw one random fault for a clip, with the verdict that a correct audit must return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.policy import load_policy
from syncaudit.simulate import ClockFault, FrameFault, RigConfig

# Share of each kind of fault among the clips; costly ones (a camera is re-rendered) are rarer.
KINDS: Mapping[str, float] = {
    "camera": 0.40,
    "imu": 0.14,
    "can": 0.10,
    "drift": 0.10,
    "step": 0.08,
    "jitter": 0.05,
    "dropped": 0.03,
    "slipped": 0.03,
    "none": 0.07,
}
# Either verdict is acceptable if the fault is within this fraction of its limit.
GREY = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault.

    Parameters
    ----------
    kind : str
        Key of `KINDS`.
    source : str, optional
        Faulty source; None for a good clip.
    config : RigConfig
        Clip with the fault.
    words : str
        Description of the fault.
    size_s : float
        Signed offset (largest deviation for drift and step).
    must_reject : bool, optional
        True: outside the default policy. False: inside it. None: too close to the limit.
    is_rendered : bool
        Whether the faulty camera shows different frames than in the base clip.
    """

    kind: str
    source: str | None
    config: RigConfig
    words: str
    size_s: float
    must_reject: bool | None
    is_rendered: bool = False


def draw_fault(config: RigConfig, kind: str, rng: np.random.Generator) -> Fault:
    """Put one random fault of a kind into a good clip."""
    camera = str(rng.choice(list(config.cameras)))
    if kind == "none":
        return Fault(
            kind=kind, source=None, config=config, words="none", size_s=0.0, must_reject=False
        )
    if kind in ("dropped", "slipped"):
        return _frames(config, kind, camera, rng)
    sign = float(rng.choice([-1.0, 1.0]))
    half_s = config.duration_s / 2
    source, figure = camera, "offset_s"
    if kind == "camera":
        size_s = sign * float(rng.uniform(0.025, 0.200))
        change, words = {"offset_s": size_s}, f"{1e3 * size_s:+.1f} ms"
    elif kind == "imu":
        size_s = sign * float(rng.uniform(0.025, 0.100))
        source = "imu"
        change, words = {"offset_s": size_s}, f"{1e3 * size_s:+.1f} ms"
    elif kind == "can":
        size_s = sign * float(rng.uniform(0.035, 0.200))
        source = "can"
        change, words = {"offset_s": size_s}, f"{1e3 * size_s:+.1f} ms"
    elif kind == "drift":
        drift_ppm = sign * float(rng.uniform(300.0, 1500.0))
        size_s = drift_ppm * 1e-6 * half_s
        change, words = {"drift_ppm": drift_ppm}, f"{drift_ppm:+.0f} ppm"
    elif kind == "step":
        size_s = sign * float(rng.uniform(0.025, 0.120))
        at_s = float(rng.uniform(0.25, 0.75)) * config.duration_s
        figure = "step_s"
        change = {"step_at_s": at_s, "step_by_s": size_s}
        words = f"{1e3 * size_s:+.1f} ms at {at_s:.1f} s"
    elif kind == "jitter":
        size_s = float(rng.uniform(0.002, 0.025))
        figure = "jitter_s"
        change, words = {"jitter_std_s": size_s}, f"{1e3 * size_s:.1f} ms rms"
    else:
        raise ValueError(f"unknown kind {kind!r}; known: {', '.join(KINDS)}")
    limits = load_policy().limits(source, source if source in ("imu", "can") else "camera")
    limit_s = getattr(limits, figure)
    excess = abs(size_s) / limit_s if limit_s else 0.0
    return Fault(
        kind=kind,
        source=source,
        config=_with_clock(config, source, change),
        words=words,
        size_s=size_s,
        must_reject=True if excess > 1 + GREY else False if excess < 1 - GREY else None,
    )


def _with_clock(config: RigConfig, source: str, change: Mapping[str, float]) -> RigConfig:
    def changed(clock: ClockFault) -> ClockFault:
        return replace(clock, **change)

    if source == "imu":
        assert config.imu is not None
        return replace(config, imu=replace(config.imu, clock=changed(config.imu.clock)))
    if source == "can":
        assert config.can is not None
        return replace(config, can=replace(config.can, clock=changed(config.can.clock)))
    camera = config.cameras[source]
    faulty = replace(camera, clock=changed(camera.clock))
    return replace(config, cameras={**config.cameras, source: faulty})


def _frames(config: RigConfig, kind: str, name: str, rng: np.random.Generator) -> Fault:
    """Drop frames with their timestamps (a gap) or without (all later timestamps are wrong)."""
    camera = config.cameras[name]
    n_frames = int(config.duration_s * camera.fps) - 2
    is_slip = kind == "slipped"
    n_lost = int(rng.integers(1, 4)) if is_slip else int(rng.integers(3, 9))
    share = (0.25, 0.75) if is_slip else (0.05, 0.95)
    lost = np.sort(
        rng.choice(np.arange(int(share[0] * n_frames), int(share[1] * n_frames)), n_lost, False)
    )
    frames = FrameFault(
        dropped=tuple(int(k) for k in lost), drop_mode="slip" if is_slip else "frame_and_stamp"
    )
    return Fault(
        kind=kind,
        source=name,
        config=replace(config, cameras={**config.cameras, name: replace(camera, frames=frames)}),
        words=f"{n_lost} frames lost " + ("without" if is_slip else "with") + " their stamps",
        size_s=n_lost / camera.fps if is_slip else 0.0,
        must_reject=is_slip,
        is_rendered=True,
    )
