"""Prior band energies of each broad class of speech sound, in nine bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from syncaudit.model.arrays import Floats, Ints
from syncaudit.speech.phonetics import PhoneClass

# Weight of the templates against the clip's own frames of a class.
PRIOR_FRAMES = 20.0

CLASSES = tuple(PhoneClass)

# Centres of the nine bands of sound sampled at 16 kHz or faster.
_CENTRES_HZ = (295.0, 547.0, 870.0, 1284.0, 1816.0, 2499.0, 3374.0, 4497.0, 5938.0)
# Nepers of energy over the mean of a clip, rounded means of one recording of read English and of
# espeak-ng in four languages; they agree within about 1 neper.
_TEMPLATES: Mapping[PhoneClass, Sequence[float]] = MappingProxyType(
    {
        PhoneClass.VOWEL: (2.2, 2.6, 2.0, 2.0, 2.1, 2.1, 2.0, 1.1, 0.1),
        PhoneClass.NASAL: (1.6, 0.7, 0.0, 0.0, -0.2, 0.0, -0.4, -0.6, -0.7),
        PhoneClass.APPROXIMANT: (2.0, 2.0, 0.8, 1.2, 0.9, 0.7, 1.1, 0.3, -0.4),
        PhoneClass.SIBILANT: (-2.0, -2.0, -1.3, -1.0, -0.4, 0.1, 1.1, 3.7, 5.0),
        PhoneClass.FRICATIVE: (-0.6, -1.0, -0.9, -0.6, -0.7, -0.3, -0.4, 0.0, 0.8),
        PhoneClass.PLOSIVE: (-1.0, -1.0, -0.7, -0.5, -0.1, -0.1, -0.2, 0.4, 1.2),
        PhoneClass.CLOSURE: (-1.7, -1.7, -1.2, -1.4, -1.3, -1.3, -1.4, -1.2, -0.9),
        PhoneClass.SILENCE: (-3.5, -3.7, -2.5, -3.0, -3.3, -3.6, -3.8, -3.5, -2.8),
        PhoneClass.SPEECH: (1.0, 1.0, 0.6, 0.7, 0.7, 0.6, 0.6, 0.6, 0.5),
    }
)


def class_codes(classes: Sequence[str]) -> Ints:
    """Return the position of every class in `CLASSES`, shape (n,)."""
    code = {str(manner): k for k, manner in enumerate(CLASSES)}
    return np.array([code[manner] for manner in classes], dtype=np.int64)


def prior_means(centres_hz: Floats, scale: float) -> Floats:
    """Return the expected band energies of every class over the mean, shape (n_classes, d).

    Parameters
    ----------
    centres_hz : ndarray, shape (d,)
        Centres of the bands; low sampling rates have lower ones.
    scale : float
        Standard deviation of the clip's energies over that of clean speech: noise fills the pauses
        and brings all classes closer together.
    """
    rows = [np.interp(centres_hz, _CENTRES_HZ, _TEMPLATES[manner]) for manner in CLASSES]
    return scale * np.array(rows)
