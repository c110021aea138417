"""Where nothing is found, the search range is reported, and the suggested remedy works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from syncaudit.model import Activity, ClipEvidence, PairMeasurement, Quantity
from syncaudit.pipeline.pairing import measure_pairs
from syncaudit.policy import load_policy
from testkit.streams import activity

EPOCH_NS = 1_767_225_600_000_000_000
RATE_HZ = 100.0
LATE_S = 3.0
RAISE = "raise max_offset_s in the policy to search farther"


def turning(seconds: float, late_s: float, noise_seed: int, *, seed: int = 1) -> Activity:
    """Return a gyroscope's view of one motion with late timestamps."""
    rng = np.random.default_rng(seed)
    times_s = np.arange(0.0, seconds, 1.0 / RATE_HZ)
    rate = np.zeros((times_s.size, 3))
    for axis in range(3):
        for hz in rng.uniform(0.2, 3.0, 25):
            rate[:, axis] += 0.04 * np.cos(2 * np.pi * (hz * times_s + rng.uniform()))
    rate += 1e-3 * np.random.default_rng(noise_seed).normal(size=rate.shape)
    return activity("", Quantity.ANGULAR_RATE, times_s + late_s, rate, epoch_ns=EPOCH_NS)


def measured(max_offset_s: float, seconds: float = 40.0, **other: int) -> PairMeasurement:
    return tried(
        max_offset_s, {"a": turning(seconds, 0.0, 5), "b": turning(seconds, LATE_S, 6, **other)}
    )


def tried(max_offset_s: float, sources: Mapping[str, Activity]) -> PairMeasurement:
    motion = {
        name: {
            Quantity.ANGULAR_RATE: activity(
                name, found.quantity, found.times_s, found.values, epoch_ns=found.epoch_ns
            )
        }
        for name, found in sources.items()
    }
    (pair,) = measure_pairs(ClipEvidence(motion=motion), max_offset_s=max_offset_s)
    return pair


def test_default_range_is_said_and_the_cure_finds_the_offset(tmp_path: Path) -> None:
    policy = load_policy()
    refused = measured(policy.max_offset_s)
    assert not refused.accepted
    assert refused.why is not None
    assert refused.why.endswith(f"; searched ± 2 s, {RAISE}")
    file = tmp_path / "wide.toml"
    file.write_text('extends = "driving"\nmax_offset_s = 5.0\n')
    found = measured(load_policy(str(file)).max_offset_s)
    assert found.accepted, found.why
    assert found.offset_s is not None
    # From `b` (the source, 3 s late) to `a`.
    assert abs(found.offset_s) == pytest.approx(LATE_S, abs=1e-3)


def test_short_clip_says_that_it_limits_the_search() -> None:
    refused = measured(5.0, seconds=8.0, seed=2)
    assert not refused.accepted
    assert refused.why is not None
    assert refused.why.endswith("; searched ± 3.2 s, as far as a clip this short allows")


def test_what_was_never_searched_names_no_range() -> None:
    refused = measured(2.0, seconds=1.0)
    assert not refused.accepted
    assert refused.why is not None
    assert "searched" not in refused.why


@pytest.mark.parametrize("zero_wanders", [False, True])
def test_what_stands_still_is_not_told_to_be_searched_farther(zero_wanders: bool) -> None:
    rng = np.random.default_rng(4)

    def parked(name: str) -> Activity:
        moving = turning(40.0, 0.0, 1)
        noise = 1e-3 * rng.normal(size=moving.values.shape)
        if zero_wanders:
            noise = noise + np.cumsum(2e-5 * rng.normal(size=noise.shape), axis=0)
        return replace(moving, source=name, values=noise)

    refused = tried(2.0, {"a": parked("a"), "b": parked("b")})
    assert refused.why is not None
    assert "max_offset_s" not in refused.why
    assert refused.why.endswith("b and a hardly move")


def test_what_was_found_is_not_told_to_be_searched_farther() -> None:
    """A wrong gain is wrong at every search range."""
    moving, other = turning(40.0, 0.0, 5), turning(40.0, 0.1, 6)
    refused = tried(2.0, {"a": moving, "b": replace(other, values=5.0 * other.values)})
    assert not refused.accepted
    assert refused.why is not None
    assert "gain" in refused.why
    assert "searched" not in refused.why
