"""Types passed between the pipeline steps; numpy only, no behaviour beyond checks."""

from syncaudit.model.arrays import MOST_VALUE, is_usable
from syncaudit.model.audits import (
    ArrivalAudit,
    ImageAudit,
    ImageFault,
    ImageFaultRun,
    StampAudit,
    StampRemark,
)
from syncaudit.model.camera import Distortion
from syncaudit.model.clip import (
    SPEC_OF_KIND,
    AudioSpec,
    CameraSpec,
    CanSpec,
    Clip,
    EventsSpec,
    ImuSpec,
    Origin,
    SourceKind,
    SourceSpec,
    StateSpec,
    TranscriptSpec,
    clock_of,
)
from syncaudit.model.clock_map import ClockMap
from syncaudit.model.clocks import (
    ClockCourse,
    ClockEstimate,
    ClockJump,
    ClockSolution,
    CourseStep,
    EdgeResidual,
    LoopClosure,
)
from syncaudit.model.common_offsets import CommonOffset, CommonOffsets, DataSetClocks
from syncaudit.model.evidence import (
    Activity,
    EventTrain,
    Evidence,
    FlashEdges,
    FlashIntervals,
    ImageMotion,
    Quantity,
    RotationIncrements,
)
from syncaudit.model.evidence.clip_evidence import ClipEvidence
from syncaudit.model.excerpt import SignalExcerpt
from syncaudit.model.finding import Finding, ReasonCode, Severity
from syncaudit.model.measurement import PairMeasurement
from syncaudit.model.pair_evidence import AgreementCurve, EventResiduals, PairEvidence
from syncaudit.model.record import ClipRecord
from syncaudit.model.speech import BandEnergies, SpokenTier
from syncaudit.model.stream import (
    Arrivals,
    AudioStream,
    CameraStream,
    Channel,
    EventStream,
    FrameFiles,
    Interval,
    SignalStream,
    Stream,
    Tier,
    TranscriptStream,
)
from syncaudit.model.time import nanoseconds, seconds_since
from syncaudit.model.verdict import ClipVerdict, SourceVerdict, Verdict

__all__ = [
    "MOST_VALUE",
    "SPEC_OF_KIND",
    "Activity",
    "AgreementCurve",
    "ArrivalAudit",
    "Arrivals",
    "AudioSpec",
    "AudioStream",
    "BandEnergies",
    "CameraSpec",
    "CameraStream",
    "CanSpec",
    "Channel",
    "Clip",
    "ClipEvidence",
    "ClipRecord",
    "ClipVerdict",
    "ClockCourse",
    "ClockEstimate",
    "ClockJump",
    "ClockMap",
    "ClockSolution",
    "CommonOffset",
    "CommonOffsets",
    "CourseStep",
    "DataSetClocks",
    "Distortion",
    "EdgeResidual",
    "EventResiduals",
    "EventStream",
    "EventTrain",
    "EventsSpec",
    "Evidence",
    "Finding",
    "FlashEdges",
    "FlashIntervals",
    "FrameFiles",
    "ImageAudit",
    "ImageFault",
    "ImageFaultRun",
    "ImageMotion",
    "ImuSpec",
    "Interval",
    "LoopClosure",
    "Origin",
    "PairEvidence",
    "PairMeasurement",
    "Quantity",
    "ReasonCode",
    "RotationIncrements",
    "Severity",
    "SignalExcerpt",
    "SignalStream",
    "SourceKind",
    "SourceSpec",
    "SourceVerdict",
    "SpokenTier",
    "StampAudit",
    "StampRemark",
    "StateSpec",
    "Stream",
    "Tier",
    "TranscriptSpec",
    "TranscriptStream",
    "Verdict",
    "clock_of",
    "is_usable",
    "nanoseconds",
    "seconds_since",
]
