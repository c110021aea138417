"""How the vehicle moves: driving styles, and the trajectory that a seed draws from each."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.signal import bilinear, lfilter

from .motion import FloatArray, Motion

GRID_RATE_HZ = 200.0  # resolves axle hop (10.5 Hz) with cubic splines
MARGIN_S = 2.0  # motion exists this long before and after the clip
WHEELBASE_M = 2.7
LATERAL_LIMIT_MPS2 = 4.0  # what ordinary drivers accept in a bend
PITCH_PER_BRAKING = 0.006  # rad per m/s^2: about 2 degrees in a hard stop
_TYRE_S = 0.01  # tyres and axles absorb roughness above about 15 Hz
ROLL_PER_LATERAL = 0.007  # rad per m/s^2: outward lean in a bend


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivingStyle:
    """Describe a way of driving."""

    speeds_mps: tuple[float, float]  # lowest and highest cruising speed
    # mean time between changes of cruising speed; 0 keeps the first
    speed_change_every_s: float = 0.0
    turn_every_s: float = 0.0  # mean time between turns; 0 makes none
    turn_rate_rad_s: float = 0.0  # largest yaw rate of a turn
    wander_rad_s: float = 0.0  # standard deviation of the yaw rate between turns
    # road excitation; 1 is a worn city street (pitch rate about 0.04 rad/s rms)
    roughness: float = 0.0
    bump_every_s: float = 0.0  # mean time between discrete bumps; 0 makes none
    # standard deviation of hand rotation on every axis (handheld and held only)
    shake_rad: float = 0.0


STYLES: Mapping[str, DrivingStyle] = {
    "city": DrivingStyle(
        speeds_mps=(3.0, 13.0),
        speed_change_every_s=4.0,
        turn_every_s=5.0,
        turn_rate_rad_s=0.5,
        wander_rad_s=0.03,
        roughness=1.0,
        bump_every_s=4.0,
    ),
    "highway": DrivingStyle(
        speeds_mps=(17.0, 20.0),
        speed_change_every_s=6.0,
        wander_rad_s=0.008,
        roughness=0.35,
        bump_every_s=8.0,
    ),
    "straight_smooth": DrivingStyle(speeds_mps=(12.0, 12.0), wander_rad_s=0.0002, roughness=0.004),
    "parked": DrivingStyle(speeds_mps=(0.0, 0.0)),
    "held": DrivingStyle(speeds_mps=(0.0, 0.0), shake_rad=0.003),
    "handheld": DrivingStyle(
        speeds_mps=(1.0, 1.4),
        speed_change_every_s=4.0,
        wander_rad_s=0.15,
        roughness=0.3,
        shake_rad=0.04,
    ),
}


def simulate_motion(style: str, duration_s: float, rng: np.random.Generator) -> Motion:
    """Simulate `duration_s` seconds of driving in a named style.

    Parameters
    ----------
    style : str
        A key of `STYLES`.
    duration_s : float
        Length of the clip; the motion extends `MARGIN_S` beyond both ends.
    rng : numpy.random.Generator

    Raises
    ------
    ValueError
        If the style is unknown or the duration is not positive.
    """
    if style not in STYLES:
        raise ValueError(f"unknown driving style {style!r}; known: {', '.join(STYLES)}")
    if not duration_s > 0:
        raise ValueError(f"duration_s is {duration_s}, expected a positive number of seconds")
    profile = STYLES[style]
    n_samples = round((duration_s + 2 * MARGIN_S) * GRID_RATE_HZ) + 1
    times_s = np.arange(n_samples) / GRID_RATE_HZ - MARGIN_S

    speed = _speed(profile, times_s, rng)
    yaw_rate = _yaw_rate(profile, times_s, speed, rng)
    long_accel = np.gradient(speed, times_s)
    excitation = rng.standard_normal((4, n_samples)) * np.sqrt(speed / 10.0) * profile.roughness
    excitation = gaussian_filter1d(excitation, _TYRE_S * GRID_RATE_HZ, axis=1)
    bumps_s, front_hit, rear_hit = _bumps(profile, times_s, speed, rng)

    # Amplitudes: RMS of the response to roughness 1, and the peak of the response to one bump.
    heave = 0.012 * _resonate(excitation[0], 1.3, 0.35)
    heave += 0.0003 * _resonate(excitation[1], 10.5, 0.1)
    heave += 0.015 * _ring(front_hit + rear_hit, 1.3, 0.35)
    heave += 0.0008 * _ring(front_hit + rear_hit, 10.5, 0.12)
    pitch = 0.004 * _resonate(excitation[2], 1.6, 0.3) + 0.0002 * _resonate(excitation[1], 9.0, 0.2)
    pitch += 0.010 * _ring(rear_hit - front_hit, 1.6, 0.3)
    pitch += -PITCH_PER_BRAKING * _settle(long_accel, 1.4, 0.4)
    roll = 0.004 * _resonate(excitation[3], 1.8, 0.3) + 0.0002 * _resonate(excitation[1], 8.0, 0.2)
    roll += ROLL_PER_LATERAL * _settle(speed * yaw_rate, 1.5, 0.5)

    yaw = np.cumsum(yaw_rate) / GRID_RATE_HZ
    yaw -= np.interp(0.0, times_s, yaw)
    euler = np.stack([yaw, pitch, roll], axis=1)
    if profile.shake_rad:
        euler += profile.shake_rad * _hand(times_s, rng)
    velocity = np.stack([speed * np.cos(yaw), speed * np.sin(yaw), np.gradient(heave, times_s)], 1)
    return Motion.from_samples(
        times_s,
        euler,
        velocity,
        bump_times_s=bumps_s,
        roughness=np.sqrt(speed / 10.0) * profile.roughness,
    )


def _speed(profile: DrivingStyle, times_s: FloatArray, rng: np.random.Generator) -> FloatArray:
    low, high = profile.speeds_mps
    speed = np.full(times_s.size, rng.uniform(low, high))
    for start_s in _instants(profile.speed_change_every_s, times_s, rng):
        step = rng.choice([-1.0, 1.0]) * rng.uniform(2.0, 6.0)
        before = speed[-1]
        if not low <= before + step <= high:
            step = -step
        speed[times_s >= start_s] = np.clip(before + step, low, high)
    return gaussian_filter1d(speed, 0.6 * GRID_RATE_HZ, mode="nearest")


def _yaw_rate(
    profile: DrivingStyle, times_s: FloatArray, speed: FloatArray, rng: np.random.Generator
) -> FloatArray:
    noise = gaussian_filter1d(rng.standard_normal(times_s.size), 0.4 * GRID_RATE_HZ)
    rate = profile.wander_rad_s * noise / noise.std()
    for start_s in _instants(profile.turn_every_s, times_s, rng):
        length_s = rng.uniform(1.5, 4.0)
        peak = rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 1.0) * profile.turn_rate_rad_s
        phase = np.clip((times_s - start_s) / length_s, 0.0, 1.0)
        rate = rate + peak * np.sin(np.pi * phase) ** 2
    limit = np.minimum(max(profile.turn_rate_rad_s, 0.2), LATERAL_LIMIT_MPS2 / np.maximum(speed, 1))
    rate = limit * np.tanh(rate / limit)
    return np.asarray(rate * np.clip(speed / 1.0, 0.0, 1.0))


def _bumps(
    profile: DrivingStyle, times_s: FloatArray, speed: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return axle impact times, and the impacts on the front and rear axle on the grid."""
    front, rear, instants_s = np.zeros(times_s.size), np.zeros(times_s.size), []
    for start_s in _instants(profile.bump_every_s, times_s, rng):
        index = int(np.searchsorted(times_s, start_s))
        behind = round(WHEELBASE_M / max(speed[index], 1.0) * GRID_RATE_HZ)
        strength = rng.uniform(0.6, 1.4)
        if speed[index] < 2.0 or index + behind >= times_s.size:
            continue
        front[index] += strength
        rear[index + behind] += strength
        instants_s += [times_s[index], times_s[index + behind]]
    blows = gaussian_filter1d(np.stack([front, rear]), 0.6 * _TYRE_S * GRID_RATE_HZ, axis=1)
    return np.sort(np.array(instants_s)), blows[0], blows[1]


def _instants(every_s: float, times_s: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw irregular times with a mean spacing of `every_s` (none if 0)."""
    if every_s <= 0:
        return np.empty(0)
    n_most = int(2 * (times_s[-1] - times_s[0]) / every_s) + 1
    instants = times_s[0] + np.cumsum(every_s * rng.uniform(0.5, 1.5, n_most))
    return np.asarray(instants[instants < times_s[-1]])


def _second_order(
    signal: FloatArray, frequency_hz: float, damping: float
) -> tuple[FloatArray, FloatArray]:
    """Apply a damped oscillator of unit static gain to a signal; return its output and taps."""
    omega = 2 * np.pi * frequency_hz
    taps = bilinear([omega**2], [1.0, 2 * damping * omega, omega**2], GRID_RATE_HZ)
    impulse = np.zeros(int(4 * GRID_RATE_HZ))
    impulse[0] = 1.0
    return lfilter(*taps, signal), lfilter(*taps, impulse)


def _resonate(noise: FloatArray, frequency_hz: float, damping: float) -> FloatArray:
    """Filter white noise with an oscillator; unit white noise gives unit RMS."""
    output, impulse = _second_order(noise, frequency_hz, damping)
    return np.asarray(output / np.sqrt(np.sum(impulse**2)))


def _ring(blows: FloatArray, frequency_hz: float, damping: float) -> FloatArray:
    """Apply an oscillator to impacts; a unit impact gives unit peak."""
    output, impulse = _second_order(blows, frequency_hz, damping)
    return np.asarray(output / impulse.max())


def _settle(drive: FloatArray, frequency_hz: float, damping: float) -> FloatArray:
    """Apply a suspension to a slow input, with unit static gain."""
    return _second_order(drive, frequency_hz, damping)[0]


def _hand(times_s: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return unit-RMS hand rotation below about 2 Hz, shape (m, 3)."""
    noise = rng.standard_normal((times_s.size, 3))
    slow = gaussian_filter1d(noise, 0.35 * GRID_RATE_HZ, axis=0)
    fast = gaussian_filter1d(noise[::-1], 0.09 * GRID_RATE_HZ, axis=0)
    return np.asarray(slow / slow.std(axis=0) + 0.2 * fast / fast.std(axis=0))
