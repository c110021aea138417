"""Measure whether the streams of a multimodal recording share one time.

>>> import syncaudit
>>> for clip in syncaudit.load_manifest("manifest.jsonl"):  # doctest: +SKIP
...     print(clip.clip_id, syncaudit.audit(clip).verdict)

Names are loaded when they are first used, so that ``import syncaudit`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncaudit.batch import BatchSummary, run_batch
    from syncaudit.datasets import iter_manifest, load_manifest, write_manifest
    from syncaudit.errors import ClipInputError, SyncAuditError, UsageError
    from syncaudit.model import Clip, ClipVerdict, Finding, ReasonCode, SourceVerdict, Verdict
    from syncaudit.pipeline import Examination, audit, examine
    from syncaudit.policy import Policy, load_policy, profile_names

__version__ = "0.1.0"

__all__ = [
    "BatchSummary",
    "Clip",
    "ClipInputError",
    "ClipVerdict",
    "Examination",
    "Finding",
    "Policy",
    "ReasonCode",
    "SourceVerdict",
    "SyncAuditError",
    "UsageError",
    "Verdict",
    "__version__",
    "audit",
    "examine",
    "iter_manifest",
    "load_manifest",
    "load_policy",
    "profile_names",
    "run_batch",
    "write_manifest",
]

# Where each name lives; imported on first use (PEP 562).
_HOMES = {
    "syncaudit.batch": ("BatchSummary", "run_batch"),
    "syncaudit.datasets": ("iter_manifest", "load_manifest", "write_manifest"),
    "syncaudit.errors": ("ClipInputError", "SyncAuditError", "UsageError"),
    "syncaudit.model": (
        "Clip",
        "ClipVerdict",
        "Finding",
        "ReasonCode",
        "SourceVerdict",
        "Verdict",
    ),
    "syncaudit.pipeline": ("Examination", "audit", "examine"),
    "syncaudit.policy": ("Policy", "load_policy", "profile_names"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a public name from its home."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'syncaudit' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names too, loaded or not."""
    return sorted({*globals(), *__all__})
