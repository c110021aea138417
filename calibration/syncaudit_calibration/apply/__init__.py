"""Write corrected stamps beside the originals: a calibration or verdicts, put to use.

An intended offset (``expected_offset_s``) is never taken off: it stays in the stamps and in the
manifest. Verdicts already speak of what is left beyond it; of a calibration, which measures all
of a clock's error, it is subtracted first. What a `validate` of the result finds is then zero
beyond the intention, as before.
"""

from syncaudit_calibration.apply.corrections import Corrections, SourceCorrection
from syncaudit_calibration.apply.load import load_corrections
from syncaudit_calibration.apply.outcomes import ClipOutcome, SourceOutcome
from syncaudit_calibration.apply.rewrite import apply_corrections

__all__ = [
    "ClipOutcome",
    "Corrections",
    "SourceCorrection",
    "SourceOutcome",
    "apply_corrections",
    "load_corrections",
]
