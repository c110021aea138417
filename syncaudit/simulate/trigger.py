"""The trigger log: a line for every pulse that the lamp's driver saw, on its own clock."""

from dataclasses import dataclass, field

from .clocks import ClockFault
from .motion import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerConfig:
    """Describe a logger that stamps the onset of every light pulse.

    Attributes
    ----------
    stamp_jitter_s : float
        Standard deviation of the stamps of a healthy logger.
    clock : ClockFault
    """

    stamp_jitter_s: float = 2e-6
    clock: ClockFault = field(default_factory=ClockFault)

    def logged(self, pulses_s: FloatArray) -> FloatArray:
        """Return the onsets that are logged, true seconds, shape (n,)."""
        return pulses_s[~self.clock.is_in_gap(pulses_s)]
