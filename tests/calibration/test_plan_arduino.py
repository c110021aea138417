"""The Arduino program compiles and plays the train on simulated pins to the microsecond."""

import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from syncaudit_calibration.plan import PulseTrain, choose_train, planned_cameras
from syncaudit_calibration.plan.arduino import MARKER_S, arduino_code

STEP_US = 4  # resolution of micros() on an Uno, and of every call on the stub
# A pin changes within three calls of the requested instant: the loop's last check, two writes.
LATE_US = 3 * STEP_US

STUB = """
#pragma once
#include <cstdint>
#include <cstdio>
#define PROGMEM
#define OUTPUT 1
#define LOW 0
#define HIGH 1
#define pgm_read_dword(address) (*(const uint32_t *)(address))
static uint64_t now_us = START_US;
static unsigned long micros() { now_us += 4; return (uint32_t)now_us; }
static void delay(unsigned long ms) { now_us += 1000 * ms; }
static void pinMode(uint8_t, uint8_t) {}
static void digitalWrite(uint8_t pin, uint8_t level) {
  now_us += 4;
  std::printf("%u %u %llu\\n", pin, level, (unsigned long long)(now_us - START_US));
}
"""
MAIN = '#include "flash_train.ino"\nint main() { setup(); loop(); loop(); }\n'


@pytest.fixture(scope="module")
def train() -> PulseTrain:
    cameras = planned_cameras([Fraction(12)], [0.025], [0.008])
    return choose_train(cameras, duration_s=20.0, rng=np.random.default_rng(0))


@pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")
def test_program_plays_the_train_twice_without_drift(train: PulseTrain, tmp_path: Path) -> None:
    (tmp_path / "Arduino.h").write_text(STUB)
    (tmp_path / "flash_train.ino").write_text(arduino_code(train))
    (tmp_path / "main.cpp").write_text(MAIN)
    program = tmp_path / "play"
    start_us = 2**32 - 30_000_000  # micros() wraps around meanwhile
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", f"-DSTART_US={start_us}ULL", "-I."]
    subprocess.run(["g++", *flags, "main.cpp", "-o", program], cwd=tmp_path, check=True)  # noqa: S603, S607
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout  # noqa: S603
    log = np.array([line.split() for line in text.splitlines()], dtype=np.int64)[2:]
    starts_us = np.rint(train.starts_s * 1e6).astype(np.int64)
    once = starts_us - starts_us[0] + round(MARKER_S * 1e6)
    asked = np.concatenate([once, once + once[-1]])
    for pin in (9, 8):
        for level, wanted in ((1, asked), (0, asked + round(train.width_s * 1e6))):
            late_us = log[(log[:, 0] == pin) & (log[:, 1] == level), 2] - wanted
            assert late_us.size == 2 * train.n
            assert late_us.min() >= 0
            assert np.ptp(late_us) <= LATE_US


def test_table_holds_the_gaps(train: PulseTrain) -> None:
    code = arduino_code(train)
    table = re.search(r"PROGMEM = \{(.*?)\}", code, re.DOTALL)
    assert table is not None
    gaps_us = [int(part) for part in table.group(1).split(",")]
    assert gaps_us[0] == 0
    np.testing.assert_allclose(
        np.cumsum(gaps_us) * 1e-6, train.starts_s - train.starts_s[0], rtol=0, atol=1e-6
    )
    assert f"N_PULSES = {train.n};" in code
    assert max(len(line) for line in code.splitlines()) <= 100
    assert code.count("{") == code.count("}")
