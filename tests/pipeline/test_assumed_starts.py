"""An offset of sources without timestamps rests on an assumption: it never passes."""

from __future__ import annotations

import pytest

from syncaudit.model import ClockEstimate, ClockSolution, ReasonCode, Verdict
from syncaudit.policy import load_policy
from syncaudit.policy.recordings import judge_with_recording
from testkit.clip_folder import Folder


def undated(clip: Folder, **fields: object) -> Folder:
    """Return the clip with only the two cameras, dated by their containers from 0."""
    row = clip.keep("cam_front", "cam_rear").row
    for source in row["sources"].values():
        del source["timestamps"]
        source |= {"start_ns": 0, **fields}
    for key in ("start_ns", "end_ns"):
        del row[key]
    return clip.write(row)


def test_assumed_starts_decide_nothing(clip: Folder) -> None:
    """Cameras that begin 24 ms apart are not at fault; at 0 ms that was no evidence either."""
    verdict = undated(clip, is_start_assumed=True).audit()
    assert verdict.verdict is Verdict.UNVERIFIED
    assert {reason.source for reason in verdict.reasons} == {"cam_front", "cam_rear"}
    assert {reason.code for reason in verdict.reasons} == {ReasonCode.MANIFEST}
    assert all("its start is assumed" in reason.message for reason in verdict.reasons)
    assert any(pair.accepted for pair in verdict.pairs)  # it is measured all the same


def test_stated_starts_are_judged(clip: Folder) -> None:
    """Two files of one camera that begin together pass, unless that start was assumed."""
    files = {"uri": "cam_front.mp4"}
    row = undated(clip).row
    row["sources"]["cam_rear"] |= files
    assert clip.write(row).audit().verdict is Verdict.PASS
    for source in row["sources"].values():
        source["is_start_assumed"] = True
    assert clip.write(row).audit().verdict is Verdict.UNVERIFIED


def test_an_assumed_start_vouches_for_nobody(clip: Folder) -> None:
    row = undated(clip).row
    row["sources"]["cam_rear"] |= {"uri": "cam_front.mp4", "is_start_assumed": True}
    verdict = clip.write(row).audit()
    assert verdict.sources["cam_front"].verdict is Verdict.UNVERIFIED
    assert verdict.sources["cam_rear"].verdict is Verdict.UNVERIFIED


def test_a_table_of_stamps_makes_the_start_immaterial(clip: Folder) -> None:
    assert clip.change("cam_rear", is_start_assumed=True).audit().verdict is Verdict.PASS


def test_what_nothing_dates_begins_with_the_others_and_leaves_them_alone(clip: Folder) -> None:
    """A video without a table counts from zero, 56 years before the timestamps of the others."""
    row = clip.row
    for key in ("start_ns", "end_ns"):
        del row[key]
    whole = clip.write(row).audit()
    row["sources"]["cam_rear"] |= {"is_start_assumed": True}
    del row["sources"]["cam_rear"]["timestamps"]
    verdict = clip.write(row).audit()
    assert verdict.at_ns == whole.at_ns
    for name in ("cam_front", "imu"):
        before, after = whole.sources[name], verdict.sources[name]
        assert after.verdict is before.verdict is Verdict.PASS
        assert after.offset_s == pytest.approx(before.offset_s, abs=1e-3)
    assert verdict.sources["cam_rear"].verdict is Verdict.UNVERIFIED
    assert any(pair.accepted and "cam_rear" in (pair.source, pair.target) for pair in verdict.pairs)


def test_no_recording_vouches_for_an_assumed_start(clip: Folder) -> None:
    row = undated(clip).row
    row["sources"]["cam_rear"] |= {"uri": "cam_front.mp4", "is_start_assumed": True}
    name = "cam_rear"
    verdict = clip.write(row).audit()
    pooled = ClockSolution(
        reference="cam_front",
        is_reference_stated=False,
        at_ns=0,
        clocks={
            clock: ClockEstimate(
                clock=clock, is_observable=True, offset_s=0.0, offset_std_s=1e-4, n_measurements=9
            )
            for clock in row["sources"]
        },
    )
    judged = judge_with_recording(clip.clip, verdict, load_policy(), pooled, span_s=12.0, n_clips=9)
    assert judged.sources[name].verdict is Verdict.UNVERIFIED
    assert judged.verdict is Verdict.UNVERIFIED


def test_a_lag_of_samples_that_are_only_numbered_decides_nothing(clip: Folder) -> None:
    verdict = clip.change("cam_rear", stamp_kind="index").audit()
    rear = verdict.sources["cam_rear"]
    assert rear.verdict is Verdict.UNVERIFIED
    assert verdict.sources["cam_front"].verdict is Verdict.PASS
    (reason,) = [reason for reason in verdict.reasons if reason.source == "cam_rear"]
    assert reason.code is ReasonCode.RATE
    assert "numbers are not timestamps" in reason.message
    of_rear = [pair for pair in verdict.pairs if "cam_rear" in (pair.source, pair.target)]
    assert any(
        pair.why == "cam_rear is only numbered: frame numbers are not timestamps"
        for pair in of_rear
    )
    assert not any(pair.accepted for pair in of_rear)
