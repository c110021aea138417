"""Find sharp knocks in an accelerometer, and the rise that knocks or clicks share.

The rise is a power of time, one for all knocks or clicks of a recording.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import maximum_filter1d, median_filter

from syncaudit.detectors.signals import detect_motion
from syncaudit.model import Activity, EventTrain, Quantity, SignalStream
from syncaudit.model.arrays import Floats

# A knock is noticed at the share `LEVEL` of its largest swing; this many earlier samples are used:
# filters of a tenth of the sampling rate take about eight to rise that far.
N_BEFORE = 16
# Samples from onset to level; half-normal prior because nearly all sensors filter at an eighth of
# the sampling rate or above.
LENGTHS = np.concatenate([[0.0], np.geomspace(0.05, 12.0, 44)])
USUAL_LENGTH = 2.0
# Position between two samples at which the level was reached.
PHASES = (np.arange(24) + 0.5) / 24
# Least deviation from a rise, as a share of the largest swing, and least error of an onset that all
# knocks have in common, in samples.
SHAPE_FLOOR, MISFIT = 0.003, 0.05
# More knocks do not determine the rise any better.
MAX_KNOCKS = 64
MIN_WEIGHT = 1e-3

# Knocks closer than this are one knock that rings.
APART_S = 0.08
# Span whose typical jerk a knock must exceed, and by what factor.
AROUND_S = 1.0
MIN_RATIO = 10.0
# Change of specific force below which nothing is called a knock (m/s^2 per sample).
MIN_CHANGE = 2.0
# A ringing case may swing furthest later: the onset is searched for this far before, and the level
# at rest is taken over this many samples before that.
LOOK_BACK_S = 0.03
MIN_LOOK_BACK = 4
N_AT_REST = 16
MIN_AT_REST = 4
MIN_SAMPLES = 16

# Share of the largest amplitude up to which the rise is fitted.
LEVEL = 0.3
# A jump through a filter of order m, or a ringing that starts from rest, rises with the power m
# (or m + 1) of time; towards 30 % an exponential flattens below the first power. So do a noise that
# swells and a tone with a soft attack.
POWERS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
# The largest swing is sampled too, and knocks vary: the rise of a knock differs from the shared one
# by this share of itself, and occasionally by more (Student's t).
SHAPE_SHARE, FREEDOM = 0.3, 3.0
# Misfit of power laws to other rises, as a share of their length: common to all knocks.
MISFIT_SHARE = 0.15


def find_taps(stream: SignalStream | Activity) -> EventTrain | None:
    """Return the onsets of knocks.

    A knock is a change of the specific force from one sample to the next (norm over the axes)
    of at least 2 m/s^2 and ten times what is usual within a second. It is noticed where it reaches
    three tenths of its largest swing. The time from its onset to there depends on the body and on
    an unspecified filter before sampling: the rise is estimated from all knocks together
    (`_date_rises`), and its remaining uncertainty is the systematic error. None if there is no
    channel ``accel`` to examine, an empty train if there are no knocks.
    """
    activity = stream if isinstance(stream, Activity) else _specific_force(stream)
    if activity is None or activity.times_s.size < MIN_SAMPLES:
        return None
    times_s = activity.times_s
    period_s = float(np.median(np.diff(times_s)))
    changes = np.linalg.norm(np.diff(activity.values, axis=0), axis=1)
    span = 2 * max(4, round(0.5 * AROUND_S / period_s)) + 1
    usual = median_filter(changes, size=min(span, 2 * (changes.size // 2) - 1), mode="nearest")
    usual = np.maximum(usual, 1e-3 * MIN_CHANGE)
    apart = 2 * max(1, round(APART_S / period_s)) + 1
    is_knock = (changes == maximum_filter1d(changes, apart)) & (
        changes > np.maximum(MIN_CHANGE, MIN_RATIO * usual)
    )
    back = max(MIN_LOOK_BACK, round(LOOK_BACK_S / period_s))
    peaks = np.flatnonzero(is_knock)
    knocks = [_notice(activity.values, int(k), back) for k in peaks]
    dated = [knock for knock in knocks if knock is not None]
    noticed = np.array([at for at, _, _ in dated], dtype=np.float64)
    ages, stds, systematic = np.empty(0), np.empty(0), 0.0
    if dated:
        before = np.array([values for _, values, _ in dated])
        ages, stds, systematic = _date_rises(before, np.array([noise for _, _, noise in dated]))
    return EventTrain(
        source=activity.source,
        quantity=Quantity.CLICK,
        epoch_ns=activity.epoch_ns,
        times_s=np.interp(noticed - ages, np.arange(times_s.size), times_s),
        std_s=stds * period_s,
        systematic_std_s=systematic * period_s,
    )


def _specific_force(stream: SignalStream) -> Activity | None:
    found = detect_motion(stream)
    return next((a for a in found if a.quantity is Quantity.SPECIFIC_FORCE), None)


def _notice(values: Floats, peak: int, back: int) -> tuple[int, Floats, float] | None:
    """Return where a knock is noticed, the samples before (latest first) and their noise.

    Both relative to its largest swing, onto which the axes are projected. None if too few samples
    precede it.
    """
    start = peak - back
    rest = values[max(0, start - N_AT_REST) : max(0, start)]
    if len(rest) < MIN_AT_REST or start < N_BEFORE:
        return None
    level = rest.mean(axis=0)
    power = np.sum((values[start : peak + 3] - level) ** 2, axis=1)
    quiet = np.sum((rest - level) ** 2, axis=1)
    usual = float(quiet.sum()) / (len(rest) - 1)
    largest = int(np.argmax(power))
    at = start + int(np.argmax(power[: largest + 1] >= LEVEL**2 * power[largest]))
    before = np.sum((values[at - N_BEFORE : at][::-1] - level) ** 2, axis=1) - usual
    top = float(power[largest])
    # the mean square of k axes scatters by its mean times sqrt(2 / k)
    noise = (usual * (2.0 / values.shape[1]) ** 0.5 / top) ** 0.5
    return at, np.sign(before) * np.sqrt(np.abs(before) / top), noise


def _date_rises(before: Floats, noise: Floats) -> tuple[Floats, Floats, float]:
    """Return how long after its onset each knock was noticed.

    All knocks have the same rise, ``LEVEL (t / T)^p``, set by the unspecified sensor filter and the
    first swing of the body; each meets the samples at a different phase, so that many knocks show
    the rise between the samples. The posterior of length T and power p is taken on a grid; the
    uncertainty of the onset that it leaves is common to all knocks.
    """
    noise = np.maximum(noise, 0.5 * np.median(noise))
    rises = [(power, length) for power in POWERS for length in LENGTHS.tolist()]
    sharpest = np.argsort(noise, kind="stable")[:MAX_KNOCKS]
    score = np.array([_fit(before[sharpest], noise[sharpest], *rise)[0] for rise in rises])
    prior = np.exp(-0.5 * (LENGTHS / USUAL_LENGTH) ** 2) * np.gradient(LENGTHS)
    weights = np.exp(score - score.max()) * np.tile(prior, len(POWERS))
    weights /= weights.sum()
    kept = np.flatnonzero(weights > MIN_WEIGHT * weights.max())
    weights = weights[kept] / weights[kept].sum()
    ages = np.zeros((kept.size, noise.size))
    variances = np.zeros_like(ages)
    for row, k in enumerate(kept.tolist()):
        _, phases, variances[row] = _fit(before, noise, *rises[k])
        ages[row] = rises[k][1] + phases
    shared = ages.mean(axis=1)
    age = float(weights @ shared)
    random_stds = np.sqrt(weights @ variances)
    spread = float(weights @ (shared - age) ** 2)
    systematic = np.sqrt(spread + MISFIT**2 + (MISFIT_SHARE * age) ** 2)
    return weights @ ages, random_stds, float(systematic)


def _fit(
    before: Floats, noise: Floats, power: float, length: float
) -> tuple[float, Floats, Floats]:
    """Return the log likelihood of a rise, and mean and variance of every knock's phase."""
    since = np.maximum(length + PHASES[:, None] - np.arange(1, before.shape[1] + 1), 0.0)
    rise = LEVEL * (since / length) ** power if length else np.zeros_like(since)
    score = log_likelihood(before[:, None, :], rise, noise[:, None, None], SHAPE_FLOOR)
    best = score.max(axis=1, keepdims=True)
    likelihood = np.exp(score - best)
    mean = likelihood.mean(axis=1)
    weights = likelihood / likelihood.sum(axis=1, keepdims=True)
    phases = weights @ PHASES
    return float((best[:, 0] + np.log(mean)).sum()), phases, weights @ PHASES**2 - phases**2


def log_likelihood(levels: Floats, rise: Floats, std: Floats, floor: float) -> Floats:
    """Return how well rises fit amplitudes, summed over the last axis; arguments are broadcast.

    `std` is the error of the amplitudes, `floor` the least deviation from a rise, both as a share
    of the largest amplitude.
    """
    variance = std**2 + (SHAPE_SHARE * rise) ** 2 + floor**2
    misfit = np.log1p((levels - rise) ** 2 / (FREEDOM * variance))
    score: Floats = -0.5 * (np.log(variance) + (FREEDOM + 1.0) * misfit).sum(axis=-1)
    return score
