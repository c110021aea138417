"""The clips of `sample_data`, and what an audit by the default policy finds in them."""

from __future__ import annotations

from functools import cache

from syncaudit.datasets import load_manifest
from syncaudit.model import Clip, ClipVerdict
from syncaudit.pipeline import audit
from testkit.places import SAMPLE_DATA


@cache
def sample_clips() -> dict[str, Clip]:
    """Return the clips by id; callers must not change the dictionary."""
    return {clip.clip_id: clip for clip in load_manifest(str(SAMPLE_DATA / "manifest.jsonl"))}


@cache
def audited_sample(clip_id: str) -> ClipVerdict:
    """Return the verdict of a clip, audited once in a process."""
    return audit(sample_clips()[clip_id])
