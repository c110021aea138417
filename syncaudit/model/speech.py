"""The two sides of speech: what a tier states was spoken and when, and what the audio contains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncaudit.model import arrays
from syncaudit.model.arrays import Bools, Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpokenTier:
    """A tier as a sequence of broad phone classes.

    Parameters
    ----------
    source, audio : str
        Transcript, and the microphone that its times refer to.
    tier : str
        Name of the tier.
    start_s, stop_s : ndarray, shape (n,)
        Each sound, in order, disjoint, in seconds of the audio file.
    is_stated : ndarray of bool, shape (n,)
        Whether the tier itself states when the sound starts; else that was guessed (the burst of a
        stop, sounds inside a word).
    classes : tuple of str, length n
        Broad class of each (`syncaudit.speech.phonetics.PhoneClass`).
    is_words : bool
        Whether sounds were spread over words, so that their boundaries are guesses.
    n_labels : int
        Words or phones in the tier, without silences.
    """

    source: str
    audio: str
    tier: str
    start_s: Floats
    stop_s: Floats
    is_stated: Bools
    classes: tuple[str, ...]
    is_words: bool = False
    n_labels: int = 0

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        n = len(self.classes)
        arrays.freeze_columns(self, "start_s", "stop_s", n=n)
        stated = np.asarray(self.is_stated, dtype=np.bool_).view()
        if stated.shape != (n,):
            raise ValueError(f"is_stated must have shape ({n},), got {stated.shape}")
        stated.flags.writeable = False
        object.__setattr__(self, "is_stated", stated)
        if n and float(np.min(self.stop_s - self.start_s)) < 0.0:
            raise ValueError("stop_s must not be before start_s")
        if n > 1 and float(np.min(self.start_s[1:] - self.stop_s[:-1])) < -1e-9:
            raise ValueError("sounds must be in order and disjoint")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BandEnergies:
    """Log energies of audio in frequency bands, at even steps of the audio file.

    Parameters
    ----------
    source : str
        Microphone.
    epoch_ns : int
        Timestamp of second 0 of the audio file, on the microphone's clock.
    start_s : float
        Middle of the first frame, in seconds of the audio file.
    hop_s : float
        From frame to frame.
    values : ndarray, shape (n, d)
        Nepers of energy, finite.
    centres_hz : ndarray, shape (d,)
        Middle of each band.
    """

    source: str
    epoch_ns: int
    start_s: float
    hop_s: float
    values: Floats
    centres_hz: Floats

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        if not self.hop_s > 0.0:
            raise ValueError(f"hop_s must be positive, got {self.hop_s}")
        arrays.freeze_columns(self, "centres_hz")
        arrays.freeze_matrices(self, "values", width=self.centres_hz.size)
