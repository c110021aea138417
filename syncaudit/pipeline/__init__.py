"""From one clip to its verdict: the only place that knows every step."""

from syncaudit.pipeline.examine import Examination, audit, examine

__all__ = ["Examination", "audit", "examine"]
