"""Format the findings of a timestamp audit as text."""

from __future__ import annotations

import numpy as np

from syncaudit.detectors.stamps.clock import ClockFit
from syncaudit.detectors.stamps.ledger import Ledger
from syncaudit.dsp.robust import quantiles
from syncaudit.model import ReasonCode, StampAudit, StampRemark
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.time import MAX_SPAN_S

# Every bus and every operating system has one-sided delays below this.
WORTH_A_WORD_S = 5e-4


def count_remarks(n: int, n_expected: int | None) -> list[StampRemark]:
    """Describe a difference between the number of stamps and the container's frame count."""
    if n_expected is None or n_expected == n:
        return []
    more = "more" if n > n_expected else "fewer"
    text = (
        f"{n} timestamps for {n_expected} frames in the container: "
        f"{abs(n - n_expected)} {more} timestamps than frames"
    )
    return [StampRemark(code=ReasonCode.LENGTH_MISMATCH, text=text)]


def order_remarks(stamps: Ints, steps_s: Floats, base: StampAudit) -> tuple[StampRemark, ...]:
    """Describe problems of order and span."""
    out: list[StampRemark] = []
    if base.backwards:
        at = int(np.argmin(steps_s))
        text = (
            f"timestamps go back {base.backwards} times, at most by {_in_ms(-float(steps_s[at]))} "
            f"after sample {at}"
        )
        out.append(StampRemark(code=ReasonCode.BACKWARDS, text=text, is_figure=True))
    if base.duplicates:
        at = int(np.argmax(steps_s == 0.0))
        text = f"{base.duplicates} timestamps equal the one before, the first after sample {at}"
        out.append(StampRemark(code=ReasonCode.DUPLICATE, text=text, is_figure=True))
    span_ns = int(stamps.max()) - int(stamps.min())
    if span_ns > MAX_SPAN_S * 1e9:
        text = (
            f"timestamps span {span_ns / 8.64e13:.3g} days: a wrong unit, or timestamps that "
            "were never set"
        )
        out.append(StampRemark(code=ReasonCode.RATE, text=text, is_defect=True))
    return tuple(out)


def figure_remarks(
    audit: StampAudit, ledger: Ledger, fit: ClockFit, tick_s: float, *, is_in_bursts: bool
) -> list[StampRemark]:
    """Describe what is wrong with the figures of an audit."""
    out: list[StampRemark] = []

    def say(code: ReasonCode, text: str, *, is_figure: bool) -> None:
        out.append(StampRemark(code=code, text=text, is_figure=is_figure))

    rate = audit.rate_hz or 0.0
    if audit.missing:
        say(
            ReasonCode.MISSING_FRAMES,
            f"{audit.missing} samples missing in {audit.gaps} gaps, the longest interval "
            f"{_in_ms(audit.max_gap_s or 0.0)} at a period of {_in_ms(fit.period_s)}",
            is_figure=True,
        )
    if audit.doubled:
        say(
            ReasonCode.DUPLICATE,
            f"{audit.doubled} more samples than the clock has periods",
            is_figure=True,
        )
    for (at_ns, size), (interval, _) in zip(audit.steps, ledger.steps, strict=True):
        way = "forward" if size > 0.0 else "back"
        say(
            ReasonCode.STEP,
            f"the clock jumps {way} by {_in_ms(abs(size))} at {at_ns} ns (after sample "
            f"{interval}): {abs(size) / fit.period_s:.2f} periods, so samples were not dropped",
            is_figure=True,
        )
    if tick_s >= 1e-5:
        say(
            ReasonCode.JITTER,
            f"timestamps are rounded to {_in_ms(tick_s)}: smaller jitter cannot be seen",
            is_figure=False,
        )
    if is_in_bursts:
        say(
            ReasonCode.JITTER,
            "timestamps come in bursts: single intervals do not show the period of "
            f"{_in_ms(fit.period_s)} ({rate:.4g} Hz over the whole recording)",
            is_figure=False,
        )
    if audit.buffering_s is not None and audit.buffering_s >= WORTH_A_WORD_S:
        say(
            ReasonCode.JITTER,
            f"delays are one-sided: timestamps are {_in_ms(audit.buffering_s)} late on average, "
            "as when taken on arrival after a buffer",
            is_figure=True,
        )
    return out


def irregular_remark(steps_s: Floats, usual_s: Floats) -> StampRemark:
    """Describe stamps that do not come from a regular clock.

    `steps_s`, shape (m,): positive intervals that are not gaps. `usual_s`, shape (n,): usual
    interval at each place.
    """
    shortest_s, longest_s = (
        quantiles(steps_s, [0.01, 0.99]) if steps_s.size else [float(usual_s.min())] * 2
    )
    text = (
        f"no regular clock fits the timestamps (intervals of {_in_ms(shortest_s)} to "
        f"{_in_ms(longest_s)}): variable rate, software-timed sampling, samples lost among "
        "jittering ones, or several sources in one column"
    )
    return StampRemark(code=ReasonCode.RATE, text=text)


def synthetic_remark(n: int, nominal_hz: float, tick_s: float) -> StampRemark:
    """Describe stamps that were generated as index / rate."""
    rounding = f" (as far as their rounding to {_in_ms(tick_s)} shows)" if tick_s >= 1e-4 else ""
    text = (
        f"all {n} timestamps equal index / {nominal_hz:.6g} Hz exactly: synthetic timestamps "
        f"prove nothing{rounding}"
    )
    return StampRemark(code=ReasonCode.RATE, text=text)


def unit_remarks(audit: StampAudit, fastest_hz: float) -> tuple[StampRemark, ...]:
    """Describe a rate that no device of the kind has: stamps in a unit other than nanoseconds."""
    rate = audit.rate_hz
    if rate is None or rate <= fastest_hz:
        return ()
    # Of the usual units, the finest that gives a rate a device of the kind could have.
    unit, name = ("us", "microseconds") if rate * 1e-3 <= fastest_hz else ("ms", "milliseconds")
    as_such = rate * (1e-3 if unit == "us" else 1e-6)
    text = (
        f"the timestamps give a rate of {rate:.3g} Hz: they look like {name}, not nanoseconds "
        f'({as_such:.3g} Hz then). State the unit in the manifest, "units": {{"stamps": '
        f'"{unit}"}}, or export them in ns'
    )
    return (StampRemark(code=ReasonCode.RATE, text=text, is_defect=True),)


def container_remarks(pts_s: Floats, n: int, rate_hz: float | None) -> list[StampRemark]:
    """Describe a container that plays at a different rate from its `n` stamps.

    `pts_s`, shape (m,): presentation times in any order; non-finite values are ignored.
    `rate_hz`: rate of the stamps.
    """
    ordered = np.sort(pts_s[np.isfinite(pts_s)])
    gaps = ordered[1:] - ordered[:-1]
    gaps = gaps[gaps > 0.0]
    if gaps.size < 2 or rate_hz is None:
        return []
    plays_hz = gaps.size / float(np.add.reduce(gaps))
    # Dropped frames lower both rates; no crystal explains a difference of 1 % and 2 frames' worth.
    span = n / rate_hz
    if abs(plays_hz - rate_hz) <= max(0.01 * rate_hz, 2.0 / span):
        return []
    text = (
        f"the container plays {plays_hz:.5g} frames a second, its timestamps {rate_hz:.5g}: its "
        "presentation times are not capture times"
    )
    return [StampRemark(code=ReasonCode.RATE, text=text)]


def _in_ms(seconds: float) -> str:
    """Format a span in the unit that reads best."""
    if seconds >= 10.0:
        return f"{seconds:.4g} s"
    return f"{seconds * 1e3:.4g} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.3g} us"
