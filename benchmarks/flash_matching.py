"""Matching event trains with unknown clocks: 1,000 random problems, and the CPU time."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events import Instants, match_events
from syncaudit.simulate.pulse_trains import BurstTrain, PulseTrain, SpacedTrain

Floats = NDArray[np.float64]
EPOCH_NS = 1_767_225_600_000_000_000
WRONG_S = 2e-3  # in the middle of the overlap, a larger offset error means a wrong match


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingTally:
    """Outcomes of random problems of one kind of event train."""

    train: str
    n: int
    n_accepted: int
    n_wrong: int


def random_problems(n: int, *, seed: int) -> list[MatchingTally]:
    """Match `n` random pairs of sources; a quarter of them see an exactly periodic train.

    Each source sees 25 to 100 % of the flashes, plus 0 to 30 % false events, with timing errors of
    5 us to 0.5 ms; offsets are up to 20 s and drifts up to 300 ppm, of either sign; a fifth of the
    pairs are two recordings of different flashes.
    """
    n_all: Counter[str] = Counter()
    n_accepted: Counter[str] = Counter()
    n_wrong: Counter[str] = Counter()
    for index in range(n):
        rng = np.random.default_rng([seed, index])  # each problem can be reproduced by itself
        kind, train = _train(index, rng)
        duration_s = rng.uniform(20, 90)
        flashes = train.draw(duration_s, rng)
        offset_s, drift = rng.uniform(-20, 20), rng.uniform(-3e-4, 3e-4)
        is_unrelated = index % 5 == 4
        others = train.draw(duration_s, rng) if is_unrelated else flashes
        source = _instants("source", _seen(flashes, duration_s, rng), rng)
        target = _instants("target", _seen(others, duration_s, rng), rng, offset_s, drift)
        match = match_events(source, target)
        name = f"{kind}, unrelated" if is_unrelated else kind
        n_all[name] += 1
        if match.why is not None or match.fit is None:
            continue
        n_accepted[name] += 1
        middle_s = np.array([0.5 * duration_s])
        expected_s = offset_s + middle_s * (1 + drift)
        error_s = float(np.abs(match.fit.predict(middle_s) - expected_s)[0])
        # Unrelated trains, irregular or periodic, have no correct offset.
        n_wrong[name] += is_unrelated or error_s > WRONG_S
    return [
        MatchingTally(train=name, n=n_all[name], n_accepted=n_accepted[name], n_wrong=n_wrong[name])
        for name in sorted(n_all)
    ]


def matching_time_s(*, n_sources: int = 6, n_events: int = 80, seed: int = 0) -> float:
    """Return the CPU time of matching every pair of sources with many events each."""
    rng = np.random.default_rng(seed)
    flashes = SpacedTrain(mean_interval_s=0.5).draw(1.3 * n_events * 0.5, rng)
    sources = []
    for k in range(n_sources):
        chosen = np.sort(rng.choice(flashes, n_events, replace=False))
        sources.append(_instants(f"cam{k}", chosen, rng, rng.uniform(-5, 5), 2e-5 * k))
    for first, second in itertools.combinations(sources[:2], 2):
        match_events(first, second)  # warms up imports and caches
    begun = time.process_time()
    for first, second in itertools.combinations(sources, 2):
        match_events(first, second)
    return time.process_time() - begun


def _train(index: int, rng: np.random.Generator) -> tuple[str, PulseTrain]:
    mean_s, spread = float(rng.uniform(0.15, 0.8)), float(rng.uniform(0, 0.05))
    return (
        ("irregular", SpacedTrain(mean_interval_s=mean_s)),
        ("bursts", BurstTrain(n_pulses=4, span_s=1 / 12, mean_interval_s=max(mean_s, 0.3))),
        ("periodic", SpacedTrain(mean_interval_s=mean_s, spread=0.0)),
        ("nearly periodic", SpacedTrain(mean_interval_s=mean_s, spread=spread)),
    )[index % 4]


def _seen(flashes: Floats, duration_s: float, rng: np.random.Generator) -> Floats:
    seen = flashes[rng.random(flashes.size) < rng.uniform(0.25, 1.0)]
    n_false = int(rng.uniform(0, 0.3) * seen.size)
    return np.sort(np.concatenate([seen, rng.uniform(0, duration_s, n_false)]))


def _instants(
    name: str,
    events_s: Floats,
    rng: np.random.Generator,
    offset_s: float = 0.0,
    drift: float = 0.0,
) -> Instants:
    std_s = 10 ** rng.uniform(np.log10(5e-6), np.log10(5e-4))
    times = np.sort(offset_s + events_s * (1 + drift) + rng.normal(0, std_s, events_s.size))
    return Instants(
        source=name,
        epoch_ns=EPOCH_NS,
        times_s=times,
        std_s=np.full(times.size, std_s),
        half_s=np.zeros(times.size),
        row_px=np.zeros(times.size),
        item=np.arange(times.size),
    )
