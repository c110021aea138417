"""Light that misleads one camera: false flashes, blind periods, headlights, tunnels."""

from dataclasses import dataclass

import numpy as np

from .motion import FloatArray

_REACH = 3.5  # a glare is cut off at this many standard deviations


@dataclass(frozen=True, slots=True, kw_only=True)
class Headlight:
    """A round glare that crosses the image at constant speed, evaluated at each row's exposure."""

    # when it enters and leaves, true seconds after the clip's start
    start_s: float
    stop_s: float
    # positions at these times, as fractions of width and height (may lie outside the image)
    from_xy: tuple[float, float] = (-0.2, 0.45)
    to_xy: tuple[float, float] = (1.2, 0.6)
    size: float = 0.08  # standard deviation of its brightness, as a fraction of the height
    brightness: float = 400.0  # levels at its centre; 255 and more saturate

    def __post_init__(self) -> None:
        if not self.stop_s > self.start_s:
            raise ValueError(f"headlight ({self.start_s}, {self.stop_s}) leaves before it enters")
        if not self.size > 0:
            raise ValueError(f"size is {self.size}, expected a positive share")

    def add_to(self, scene: FloatArray, row_times_s: FloatArray) -> None:
        """Add the glare to an image of float levels, shape (height, width)."""
        if row_times_s[-1] < self.start_s or row_times_s[0] >= self.stop_s:
            return
        height, width = scene.shape
        way = (row_times_s - self.start_s) / (self.stop_s - self.start_s)
        x = (self.from_xy[0] + way * (self.to_xy[0] - self.from_xy[0])) * width
        y = (self.from_xy[1] + way * (self.to_xy[1] - self.from_xy[1])) * height
        std_px = self.size * height
        down = np.arange(height) - y
        rows = np.flatnonzero((np.abs(down) < _REACH * std_px) & (way >= 0) & (way < 1))
        if not rows.size:
            return
        left = int(np.clip(x[rows].min() - _REACH * std_px, 0, width))
        right = int(np.clip(x[rows].max() + _REACH * std_px, 0, width))
        across = np.arange(left, right) - x[rows, None]
        radius2 = (across**2 + down[rows, None] ** 2) / std_px**2
        scene[rows, left:right] += self.brightness * np.exp(-radius2 / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class AmbientStep:
    """A permanent change of the scene's light: a tunnel, a cloud, a light switch."""

    at_s: float  # when the change begins, true seconds after the clip's start
    factor: float  # brightness afterwards over brightness before
    ramp_s: float = 0.0  # length of the (linear) change; 0 is sudden

    def __post_init__(self) -> None:
        if self.factor < 0 or self.ramp_s < 0:
            raise ValueError("factor and ramp_s must not be negative")

    def gain(self, row_times_s: FloatArray, exposure_s: float) -> FloatArray:
        """Return the mean factor over each row's exposure, shape (n_rows,), integrated exactly."""
        ages = row_times_s - self.at_s
        passed = self._passed(ages + exposure_s / 2) - self._passed(ages - exposure_s / 2)
        return np.asarray(1 + (self.factor - 1) * passed / exposure_s)

    def _passed(self, ages_s: FloatArray) -> FloatArray:
        """Return the integral of the step's progress, 0 before and 1 after the ramp."""
        after = np.maximum(ages_s - self.ramp_s, 0.0)
        if not self.ramp_s:
            return np.asarray(after)
        during = np.clip(ages_s, 0.0, self.ramp_s)
        return np.asarray(during**2 / (2 * self.ramp_s) + after)


@dataclass(frozen=True, slots=True, kw_only=True)
class LightFault:
    """Describe light effects that only one camera sees. The default has none."""

    # onsets of pulses visible only to this camera, true seconds after the clip's start
    false_flashes_s: tuple[float, ...] = ()
    # periods in which no flash reaches it: a covered lens, a lamp not yet turned towards it
    blind_s: tuple[tuple[float, float], ...] = ()
    headlights: tuple[Headlight, ...] = ()
    ambient_steps: tuple[AmbientStep, ...] = ()

    def __post_init__(self) -> None:
        for start_s, stop_s in self.blind_s:
            if not stop_s > start_s:
                raise ValueError(f"blind span ({start_s}, {stop_s}) ends before it starts")

    def seen(self, pulses_s: FloatArray) -> FloatArray:
        """Return the onsets of all pulses that this camera sees, in order."""
        is_seen = np.ones(pulses_s.size, dtype=bool)
        for start_s, stop_s in self.blind_s:
            is_seen &= (pulses_s < start_s) | (pulses_s >= stop_s)
        return np.sort(np.concatenate([pulses_s[is_seen], self.false_flashes_s]))

    def glare(self, row_times_s: FloatArray, shape: tuple[int, int]) -> FloatArray | None:
        """Return the levels that headlights add, shape (height, width); None if there are none."""
        near = [
            light
            for light in self.headlights
            if row_times_s[-1] >= light.start_s and row_times_s[0] < light.stop_s
        ]
        if not near:
            return None
        glare = np.zeros(shape)
        for light in near:
            light.add_to(glare, row_times_s)
        return glare

    def ambient(self, row_times_s: FloatArray, exposure_s: float) -> FloatArray | None:
        """Return the factor on each row's scene light, shape (n_rows,); None if it is 1."""
        if not self.ambient_steps:
            return None
        gains = [step.gain(row_times_s, exposure_s) for step in self.ambient_steps]
        return np.asarray(np.prod(gains, axis=0))
