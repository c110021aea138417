"""A lamp that switches on and off at known instants and stays so, for frames of `footage`."""

import numpy as np

# On while the rows of every 20th frame are exposed, a few rows further down each time, and off in
# the tenth frame after that.
LAMPS_S = np.array([(8 + 20 * i) / 12.0 + 0.0017 * (i - 3) for i in range(6)])
WIDTH_S = 10 / 12.0 + 0.0031
N = 124


def lamp(frame, middle_s, exposure_s=0.008, rise_s=0.0, levels=40.0, width_s=WIDTH_S):
    """Add a lamp that is on for 0.84 s from each of `LAMPS_S`; it rises and falls linearly."""
    light = np.zeros(middle_s.size)
    for on_s in LAMPS_S:
        for sign, at_s in ((1.0, on_s), (-1.0, on_s + width_s)):
            ages_s = np.linspace(-0.5, 0.5, 81)[:, None] * exposure_s + middle_s - at_s
            # Midway through the rise the light is at half level.
            shares = ages_s / rise_s + 0.5 if rise_s else ages_s > 0.0
            light += sign * np.clip(shares, 0.0, 1.0).mean(axis=0)
    return frame + (levels * light[:, None] * (0.3 + 0.7 * frame / 128.0)).astype(np.float32)


def lamps(**case):
    def paint(frame, _k, middle_s):
        return lamp(frame, middle_s, **case)

    return paint


def instants_s():
    return np.sort(np.concatenate([LAMPS_S, LAMPS_S + WIDTH_S]))
