"""Measurements do not depend on the policy: judging again gives the same as auditing again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from syncaudit.model import Clip, ClipVerdict
from syncaudit.pipeline import audit, conclude
from syncaudit.policy import Limits, Policy, load_policy
from testkit.sample_audits import audited_sample, sample_clips

# Good, off by 35 ms, drifting and with lost frames: each causes a different camera analysis.
CLIPS = ("synthetic_stamps", "cam_rear_early", "drifting_camera", "dropped_frames")
N_POLICIES = 40


def random_policies(n: int, seed: int) -> Iterator[Policy]:
    """Yield policies whose every limit is anywhere from strict to lax, or off."""
    rng = np.random.default_rng(seed)
    profiles = ("driving", "strict", "vla", "speech")
    for k in range(n):
        base = load_policy(profile=profiles[k % len(profiles)])
        kinds = {}
        for kind, limits in base.kinds.items():
            changed: dict[str, float | None] = {}
            for one in fields(Limits):
                value = getattr(limits, one.name)
                if value:
                    changed[one.name] = float(value * 10.0 ** rng.uniform(-1.5, 1.5))
                    if one.name != "offset_s" and rng.random() < 0.2:
                        changed[one.name] = None
            kinds[kind] = replace(limits, **changed)  # type: ignore[arg-type]  # names are its own
        required = frozenset(kind for kind in kinds if rng.random() < 0.5)
        yield replace(
            base,
            name=f"random {k}",
            kinds=kinds,
            required_kinds=required,
            confidence=float(rng.uniform(0.6, 0.999)),
            preference=tuple(rng.permutation(sorted(kinds))),
            max_offset_s=2.0,
        )


def said(verdict: ClipVerdict) -> Mapping[str, Any]:
    """Return the row of a verdict without CPU times."""
    row: dict[str, Any] = json.loads(json.dumps(verdict.to_json()))
    return row | {"seconds": None, "stages": None}


def judged_again(clip: Clip, verdict: ClipVerdict, policy: Policy) -> Mapping[str, Any]:
    """Return the row that `syncaudit judge` makes from a row."""
    record = ClipVerdict.from_row(json.loads(json.dumps(verdict.to_json()))).record
    assert record is not None
    return said(conclude(clip, record, policy)[1])


@pytest.mark.parametrize(
    ("name", "policy"),
    [*zip(CLIPS, (load_policy(profile="strict"), *random_policies(3, seed=2)), strict=True)],
    ids=CLIPS,
)
def test_judging_again_gives_what_an_audit_gives(name: str, policy: Policy) -> None:
    clip = sample_clips()[name]
    assert judged_again(clip, audited_sample(name), policy) == said(audit(clip, policy))


@pytest.mark.parametrize("name", CLIPS)
def test_a_detour_by_another_policy_changes_nothing(name: str) -> None:
    """The record left by an audit is the same for every policy."""
    clip, measured = sample_clips()[name], audited_sample(name)
    back = load_policy()
    for policy in random_policies(N_POLICIES, seed=7):
        _, detour = conclude(clip, measured.record, policy)
        assert judged_again(clip, detour, back) == said(measured)
