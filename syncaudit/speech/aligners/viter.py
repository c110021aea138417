"""Align with viter (extra ``viter``), which reads MFA models and its own without Kaldi.

It includes no model: users name their own, with its dictionary, in environment variables.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.errors import AlignmentError, MissingExtraError, SyncAuditError, UsageError
from syncaudit.model import Interval
from syncaudit.speech.aligners.alignment import (
    Alignment,
    Utterance,
    align_each,
    aligned_tiers,
    refuse_unusable,
    remarks_on_unknown,
)

MODEL_VARIABLE = "SYNCAUDIT_VITER_MODEL"
DICTIONARY_VARIABLE = "SYNCAUDIT_VITER_DICTIONARY"


class ViterAligner:
    """Align with viter; see `syncaudit.speech.aligners.alignment.Aligner`."""

    name = "viter"

    def unavailable_reason(self, language: str, *, is_phones: bool) -> SyncAuditError | None:  # noqa: ARG002  # its model decides the language
        """Return why it is unavailable: not installed, no model named, phones given."""
        if importlib.util.find_spec("viter") is None:
            return MissingExtraError("viter", extra="viter", purpose="Alignment with an MFA model")
        if is_phones:
            return UsageError("viter takes words, not phones", hint="Use pocketsphinx for phones.")
        for variable in (MODEL_VARIABLE, DICTIONARY_VARIABLE):
            path = os.environ.get(variable, "")
            if not path:
                return UsageError(
                    "viter has no built-in model",
                    hint=f"Name an MFA (.zip) or viter model in {MODEL_VARIABLE} and its "
                    f"dictionary in {DICTIONARY_VARIABLE}.",
                )
            if not Path(path).exists():
                return UsageError(f"{variable} is '{path}', which does not exist")
        return None

    def align(self, utterances: Sequence[Utterance]) -> list[Alignment | AlignmentError]:
        """Align utterances one after the other."""
        return align_each(self._align, utterances)

    @cached_property
    def _model(self) -> Any:
        import viter

        path, dictionary = os.environ[MODEL_VARIABLE], os.environ[DICTIONARY_VARIABLE]
        try:
            if not path.lower().endswith(".zip"):
                return viter.Model(path, dict=dictionary, cpu=True)
            with tempfile.TemporaryDirectory(prefix="syncaudit-viter-") as folder:
                converted = Path(folder) / "model.viter"
                viter.import_mfa(path, out=converted)
                return viter.Model(converted, dict=dictionary, cpu=True)
        except viter.ViterError as error:
            raise AlignmentError(f"viter cannot load {path}: {error}") from error

    def _align(self, utterance: Utterance) -> Alignment:
        import viter

        refuse_unusable(utterance)
        samples = np.ascontiguousarray(utterance.samples, dtype=np.float32)
        try:
            # Its dictionaries are lower case.
            found = self._model.align(
                samples,
                " ".join(utterance.words).lower(),
                sample_rate=round(utterance.rate_hz),
                beam=100.0,
                retry_beam=400.0,
            )
        except viter.ViterError as error:
            raise AlignmentError(f"{utterance.name}: viter could not align it: {error}") from error
        words, phones = aligned_tiers(
            utterance.name,
            [Interval(start_s=one.start, stop_s=one.end, label=one.label) for one in found.words],
            [Interval(start_s=one.start, stop_s=one.end, label=one.label) for one in found.phones],
        )
        return Alignment(
            aligner=f"viter {metadata.version('viter')}",
            words=words,
            phones=phones,
            remarks=remarks_on_unknown(utterance.name, words, phones),
        )
