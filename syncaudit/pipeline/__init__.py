"""From one clip to its verdict: the only place that knows every step."""

from syncaudit.pipeline.alignment import measure_tier
from syncaudit.pipeline.camera_evidence import find_flashes, find_flashes_by_scan
from syncaudit.pipeline.conclude import conclude
from syncaudit.pipeline.data_sets import DataSet
from syncaudit.pipeline.evidence import find_events
from syncaudit.pipeline.examine import Examination, audit, examine, rotations_throughout
from syncaudit.pipeline.reading import ReadClip, read_clip
from syncaudit.pipeline.recordings import Recording, pool_clips

__all__ = [
    "DataSet",
    "Examination",
    "ReadClip",
    "Recording",
    "audit",
    "conclude",
    "examine",
    "find_events",
    "find_flashes",
    "find_flashes_by_scan",
    "measure_tier",
    "pool_clips",
    "read_clip",
    "rotations_throughout",
]
