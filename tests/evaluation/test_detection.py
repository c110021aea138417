"""How a run handled injected errors, counted on hand-made rows."""

from __future__ import annotations

import pytest

from syncaudit.evaluation.detection import Detection, Group, detect
from syncaudit.evaluation.injected import Injected
from syncaudit.evaluation.judged import Judged
from syncaudit.evaluation.outcomes import Outcome
from syncaudit.model import Verdict
from testkit.made_verdicts import AT, control, moved, rejected, verdict

# Rounding of sums of a few milliseconds.
SAME_S = 1e-12


def detected(truth: list[dict], rows: list[dict], originals: list[dict] = ()) -> Detection:
    return detect(
        [Injected.from_json(row) for row in truth],
        {row["clip_id"]: Judged.from_row(row) for row in rows},
        {row["clip_id"]: Judged.from_row(row) for row in originals},
    )


def group(found: Detection, source: str | None = None) -> Group:
    (one,) = [each for each in found.groups if each.source == source]
    return one


def outcome(row: dict, before: dict | None = None, **more) -> Outcome | None:
    """Return the outcome of one variant; None where it was not counted."""
    truth = [moved("a~1", "a", 0.02, **more), control("a")]
    rows = [row] if before is None else [row, before]
    groups = detected(truth, rows).groups
    return next(iter(groups[0].by_size[0.02].outcomes)) if groups else None


def test_rejected_with_the_moved_source_named_is_found():
    assert outcome(rejected("a~1", "cam"), verdict("a~control")) is Outcome.FOUND


def test_rejected_with_only_another_named_is_other_blamed():
    assert outcome(rejected("a~1", "imu"), verdict("a~control")) is Outcome.OTHER_BLAMED


def test_contradiction_that_names_nobody_is_other_blamed():
    row = verdict("a~1", "reject", blamed=[None])
    assert outcome(row, verdict("a~control")) is Outcome.OTHER_BLAMED


def test_source_on_the_same_clock_named_is_found():
    row = rejected("a~1", "cam2", cam2={"clock": "cam"})
    assert outcome(row, verdict("a~control"), moved=["cam", "cam2"]) is Outcome.FOUND


def test_clip_held_back_is_unverified():
    row = verdict("a~1", "unverified", blamed=["cam"], cam={"verdict": "unverified"})
    assert outcome(row, verdict("a~control")) is Outcome.UNVERIFIED


def test_clip_that_passes_without_the_moved_source_being_judged_is_told_apart():
    row = verdict("a~1", cam={"verdict": "unverified", "observable": False})
    assert outcome(row, verdict("a~control")) is Outcome.UNJUDGED


def test_clip_that_passes_is_passed():
    assert outcome(verdict("a~1"), verdict("a~control")) is Outcome.PASSED


def test_source_rejected_before_it_was_moved_is_not_counted():
    truth = [moved("a~1", "a", 0.02), control("a")]
    found = detected(truth, [rejected("a~1", "cam"), rejected("a~control", "cam")])
    assert (found.n_variants, found.n_rejected_before, found.groups) == (0, 1, [])


@pytest.mark.parametrize(
    ("blamed", "expected"),
    [(["imu"], Outcome.PASSED), (["imu", "cam"], Outcome.FOUND), (["imu", "x"], "other_blamed")],
)
def test_only_what_is_blamed_anew_counts_in_a_clip_rejected_before(blamed, expected):
    before = rejected("a~control", "imu", x={})
    assert outcome(rejected("a~1", *blamed, x={"verdict": "pass"}), before) == expected


def test_original_stands_in_for_a_control_that_is_missing():
    truth = [moved("a~1", "a", 0.02)]
    rows = [rejected("a~1", "cam")]
    assert detected(truth, rows).n_without_control == 1
    assert detected(truth, rows, [rejected("a", "cam")]).n_rejected_before == 1


def test_rates_of_kind_and_source_by_size():
    truth, rows = [], []
    for k in range(10):
        clip = f"c{k}"
        rows.append(verdict(f"{clip}~control", "unverified" if k == 0 else "pass"))
        rows.append(rejected(f"{clip}~20", "cam") if k < 9 else verdict(f"{clip}~20"))
        rows.append(rejected(f"{clip}~50", "cam"))
        truth += [control(clip), moved(f"{clip}~20", clip, -0.02), moved(f"{clip}~50", clip, 0.05)]
    found = detected([*truth, moved("c0~gone", "c0", 0.1)], rows)
    assert (found.n_variants, found.n_without_verdict) == (20, 1)
    assert found.control_rate(Verdict.UNVERIFIED).share == 0.1
    for one in (group(found), group(found, "cam")):
        small, large = one.sizes
        assert (small.size, small.rate(Outcome.FOUND).share) == (0.02, 0.9)
        assert large.rate(Outcome.FOUND).share == 1.0
        # 0.9 is below 95 %, so only the larger size was found often enough; ten clips prove only 69
        # %.
        assert one.seen_from is large
        assert one.found_from is None
        assert one.clips_to_promise == 62
    row = group(found).to_json()
    assert (row["found_in_95_percent_from"], row["seen_in_95_percent_from"]) == (None, 0.05)
    assert row["clips_to_promise"] == 62


@pytest.mark.parametrize(("n_clips", "is_promised"), [(2, False), (71, False), (72, True)])
def test_what_is_promised_is_the_lower_bound(n_clips, is_promised):
    """At rates below 0.025 ** (1 / 72) = 95.0 %, 72 of 72 hits occur in at most 2.5 % of trials."""
    truth, rows = [], []
    for k in range(n_clips):
        truth += [control(f"c{k}"), moved(f"c{k}~20", f"c{k}", 0.02)]
        rows += [verdict(f"c{k}~control"), rejected(f"c{k}~20", "cam")]
    found = group(detected(truth, rows))
    assert found.seen_from is found.sizes[0]
    assert (found.found_from is not None) is is_promised
    assert found.clips_to_promise == 72 - n_clips


def test_size_missed_above_a_found_one_is_not_reached():
    rows = [rejected("a~1", "cam"), verdict("a~2"), verdict("a~control")]
    truth = [moved("a~1", "a", 0.02), moved("a~2", "a", 0.05), control("a")]
    assert group(detected(truth, rows)).seen_from is None
    assert group(detected(truth, rows)).found_from is None
    assert group(detected(truth, rows)).clips_to_promise == 0


def test_measured_minus_injected():
    truth = [control("a"), moved("a~1", "a", 0.02), moved("a~2", "a", -0.05)]
    rows = [
        verdict("a~control", cam={"offset_s": 0.003}),
        rejected("a~1", "cam", cam={"offset_s": 0.024}),  # 4 ms off, 1 ms more than before
        rejected("a~2", "cam", cam={"offset_s": -0.0485}),  # 1.5 ms off, 1.5 ms less
    ]
    figures = group(detected(truth, rows)).accuracy
    assert figures.n == 2
    assert figures.bias == pytest.approx(0.00275, abs=SAME_S)
    assert figures.rmse == pytest.approx(((0.004**2 + 0.0015**2) / 2) ** 0.5, abs=SAME_S)
    assert (figures.coverage.n_hits, figures.coverage.n) == (1, 2)
    assert figures.change_bias == pytest.approx((0.001 - 0.0015) / 2, abs=SAME_S)
    assert figures.change_rmse == pytest.approx(((0.001**2 + 0.0015**2) / 2) ** 0.5, abs=SAME_S)


def test_another_reference_of_the_variant_changes_no_error():
    # The control's reference is imu, the variant's is can, which was 5 ms early before.
    truth = [control("a"), moved("a~1", "a", 0.02)]
    before = verdict("a~control", cam={"offset_s": 0.003}, can={"offset_s": 0.005})
    after = rejected("a~1", "cam", cam={"offset_s": 0.018}, can={}, imu={"offset_s": -0.005})
    figures = group(detected(truth, [before, after | {"reference": "can"}])).accuracy
    assert figures.change_rmse == pytest.approx(0.0, abs=SAME_S)


def test_moved_reference_is_not_measured():
    truth = [control("a"), moved("a~1", "a", 0.02)]
    after = rejected("a~1", "imu") | {"reference": "cam"}
    assert group(detected(truth, [verdict("a~control"), after])).accuracy.n == 0


def test_drift_is_a_group_of_its_own_and_counts_from_its_anchor():
    at_ns = AT - 10 * 10**9
    slow = moved("a~1", "a", 0.0, drift_ppm=50.0, at_ns=at_ns)
    assert Injected.from_json(slow).offset_at(AT) == pytest.approx(0.0005, abs=SAME_S)
    row = rejected("a~1", "cam", cam={"drift_ppm": 53.0, "drift_std_ppm": 2.0})
    found = group(detected([slow, control("a")], [row, verdict("a~control")]), "cam")
    assert (str(found.quantity), found.sizes[0].size) == ("drift_ppm", 50.0)
    assert found.accuracy.bias == pytest.approx(3.0, abs=1e-9)
    assert found.accuracy.change_bias is None
