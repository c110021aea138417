"""Variants derived from measurements are those that would have been measured."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from syncaudit.errors import UsageError
from syncaudit.evaluation.change import Change, Quantity, parse_changes
from syncaudit.evaluation.replay import replayed_record
from syncaudit.evaluation.variants import Judging, make_variants, moved_record
from syncaudit.model import ClipRecord, Verdict
from syncaudit.pipeline import Examination, conclude, examine
from testkit.judged_clips import GOOD, POLICY, judge_measured
from testkit.measured_pairs import pair
from testkit.sample_audits import sample_clips

# Two ways of shifting timestamps may differ by this: timestamps are whole nanoseconds.
ROUNDING_S = 1e-8


def record_of(*pairs: object) -> ClipRecord:
    record = judge_measured(pairs or GOOD).record  # type: ignore[arg-type]  # measurements
    assert record is not None
    return record


def offsets(record: ClipRecord) -> list[float]:
    return [pair.offset_s or 0.0 for pair in record.measurements]


def test_early_stamps_raise_the_offset_of_their_source() -> None:
    moved = moved_record(record_of(), ("cam_rear",), 0.02)
    assert offsets(moved) == pytest.approx([0.0002, 0.0199, 0.001], abs=ROUNDING_S)


def test_early_stamps_of_a_target_lower_the_offset() -> None:
    moved = moved_record(record_of(), ("imu",), 0.02)
    assert offsets(moved) == pytest.approx([-0.0198, -0.0201, 0.021], abs=ROUNDING_S)


def test_two_sources_of_one_clock_stay_together() -> None:
    moved = moved_record(record_of(), ("imu", "can"), 0.02)
    assert offsets(moved)[2] == pytest.approx(0.001, abs=ROUNDING_S)


def test_moving_there_and_back_changes_nothing() -> None:
    record = record_of()
    back = moved_record(moved_record(record, ("cam_front",), 0.05), ("cam_front",), -0.05)
    assert offsets(back) == pytest.approx(offsets(record), abs=ROUNDING_S)
    assert [p.at_ns for p in back.measurements] == [p.at_ns for p in record.measurements]


def test_what_leaves_the_range_of_the_search_is_refused() -> None:
    record = record_of(pair("cam_front", "imu", 1.9))
    (found,) = moved_record(record, ("cam_front",), 0.2).measurements
    assert not found.accepted
    assert "beyond the 2 s" in (found.why or "")


def test_clocks_of_other_epochs_stay_measured() -> None:
    record = record_of(pair("cam_front", "imu", -947848.6))
    (found,) = moved_record(record, ("cam_front",), 0.2).measurements
    assert found.accepted
    assert found.offset_s == pytest.approx(-947848.4, abs=ROUNDING_S)


@pytest.mark.parametrize("word", ["offset=0", "lost=1.5", "wobble=3", "step=x", "drift=-0"])
def test_errors_that_are_none_are_refused(word: str) -> None:
    with pytest.raises(UsageError, match=r"expected a number|names no error"):
        parse_changes([word])


def test_errors_have_both_signs_where_that_makes_two() -> None:
    found = Counter(c.quantity for c in parse_changes(["offset=5,10", "jitter=5", "lost=2"]))
    assert found == {Quantity.OFFSET: 4, Quantity.JITTER: 1, Quantity.LOST: 1}


@pytest.fixture(scope="module")
def seen() -> Examination:
    """Return a rear camera, an IMU and a bus of a drive that share one time."""
    clip = sample_clips()["good"]
    sources = {name: clip.sources[name] for name in ("cam_rear", "imu", "can")}
    return examine(replace(clip, sources=sources), is_thorough=True)


def changed(seen: Examination, source: str, quantity: Quantity, amount: float) -> ClipRecord:
    change = Change(quantity=quantity, amount=amount)
    return replayed_record(seen, (source,), change, np.random.default_rng(0))


def test_a_moved_record_is_what_is_measured_of_moved_stamps(seen: Examination) -> None:
    """The same 20 ms: once in the figures, once in timestamps and evidence, which are measured."""
    assert seen.verdict.record is not None
    for source in ("cam_rear", "can"):
        moved = moved_record(seen.verdict.record, (source,), 0.02)
        measured = changed(seen, source, Quantity.OFFSET, 0.02)
        for one, other in zip(moved.measurements, measured.measurements, strict=True):
            assert one.accepted == other.accepted
            if one.offset_s is not None and one.offset_std_s is not None:
                # Iterations stop within a fraction of the error.
                assert other.offset_s == pytest.approx(one.offset_s, abs=0.1 * one.offset_std_s)


def test_variants_are_as_uncertain_as_the_stamps(seen: Examination) -> None:
    vague = replace(seen.clip.sources["imu"], stamp_std_s=0.003)
    clip = replace(seen.clip, sources={**seen.clip.sources, "imu": vague})
    found = changed(replace(seen, clip=clip), "cam_rear", Quantity.OFFSET, 0.02).measurements
    of_imu = [one.offset_std_s for one in found if "imu" in (one.source, one.target)]
    assert all(std_s is None or std_s >= 0.003 for std_s in of_imu)
    assert any(of_imu)


@pytest.mark.parametrize(
    ("source", "quantity", "amount", "said"),
    [
        ("cam_rear", Quantity.STEP, 0.05, "cam_rear jumps"),
        ("cam_rear", Quantity.LOST, 2, "exactly 2 frame periods, likely 2 frames lost"),
        ("cam_rear", Quantity.DRIFT, 800.0, "cam_rear drifts"),
        ("imu", Quantity.JITTER, 0.01, "imu jitters by"),
    ],
)
def test_errors_are_found_for_what_they_are(
    seen: Examination, source: str, quantity: Quantity, amount: float, said: str
) -> None:
    _, verdict = conclude(seen.clip, changed(seen, source, quantity, amount), POLICY)
    assert verdict.verdict is Verdict.REJECT
    assert any(said in reason.message for reason in verdict.reasons), verdict.reasons


def test_variants_of_a_run_are_drawn_evenly_and_judged(seen: Examination) -> None:
    record = seen.verdict.record
    assert record is not None
    changes = parse_changes(["offset=60"])
    drawn = make_variants(
        [(seen.clip, record)], changes, np.random.default_rng(1), n_variants=6, policy=POLICY
    )
    judging = Judging(drawn)
    judged = judging.by(POLICY)
    assert Counter(row.source for row in judging.truth) == {
        None: 1, "cam_rear": 2, "imu": 2, "can": 2,
    }  # fmt: skip
    assert {str(one.verdict) for name, one in judged.items() if "~control" not in name} == {
        "reject"
    }
