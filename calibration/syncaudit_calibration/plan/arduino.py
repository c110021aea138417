"""Write a pulse train as a program for an Arduino."""

from __future__ import annotations

import textwrap

import numpy as np

from syncaudit_calibration.plan.pulse_train import PulseTrain

_SKETCH = """\
// Flash train by syncaudit flash-plan: {n} pulses of {width_us} us in {duration:.0f} s, repeated
// after {marker:.0f} s of dark. Record one round with all cameras, from dark to dark: rounds are
// alike, and two of them could be taken for one another.
//
// Pin 9 drives the LED (through a transistor or a constant-current driver with an enable input; a
// pin alone gives too little light). Pin 8 rises and falls with it: wire it to a logged input.
//
// SAFETY: flashing light can trigger seizures in people with photosensitive epilepsy. Warn everyone
// who may see it, do not look into it, never use it where people drive.

#include <Arduino.h>
#if defined(__AVR__)
#include <avr/pgmspace.h>
#endif

const uint8_t LED_PIN = 9;
const uint8_t TRIGGER_PIN = 8;
const uint32_t WIDTH_US = {width_us}UL;
const uint32_t MARKER_US = {marker_us}UL;  // dark between two rounds
const uint16_t N_PULSES = {n};

// From the start of a pulse to the start of the next, microseconds.
const uint32_t GAPS_US[N_PULSES] PROGMEM = {{
{table}
}};

// When the current pulse begins. Gaps are added to it and not to "now": delays never add up, and
// differences stay right when micros() wraps around after 71 minutes.
uint32_t start_us;

static void wait_until(uint32_t instant_us) {{
  while ((int32_t)(instant_us - (uint32_t)micros()) > 20000L) {{
    delay(1);  // lets the background tasks of larger boards run
  }}
  while ((int32_t)(instant_us - (uint32_t)micros()) > 0L) {{
  }}
}}

static void light(uint8_t level) {{
  digitalWrite(TRIGGER_PIN, level);
  digitalWrite(LED_PIN, level);
}}

void setup() {{
  pinMode(TRIGGER_PIN, OUTPUT);
  pinMode(LED_PIN, OUTPUT);
  light(LOW);
  start_us = (uint32_t)micros();
}}

void loop() {{
  start_us += MARKER_US;
  for (uint16_t k = 0; k < N_PULSES; k++) {{
    start_us += pgm_read_dword(&GAPS_US[k]);
    wait_until(start_us);
    light(HIGH);
    wait_until(start_us + WIDTH_US);
    light(LOW);
  }}
}}
"""
MARKER_S = 5.0


def arduino_code(train: PulseTrain) -> str:
    """Return a program that repeats a train forever, with a long dark time as a marker.

    Times are rounded to whole microseconds; micros() of an Uno has a resolution of 4 us.

    Returns
    -------
    str
        The text of an ``.ino`` file. It needs 4 bytes of flash memory per pulse.
    """
    starts_us = np.rint(train.starts_s * 1e6).astype(np.int64)
    gaps = ", ".join(str(gap) for gap in np.diff(starts_us, prepend=starts_us[:1]))
    return _SKETCH.format(
        n=train.n,
        width_us=round(train.width_s * 1e6),
        duration=train.duration_s,
        marker=MARKER_S,
        marker_us=round(MARKER_S * 1e6),
        table=textwrap.fill(gaps, 96, initial_indent="  ", subsequent_indent="  "),
    )
