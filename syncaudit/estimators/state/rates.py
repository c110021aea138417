"""Weigh a drift against what clocks do: quartz hardly drifts, and a wrong frame rate drifts far.

Within a clip of seconds, the drift of a robot's camera is known to some hundred ppm at best, and
quartz keeps to a tenth of that. So a measured drift is evidence between two hypotheses: a crystal,
and a rate that is wrong by anything up to that of the worst clock. What follows for the drift is a
mixture of both, weighted by their posterior odds (Kass and Raftery, "Bayes factors", J. Am. Stat.
Assoc. 90, 1995, doi:10.1080/01621459.1995.10476572): neither a drift of two standard errors that a
good clock shows now and then, nor no drift where a wrong rate is as likely.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.stats import t as student_t

from syncaudit.estimators.delay.clock_step import USUAL_DRIFT_PPM
from syncaudit.estimators.state.parts import N_LEFT_OUT
from syncaudit.model import PairMeasurement

# Prior probability of a wrong rate: that of a wrong verdict at a confidence of 95 %. Were it
# larger, every clip whose drift cannot be measured would be held back.
WRONG_RATE = 0.05
# Rates tried, evenly spaced on a logarithmic scale: nothing is known of their magnitude.
N_RATES = 64


def with_likely_drift(
    record: PairMeasurement,
    drift_ppm: float,
    std_ppm: float,
    *,
    most_ppm: float,
    is_uneven: bool,
) -> PairMeasurement:
    """Return a record with the drift to be expected, where the evidence favours a wrong rate.

    Parameters
    ----------
    record : PairMeasurement
        Without a drift.
    drift_ppm, std_ppm : float
        Measured drift and its standard error, whose freedom is that of the jackknife.
    most_ppm : float
        Rate error of the worst clocks of this kind.
    is_uneven : bool
        Whether parts of the clip contradict one delay: quartz is out of the question then.
    """
    rates = np.geomspace(USUAL_DRIFT_PPM, most_ppm, N_RATES)
    by_wrong = student_t.pdf(
        (drift_ppm - np.concatenate([-rates, rates])) / std_ppm, N_LEFT_OUT - 1
    ).mean()
    usual_ppm = math.hypot(std_ppm, USUAL_DRIFT_PPM)
    by_quartz = student_t.pdf(drift_ppm / usual_ppm, N_LEFT_OUT - 1) * std_ppm / usual_ppm
    if by_wrong <= by_quartz:
        return record
    wrong, usual = WRONG_RATE * by_wrong, (1.0 - WRONG_RATE) * by_quartz
    share = 1.0 if is_uneven else float(wrong / (wrong + usual))
    spread_ppm2 = share * (std_ppm**2 + (1.0 - share) * drift_ppm**2)
    return replace(
        record,
        drift_ppm=share * drift_ppm,
        drift_std_ppm=math.sqrt(spread_ppm2 + (1.0 - share) * USUAL_DRIFT_PPM**2),
    )
