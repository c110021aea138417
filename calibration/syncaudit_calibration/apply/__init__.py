"""Write corrected timestamps beside the originals, from a calibration or from verdicts.

An intended offset (``expected_offset_s``) is never removed: it stays in the timestamps and in the
manifest. Verdicts already report the error beyond it; a calibration measures the whole error of a
clock, so the intended offset is subtracted first. In both cases, `validate` of the result finds
no error beyond the intended offset.
"""

from syncaudit_calibration.apply.load import load_corrections
from syncaudit_calibration.apply.outcomes import ClipOutcome
from syncaudit_calibration.apply.rewrite import apply_corrections

__all__ = ["ClipOutcome", "apply_corrections", "load_corrections"]
