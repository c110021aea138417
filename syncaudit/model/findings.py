"""Findings on a clip with their stable reason codes, and the audits of single sources.

An audit holds what one source shows by itself: its timestamps, and faults of its frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from syncaudit.model.field_names import fields_of, known_fields

# Of a message: an error with its hint and path.
_MOST_CHARACTERS = 5000


class ReasonCode(StrEnum):
    """Stable reason codes of the public contract (formats, section 3)."""

    OFFSET = "offset"
    DRIFT = "drift"
    STEP = "step"
    INCONSISTENT = "inconsistent"
    JITTER = "jitter"
    GAP = "gap"
    MISSING_FRAMES = "missing_frames"
    DUPLICATE = "duplicate"
    BACKWARDS = "backwards"
    RATE = "rate"
    UNREADABLE = "unreadable"
    CORRUPT = "corrupt"
    NON_FINITE = "non_finite"
    MISSING_FILE = "missing_file"
    EMPTY = "empty"
    BAD_TEXT = "bad_text"
    LENGTH_MISMATCH = "length_mismatch"
    UNOBSERVABLE = "unobservable"
    TIMEOUT = "timeout"
    MANIFEST = "manifest"


class Severity(StrEnum):
    """Effect of a finding on the verdict."""

    DEFECT = "defect"  # rejects the source
    DOUBT = "doubt"  # rejects nothing, but keeps the source from passing
    WARNING = "warning"  # is reported and decides nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing found wrong, as a sentence and with its figure if it has one.

    Parameters
    ----------
    code : ReasonCode
        Stable code that programs branch on.
    message : str
        Sentence for users: place, what was found, what to do.
    source : str, optional
        Source concerned; None for the clip as a whole.
    value, limit : float, optional
        Measured figure and the limit it broke, in base units.
    severity : Severity
        Whether it rejects, holds a pass back, or only warns.
    """

    code: ReasonCode
    source: str | None = None
    message: str
    value: float | None = None
    limit: float | None = None
    severity: Severity = Severity.DEFECT

    @classmethod
    def warning(
        cls,
        code: ReasonCode,
        source: str | None,
        message: str,
        *,
        value: float | None = None,
        limit: float | None = None,
    ) -> Finding:
        """Return a finding that rejects nothing."""
        return cls(
            code=code,
            source=source,
            message=message,
            value=value,
            limit=limit,
            severity=Severity.WARNING,
        )

    def __post_init__(self) -> None:
        """Truncate excessively long messages."""
        if len(self.message) > _MOST_CHARACTERS:
            object.__setattr__(self, "message", f"{self.message[:_MOST_CHARACTERS]}...")

    @property
    def is_lack(self) -> bool:
        """Whether it reports missing evidence, rather than something wrong."""
        return self.severity is Severity.DOUBT or self.code is ReasonCode.UNOBSERVABLE

    def to_json(self) -> dict[str, object]:
        """Return the fields of formats.md section 3."""
        own = fields_of(self)
        del own["severity"]
        return own | {"code": str(self.code)}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Finding:
        """Return the finding of a verdict row; a row does not hold its severity.

        KeyError, TypeError, ValueError if it is not a finding.
        """
        own = {
            "code": ReasonCode(item["code"]),
            "severity": Severity(item.get("severity", Severity.DEFECT)),
        }
        return cls(**{**known_fields(cls, item), **own})


class ImageFault(StrEnum):
    """Faults that make frames useless for training."""

    FROZEN = "frozen"  # the same image again although time goes on
    BLANK = "blank"  # one colour: black, grey, green, white
    COVERED = "covered"  # noise, and nothing behind it
    WHITE = "white"  # nearly all pixels clipped
    GREY = "grey"  # large parts in the grey that decoders fill in where data are missing
    HALF = "half"  # the lower rows repeat one row
    DAMAGED = "damaged"  # the decoder had to conceal damage, or a reference frame was damaged
    UNDECODED = "undecoded"  # no image came out
    SIZE = "size"  # another size than the first image


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFaultRun:
    """A run of frames with one fault.

    Parameters
    ----------
    fault : ImageFault
        What is wrong.
    first, last : int
        Positions in the file of the first and last of them.
    frames : int
        How many of the frames between show it.
    start_s, stop_s : float
        Their timestamps, counted from the first frame examined.
    duration_s : float
        Frames times the usual period: does not depend on doubtful timestamps.
    level : float, optional
        Luma, for blank and covered frames.
    """

    fault: ImageFault
    first: int
    last: int
    frames: int
    start_s: float
    stop_s: float
    duration_s: float
    level: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageAudit:
    """Faults of the frames of one camera.

    Parameters
    ----------
    frames : int
        Frames decoded.
    counts : mapping of str to int
        Frames with each fault that occurs.
    spells : tuple of ImageFaultRun
        In order of time; at most the 20 longest of each fault.
    errors : int
        Packets and image files that could not be decoded.
    first_error : str, optional
        What was wrong with the first of them.
    new_share : float, optional
        Share of frames that show a new image, if the camera is slower than the file and its
        images are repeated to fill it up; those repeats are not faults of single frames.
    light : float, optional
        Median over the frames of their mean luma, 0 to 255.
    """

    frames: int
    counts: Mapping[str, int] = field(default_factory=dict)
    spells: tuple[ImageFaultRun, ...] = ()
    errors: int = 0
    first_error: str | None = None
    new_share: float | None = None
    light: float | None = None

    def of(self, fault: ImageFault) -> tuple[ImageFaultRun, ...]:
        """Return the spells of one fault."""
        return tuple(spell for spell in self.spells if spell.fault is fault)

    def to_json(self) -> dict[str, object]:
        """Return what `from_json` takes."""
        spells = [asdict(spell) | {"fault": str(spell.fault)} for spell in self.spells]
        return fields_of(self) | {"counts": dict(self.counts), "spells": spells}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> ImageAudit:
        """Return the audit that `to_json` wrote."""
        spells = tuple(
            ImageFaultRun(**{**spell, "fault": ImageFault(spell["fault"])})
            for spell in item["spells"]
        )
        return cls(**{**item, "spells": spells})


@dataclass(frozen=True, slots=True, kw_only=True)
class StampRemark:
    """One observation about the timestamps that is worth a sentence.

    Parameters
    ----------
    code : ReasonCode
        What it is about.
    text : str
        For display.
    is_figure : bool
        Whether it only words, and locates, what the figures of the audit already count.
    is_defect : bool
        Whether no policy could accept it: timestamps in a wrong unit.
    """

    code: ReasonCode
    text: str
    is_figure: bool = False
    is_defect: bool = False

    def to_json(self) -> dict[str, object]:
        """Return what `from_json` takes."""
        return fields_of(self) | {"code": str(self.code)}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> StampRemark:
        """Return the remark that `to_json` wrote."""
        return cls(**{**item, "code": ReasonCode(item["code"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalAudit:
    """Timestamps of a source compared with the times at which the recorder received its samples.

    The delay is receive minus capture timestamp: the transport latency, plus any difference
    between the two clocks.

    Parameters
    ----------
    samples : int
        Samples compared.
    span_s : float
        Time they cover.
    floor_s, floor_std_s : float
        Least delay (median if delays are symmetric) in the middle, and its error.
    spread_s : float
        From the floor to the delay that 95 % of the samples do not exceed.
    drift_ppm, drift_std_ppm : float, optional
        Slope of that floor: what to add to the rate of the capture clock to match the
        recorder's. None if the recording is too short.
    wander_s : float
        Range of the floor about the straight line.
    negative : int
        Samples that were received before they were captured.
    steps : tuple of (int, float)
        (receive timestamp in ns, size in s) of sudden, lasting changes of the delay.
    transport_growth_s : float, optional
        By how much receive minus publish time is longer in the last quarter than in the first.
    """

    samples: int
    span_s: float
    floor_s: float
    floor_std_s: float
    spread_s: float
    drift_ppm: float | None = None
    drift_std_ppm: float | None = None
    wander_s: float = 0.0
    negative: int = 0
    steps: tuple[tuple[int, float], ...] = ()
    transport_growth_s: float | None = None

    def to_json(self) -> dict[str, object]:
        """Return the `arrival` object of a source's `timing` in the verdicts."""
        return fields_of(self) | {"steps": _steps_to_json(self.steps)}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> ArrivalAudit:
        """Return the audit that `to_json` wrote."""
        return cls(**{**known_fields(cls, item), "steps": _steps(item)})


@dataclass(frozen=True, slots=True, kw_only=True)
class StampAudit:
    """Figures of the timestamps alone (design 3.5).

    Parameters
    ----------
    samples : int
        Timestamps.
    rate_hz : float, optional
        Rate estimated from the timestamps; None with fewer than three.
    jitter_s : float, optional
        Robust standard deviation of the timestamps around a regular clock; where that wanders,
        around its neighbourhood. Without a regular clock, the errors of single timestamps as far
        as neighbouring intervals show them; None if they do not.
    jitter_max_s : float, optional
        Largest excursion.
    buffering_s : float, optional
        Mean one-sided delay above the lower hull; None if the jitter is symmetric.
    clock_fit : str, optional
        ``hull`` or ``least_squares``: the fit that the floor test chose.
    gaps, duplicates, backwards, missing, doubled : int
        Gaps in time, equal timestamps, steps back, samples missing in gaps, surplus samples.
    max_gap_s : float, optional
        Longest interval between neighbours; where time is lost, the one that loses most.
    lost_s : float, optional
        Time lost in the longest gap: the excess of its interval over the usual one, if that is at
        least half of it; 0 if there is no gap.
    steps : tuple of (int, float)
        (timestamp in ns, size in s) of steps of the clock against its own rate.
    is_synthetic : bool
        Whether the timestamps lie exactly on index / rate: made up afterwards.
    is_irregular : bool
        Whether there is no regular clock behind the samples: their rate changes, or every interval
        starts where the last one ended. The timestamps may still be true.
    remarks : tuple of StampRemark
        What the figures do not show, and where what they count begins.
    arrival : ArrivalAudit, optional
        Comparison of the timestamps with arrival times, if those are known.
    """

    samples: int
    rate_hz: float | None = None
    jitter_s: float | None = None
    jitter_max_s: float | None = None
    buffering_s: float | None = None
    clock_fit: str | None = None
    gaps: int = 0
    max_gap_s: float | None = None
    lost_s: float | None = None
    duplicates: int = 0
    backwards: int = 0
    missing: int = 0
    doubled: int = 0
    steps: tuple[tuple[int, float], ...] = ()
    is_synthetic: bool = False
    is_irregular: bool = False
    remarks: tuple[StampRemark, ...] = ()
    arrival: ArrivalAudit | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The remarks as text."""
        return tuple(remark.text for remark in self.remarks)

    def to_json(self) -> dict[str, object]:
        """Return the `timing` object of formats.md section 3."""
        own = fields_of(self)
        del own["remarks"]  # kept by the record of the clip
        return own | {
            "steps": _steps_to_json(self.steps),
            "arrival": None if self.arrival is None else self.arrival.to_json(),
        }

    @classmethod
    def from_json(
        cls, item: Mapping[str, Any], remarks: Iterable[Mapping[str, Any]] = ()
    ) -> StampAudit:
        """Return the audit that `to_json` wrote, with the remarks that a row keeps elsewhere."""
        arrival = item.get("arrival")
        own = {
            "steps": _steps(item),
            "arrival": None if arrival is None else ArrivalAudit.from_json(arrival),
            "remarks": tuple(StampRemark.from_json(remark) for remark in remarks),
        }
        return cls(**{**known_fields(cls, item), **own})


def _steps_to_json(steps: tuple[tuple[int, float], ...]) -> list[dict[str, object]]:
    return [{"at_ns": at_ns, "step_s": step_s} for at_ns, step_s in steps]


def _steps(item: Mapping[str, Any]) -> tuple[tuple[int, float], ...]:
    return tuple((step["at_ns"], step["step_s"]) for step in item.get("steps", ()))
