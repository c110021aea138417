"""The lights that people have, and which pulses each can give."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["HAND_LIGHTS", "Light", "LightKind"]


class LightKind(StrEnum):
    """Name what flashes."""

    LED = "led"
    SPEEDLIGHT = "speedlight"
    TORCH = "torch"
    SCREEN = "screen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Light:
    """Describe a light that somebody fires by hand.

    Parameters
    ----------
    kind : LightKind
    words : str
        How to use it, after the number of times.
    shortest_s, usual_s, longest_s : float
        How long it is on.
    least_dark_s, dark_spread_s : float
        How long it must be dark in between, and by how much more, at random.
    """

    kind: LightKind
    words: str
    shortest_s: float
    usual_s: float
    longest_s: float
    least_dark_s: float
    dark_spread_s: float

    @property
    def has_edges(self) -> bool:
        """Return whether it is on for longer than exposures: its going on and off are dated."""
        return self.shortest_s >= 0.1


HAND_LIGHTS = {
    light.kind: light
    for light in (
        # Half-power pulses last 0.3 to 2 ms, those of 1/128 power 0.05 ms; capacitors are full
        # again after a second or two.
        Light(
            kind=LightKind.SPEEDLIGHT,
            words="by the test button: manual mode at half to full power (no preflash, no "
            "high-speed sync), 0.3 to 5 ms each",
            shortest_s=5e-5,
            usual_s=1e-3,
            longest_s=5e-3,
            least_dark_s=1.5,
            dark_spread_s=1.5,
        ),
        # Hands switch within 0.2 s at best.
        Light(
            kind=LightKind.TORCH,
            words="on and off by its switch, not by a hand before it; on for 0.3 to 1 s, never "
            "twice alike",
            shortest_s=0.3,
            usual_s=0.6,
            longest_s=1.0,
            least_dark_s=0.4,
            dark_spread_s=1.0,
        ),
    )
}
