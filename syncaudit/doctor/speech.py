"""Find the aligners: the Montreal Forced Aligner and pocketsphinx."""

from __future__ import annotations

import shlex

from syncaudit.doctor.isolated import ask_python
from syncaudit.doctor.symptom import Status, Symptom
from syncaudit.errors import SyncAuditError
from syncaudit.speech.aligners.mfa.program import find_mfa


def probe_speech() -> list[Symptom]:
    """Return which aligners answer."""
    return [_pocketsphinx(), _mfa()]


def _pocketsphinx() -> Symptom:
    answer = ask_python(
        "import pocketsphinx; pocketsphinx.get_model_path('en-us'); print('model en-us')"
    )
    if answer.is_ok:
        return Symptom("pocketsphinx", Status.OK, answer.said)
    return Symptom(
        "pocketsphinx", Status.ABSENT, answer.said, cure="pip install 'syncaudit[speech]'"
    )


def _mfa() -> Symptom:
    found = find_mfa()
    if isinstance(found, SyncAuditError):
        return Symptom("MFA", Status.ABSENT, found.message, cure=str(found.hint or ""))
    return Symptom("MFA", Status.OK, f"{found.version} (called by: {shlex.join(found.command)})")
