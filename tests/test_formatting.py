"""Wording of offsets, durations and drifts."""

from __future__ import annotations

import math

import pytest

from syncaudit.formatting import word_count, word_drift, word_duration, word_measure, word_offset


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 ms"),
        (0.0351, "35.1 ms"),
        (0.010, "10 ms"),
        (0.25, "250 ms"),
        (0.9996, "1000 ms"),
        (1.0, "1 s"),
        (123456.0, "123456 s"),
        (0.00042, "0.42 ms"),
        (0.000042, "42 us"),
        (1.5e-7, "0.15 us"),
        (-0.0351, "-35.1 ms"),
        (math.inf, "inf s"),
    ],
)
def test_duration(seconds: float, words: str) -> None:
    assert word_duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "std_s", "words"),
    [
        (0.0351, 0.0006, "35.1 ± 0.6 ms"),
        (0.0351, 0.00012, "35.10 ± 0.12 ms"),
        (-0.0351, 0.004, "35 ± 4 ms"),
        (0.0, 0.0003, "0.0 ± 0.3 ms"),
        (0.00002, 0.000007, "20 ± 7 us"),
        (1e6, 3.0, "1000000 ± 3 s"),
        (0.0351, None, "35.1 ms"),
        (0.0351, 0.0, "35.1 ms"),
        (0.0351, 0.00099, "35.1 ± 1.0 ms"),
        (0.04, 0.0012, "40.0 ± 1.2 ms"),
        (0.5, 0.12, "500 ± 120 ms"),
    ],
)
def test_measure(seconds: float, std_s: float | None, words: str) -> None:
    assert word_measure(seconds, std_s) == words


def test_offset_in_words() -> None:
    assert word_offset("cam_rear", 0.0351, 0.0006) == "cam_rear timestamps 35.1 ± 0.6 ms early"
    assert word_offset("cam_rear", -0.0332, 0.0009) == "cam_rear timestamps 33.2 ± 0.9 ms late"
    assert word_offset("imu", 0.0) == "imu timestamps 0 ms early"


@pytest.mark.parametrize(
    ("ppm", "std", "words"),
    [
        (19.8, 3.1, "20 ± 3 ppm (71.3 ms/h)"),
        (-19.8, 0.31, "-19.8 ± 0.3 ppm (-71.3 ms/h)"),
        (100.0, None, "100 ppm (360 ms/h)"),
    ],
)
def test_drift(ppm: float, std: float | None, words: str) -> None:
    assert word_drift(ppm, std) == words


def test_count() -> None:
    assert word_count(1, "gap") == "1 gap"
    assert word_count(2, "gap") == "2 gaps"
    assert word_count(0, "gap") == "0 gaps"
