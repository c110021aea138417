"""Batches of clips with fake audits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from syncaudit.batch import BatchSummary, run_batch
from testkit.fake_audits import POLICY, audit, make_clip


def run_faked(ids: Iterable[str], out: Path, **options: Any) -> BatchSummary:
    """Run clips with these ids through `fake_audits.audit` in this process, or per `options`."""
    options = {"policy": POLICY, "workers": 0, "audit": audit} | options
    return run_batch([make_clip(name) for name in ids], options.pop("policy"), out=out, **options)
