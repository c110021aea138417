"""Measurements do not depend on the policy: judging again equals auditing again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from syncaudit.batch import VerdictFile, judge_again, run_batch
from syncaudit.model import SourceKind
from syncaudit.pipeline import conclude
from syncaudit.policy import Baseline, Limits, Policy, load_policy
from testkit.json_lines import read_verdicts
from testkit.sample_audits import sample_clips

POLICY = load_policy()
KINDS = [str(kind) for kind in SourceKind]
STRICT = replace(
    POLICY,
    name="strict",
    kinds={kind: replace(one, offset_s=1e-4) for kind, one in POLICY.kinds.items()},
    required_kinds=frozenset(KINDS),
)
LAX = replace(
    POLICY,
    name="lax",
    kinds={kind: Limits(offset_s=1.0) for kind in KINDS},
    confidence=0.6,
    baseline_only=frozenset({"rotation"}),
)
# A camera not decided by a first look, and quick clips with and without a fault.
WANTED = {
    "drifting_camera": ("cam_rear", "imu"),
    "good": ("imu", "can"),
    "can_shifted": ("imu", "can"),
}

seconds = st.floats(1e-4, 1.0)
unchecked = st.none()
limits = st.builds(
    Limits,
    offset_s=seconds,
    drift_ppm=unchecked | st.floats(1.0, 1e4),
    step_s=unchecked | seconds,
    jitter_s=unchecked | seconds,
    buffering_s=unchecked | seconds,
    max_gap_s=unchecked | seconds,
    missing_share=unchecked | st.floats(0.0, 1.0),
    backwards_share=unchecked | st.floats(0.0, 1.0),
    max_frozen_s=unchecked | seconds,
)
policies = st.builds(
    Policy,
    name=st.just("random"),
    kinds=st.fixed_dictionaries(dict.fromkeys(KINDS, limits)),
    overrides=st.dictionaries(
        st.sampled_from(["imu", "cam_*"]), st.builds(lambda s: {"offset_s": s}, seconds)
    ),
    required_kinds=st.frozensets(st.sampled_from(KINDS)),
    confidence=st.floats(0.51, 0.999),
    max_offset_s=st.just(POLICY.max_offset_s),  # another range is rejected: it is measured again
    baseline_only=st.frozensets(st.sampled_from(["rotation", "yaw_rate", "steering"])),
    baselines=st.dictionaries(
        st.sampled_from(["rotation", "steering"]),
        st.builds(Baseline, offset_s=st.floats(-0.1, 0.1), tolerance_s=unchecked | seconds),
    ),
    preference=st.permutations(KINDS).map(tuple),
)


@pytest.fixture(scope="module")
def clips():
    return [
        replace(clip, sources={name: clip.sources[name] for name in WANTED[clip.clip_id]})
        for clip in sample_clips().values()
        if clip.clip_id in WANTED
    ]


@pytest.fixture(scope="module")
def measured(clips, tmp_path_factory):
    out = tmp_path_factory.mktemp("measured")
    run_batch(clips, POLICY, out=out, workers=0)
    return VerdictFile(out / "verdicts.jsonl")


@settings(max_examples=2, deadline=None)
@example(policy=STRICT)
@example(policy=LAX)
@given(policy=policies)
def test_judging_again_equals_auditing_by_that_policy(measured, clips, policy):
    with TemporaryDirectory() as folder:
        judged, audited = Path(folder, "judged"), Path(folder, "audited")
        judge_again(clips, measured, policy, out=judged)
        run_batch(clips, policy, out=audited, workers=0)
        assert read_verdicts(judged) == read_verdicts(audited)


def test_policies_differ_in_what_they_make_of_it(measured, clips):
    found = {
        policy.name: [
            conclude(clip, measured.verdict(clip.clip_id).record, policy)[1].verdict
            for clip in clips
        ]
        for policy in (POLICY, STRICT, LAX)
    }
    assert len({tuple(verdicts) for verdicts in found.values()}) == len(found)


@settings(max_examples=40, deadline=None)
@given(first=policies, second=policies)
def test_nothing_of_a_policy_stays_in_the_record(measured, clips, first, second):
    for clip in clips:
        record = measured.verdict(clip.clip_id).record
        _, by_first = conclude(clip, record, first)
        _, twice = conclude(clip, by_first.record, second)
        _, once = conclude(clip, record, second)
        assert twice.to_json() == once.to_json()
