"""From one clip to its verdict: the only place that knows every step."""

from syncaudit.pipeline.evidence import ClipEvidence, find_events
from syncaudit.pipeline.examine import Examination, audit, examine
from syncaudit.pipeline.reading import ReadClip, read_clip

__all__ = [
    "ClipEvidence",
    "Examination",
    "ReadClip",
    "audit",
    "examine",
    "find_events",
    "read_clip",
]
