"""Level changes are found where they are, and not where there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from syncaudit.dsp.change_point import ChangePoint, find_change, find_change_of_shares

Find = Callable[[Sequence[float]], ChangePoint | None]
both = pytest.mark.parametrize("find", [find_change, find_change_of_shares])


@both
def test_a_step_is_found_where_it_is(find: Find) -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate((rng.normal(0.0, 1.0, 30), rng.normal(3.0, 1.0, 20)))
    found = find(values.tolist())
    assert found is not None
    assert found.index == pytest.approx(30, abs=2)
    assert found.chance < 1e-4
    assert (found.before, found.after) == pytest.approx((0.0, 3.0), abs=0.6)


@pytest.mark.parametrize("n", [8, 15, 60])
@both
def test_noise_is_called_a_change_no_oftener_than_claimed(find: Find, n: int) -> None:
    """Of 1,000 series without any change, one in twenty may seem to have one at 5 %."""
    rng = np.random.default_rng(2)
    found = [find(rng.normal(size=n).tolist()) for _ in range(1000)]
    assert sum(one is not None and one.chance < 0.05 for one in found) <= 60


def test_heavy_tails_make_no_changes() -> None:
    """Errors with three degrees of freedom, at the level for a test of fifty series."""
    rng = np.random.default_rng(3)
    found = [find_change(rng.standard_t(3, size=20).tolist()) for _ in range(2000)]
    assert sum(one is not None and one.chance < 0.001 for one in found) <= 4


def test_a_large_step_is_clear_in_few_values() -> None:
    rng = np.random.default_rng(4)
    found = find_change([*rng.normal(0.0, 0.001, 10), *rng.normal(-0.035, 0.001, 5)])
    assert found is not None
    assert found.index == 10
    assert found.chance < 1e-9


@both
def test_one_outlier_is_no_change(find: Find) -> None:
    found = find([0.0, 0.1, -0.1, 0.05, 100.0, 0.0, 0.1, -0.1, 0.02, 0.03])
    assert found is not None
    assert found.chance > 0.5


@both
def test_too_few_and_equal_values_tell_nothing(find: Find) -> None:
    assert find([0.0, 0.0, 0.0, 9.0, 9.0, 9.0, 9.0]) is None
    assert find([1.0] * 20) is None
