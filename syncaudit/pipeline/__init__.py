"""From one clip to its verdict: the only place that knows every step."""

from syncaudit.pipeline.evidence import ClipEvidence, find_events
from syncaudit.pipeline.examine import Examination, audit, examine
from syncaudit.pipeline.reading import ReadClip, read_clip
from syncaudit.pipeline.tiers import measure_tier

__all__ = [
    "ClipEvidence",
    "Examination",
    "ReadClip",
    "audit",
    "examine",
    "find_events",
    "measure_tier",
    "read_clip",
]
