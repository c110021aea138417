"""Commonly available lights and the pulses that they can produce."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LightKind(StrEnum):
    """Kind of light."""

    LED = "led"
    SPEEDLIGHT = "speedlight"
    TORCH = "torch"
    SCREEN = "screen"

    @property
    def stays_on(self) -> bool:
        """Return whether it stays on for longer than exposures, so that its edges are dated."""
        return self in (LightKind.TORCH, LightKind.SCREEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Light:
    """A light that is fired by hand."""

    words: str  # how to use it, following the number of times
    # How long it is on.
    shortest_s: float
    usual_s: float
    longest_s: float
    # Minimum dark time in between, and the range of the random time added to it.
    least_dark_s: float
    dark_spread_s: float


HAND_LIGHTS = {
    # Half-power pulses last 0.3 to 2 ms, those at 1/128 power 0.05 ms; capacitors recharge in one
    # or two seconds.
    LightKind.SPEEDLIGHT: Light(
        words="with the test button: manual mode at half to full power (no preflash, no "
        "high-speed sync), 0.3 to 5 ms each",
        shortest_s=5e-5,
        usual_s=1e-3,
        longest_s=5e-3,
        least_dark_s=1.5,
        dark_spread_s=1.5,
    ),
    # Switching by hand takes at least 0.2 s.
    LightKind.TORCH: Light(
        words="on and off by its switch, not by covering it; on for 0.3 to 1 s, a different "
        "time each",
        shortest_s=0.3,
        usual_s=0.6,
        longest_s=1.0,
        least_dark_s=0.4,
        dark_spread_s=1.0,
    ),
}
