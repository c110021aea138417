"""Whole clips get the verdict that their simulated truth deserves."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.model import ClipVerdict, Verdict
from syncaudit.policy import load_policy
from syncaudit.simulate import ClockFault

# For a clock without fault: errors of a 12 s clip at 320 x 180 stay below a millisecond or two;
# this is 4 sigma of the poorest of them, far below the limit of 10 ms.
NEAR_S = 0.004
# Invariance: the same figures except for the rounding of reordered float arithmetic.
SAME_S = 1e-5


def codes(verdict: ClipVerdict) -> list[tuple[str, str | None]]:
    return [(str(reason.code), reason.source) for reason in verdict.reasons]


def offsets(verdict: ClipVerdict) -> dict[str, float]:
    """Return the known offsets, in seconds, relative to the IMU."""
    known = {
        name: source.offset_s
        for name, source in verdict.sources.items()
        if source.offset_s is not None
    }
    return {name: offset - known["imu"] for name, offset in known.items()}


def test_healthy_clip_passes_with_honest_figures(healthy: ClipVerdict) -> None:
    assert healthy.verdict is Verdict.PASS
    assert healthy.reasons == ()
    for name, offset in offsets(healthy).items():
        std = healthy.sources[name].offset_std_s
        assert std is not None
        assert abs(offset) < NEAR_S
        assert std < NEAR_S
    assert all(pair.why for pair in healthy.pairs if not pair.accepted)
    assert {"read", "stamps", "decode", "detect", "estimate", "solve"} == set(healthy.stages)
    assert healthy.seconds > 0.0


def test_warnings_of_a_healthy_clip_are_few(healthy: ClipVerdict) -> None:
    # The microphone may detect no bump; nothing else deserves a remark.
    assert {warning.source for warning in healthy.warnings} <= {"mic"}


@pytest.mark.parametrize(
    ("source", "clock", "code", "offset_s"),
    [
        ("cam_rear", ClockFault(offset_s=0.035), "offset", 0.035),
        ("cam_rear", ClockFault(offset_s=-0.060), "offset", -0.060),
        ("can", ClockFault(offset_s=-0.080), "offset", -0.080),
        ("cam_rear", ClockFault(drift_ppm=5000.0), "drift", None),
        ("cam_rear", ClockFault(step_at_s=6.0, step_by_s=0.060), "step", None),
        ("cam_rear", ClockFault(jitter_std_s=0.012), "jitter", None),
        ("cam_rear", ClockFault(delay_mean_s=0.010), "jitter", None),
        ("can", ClockFault(gaps_s=((5.0, 6.5),)), "gap", None),
        ("cam_rear", ClockFault(duplicate_stamps=(30, 60)), "duplicate", None),
        ("cam_rear", ClockFault(backwards_stamps=(30,)), "backwards", None),
        ("imu", ClockFault(gaps_s=((5.0, 5.6),)), "gap", None),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_each_fault_is_rejected_with_its_code(faulty, source, clock, code, offset_s) -> None:
    verdict = faulty(**{source: clock}).audit()
    assert verdict.verdict is Verdict.REJECT
    assert (code, source) in codes(verdict)
    assert {name for _, name in codes(verdict)} == {source}
    if offset_s is not None:
        assert offsets(verdict)[source] == pytest.approx(offset_s, abs=NEAR_S)


def test_shifted_imu_is_named_and_not_everybody_else(faulty) -> None:
    verdict = faulty(imu=ClockFault(offset_s=-0.040)).audit()
    assert codes(verdict) == [("offset", "imu")]
    assert verdict.sources["imu"].offset_s == pytest.approx(-0.040, abs=NEAR_S)
    assert verdict.reference != "imu"


def test_made_up_stamps_are_a_warning(faulty) -> None:
    verdict = faulty(cam_rear=ClockFault(is_synthetic=True)).audit()
    assert verdict.verdict is Verdict.PASS
    assert [(str(w.code), w.source) for w in verdict.warnings] == [("rate", "cam_rear")]
    assert "synthetic" in verdict.warnings[0].message


def test_lost_frames_are_smelt(clip) -> None:
    """Two frames are lost at the start while timestamps continue: they are early by two periods."""
    stamps = clip.stamps("cam_rear.csv")
    period_ns = int(1e9 / 12)
    verdict = clip.restamp("cam_rear.csv", lambda t: t - 2 * period_ns).audit()
    assert len(stamps) == verdict.sources["cam_rear"].timing.samples
    assert codes(verdict) == [("offset", "cam_rear")]
    assert "exactly 2 frame periods, likely 2 frames lost" in verdict.reasons[0].message


def test_stating_the_shifted_imu_as_reference_still_names_it(clip) -> None:
    clip.restamp("imu.csv", lambda t: t + 40_000_000)
    clip.write(clip.row | {"reference": "imu"})
    verdict = clip.audit()
    assert verdict.reference == "imu"
    assert ("offset", "imu") in codes(verdict)


def test_changing_the_reference_changes_no_difference(clip, healthy) -> None:
    clip.write(clip.row | {"reference": "cam_front"})
    verdict = clip.audit()
    assert verdict.reference == "cam_front"
    assert offsets(verdict) == pytest.approx(offsets(healthy), abs=SAME_S)


@pytest.mark.parametrize("source", ["cam_rear", "can"])
def test_shifting_the_stamps_of_a_source_moves_its_offset_by_as_much(clip, healthy, source) -> None:
    verdict = clip.restamp(f"{source}.csv", lambda t: t - 7_000_000).audit()
    expected = offsets(healthy)
    expected[source] += 0.007
    # Which frames are tracked depends on the timestamps: a few differ, with errors of their own.
    assert offsets(verdict) == pytest.approx(expected, abs=5e-4)


def test_order_of_sources_does_not_matter(clip, healthy) -> None:
    row = clip.row
    row["sources"] = dict(reversed(row["sources"].items()))
    verdict = clip.write(row).audit()
    assert list(verdict.sources) == list(reversed(healthy.sources))
    assert offsets(verdict) == pytest.approx(offsets(healthy), abs=SAME_S)
    assert verdict.verdict is healthy.verdict
    assert verdict.reference == healthy.reference


def test_names_of_sources_do_not_matter(clip, healthy) -> None:
    row = clip.row
    names = {"cam_front": "zz", "cam_rear": "aa", "imu": "imu", "can": "mm", "mic": "b"}
    row["sources"] = {names[name]: source for name, source in row["sources"].items()}
    verdict = clip.write(row).audit()
    assert verdict.reference == names[healthy.reference]
    expected = {names[name]: offset for name, offset in offsets(healthy).items()}
    assert offsets(verdict) == pytest.approx(expected, abs=SAME_S)


def test_two_runs_are_equal_but_for_the_time_they_took(clip, healthy) -> None:
    def plain(verdict: ClipVerdict) -> dict[str, object]:
        return {k: v for k, v in verdict.to_json().items() if k not in ("seconds", "stages")}

    assert plain(clip.audit()) == plain(healthy)


def test_intended_offset_is_taken_off(clip) -> None:
    clip.restamp("cam_rear.csv", lambda t: t - 41_000_000)
    assert codes(clip.audit()) == [("offset", "cam_rear")]
    verdict = clip.change("cam_rear", expected_offset_s=0.041).audit()
    assert verdict.verdict is Verdict.PASS
    assert offsets(verdict)["cam_rear"] == pytest.approx(0.0, abs=NEAR_S)


def test_what_the_recorder_leaves_unknown_of_the_stamps_counts_in_the_error(clip, healthy) -> None:
    vague = clip.change("cam_rear", stamp_std_s=0.003).audit().sources["cam_rear"]
    known = healthy.sources["cam_rear"]
    assert vague.offset_s == pytest.approx(known.offset_s, abs=NEAR_S)
    assert vague.offset_std_s > 0.003 > known.offset_std_s


def test_known_corrections_are_subtracted(clip, healthy) -> None:
    clip.restamp("cam_rear.csv", lambda t: t - 35_000_000)
    clip.restamp("can.csv", lambda t: t + 50_000_000)
    assert clip.audit().verdict is Verdict.REJECT
    known = {"sources": {"cam_rear": {"offset_s": 0.035}, "can": {"offset_s": -0.05}}}
    verdict = clip.audit(calibration=known)
    assert verdict.verdict is Verdict.PASS
    assert offsets(verdict) == pytest.approx(offsets(healthy), abs=2e-4)


def test_known_drift_is_subtracted(faulty) -> None:
    folder = faulty(cam_rear=ClockFault(drift_ppm=5000.0))
    row = folder.row
    at_ns = (row["start_ns"] + row["end_ns"]) // 2
    known = {
        "at_ns": at_ns,
        "sources": {"cam_rear": {"offset_s": 0.0, "drift_ppm": 5000.0}},
    }
    assert folder.audit().verdict is Verdict.REJECT
    assert folder.audit(calibration=known).verdict is Verdict.PASS


def test_unrelated_epochs_are_no_obstacle_to_reading(clip) -> None:
    """A clock that starts at zero is nowhere near the others: its offset cannot be determined."""
    clip.restamp("cam_rear.csv", lambda t: t - t[0])
    verdict = clip.audit()
    assert verdict.verdict in (Verdict.UNVERIFIED, Verdict.REJECT)
    assert verdict.sources["cam_rear"].verdict is not Verdict.PASS
    assert verdict.sources["cam_front"].verdict is Verdict.PASS


def test_strict_policy_is_stricter(clip) -> None:
    clip.restamp("cam_rear.csv", lambda t: t - 7_000_000)
    assert clip.audit().verdict is Verdict.PASS
    assert clip.audit(policy=load_policy(profile="strict")).verdict is Verdict.REJECT


def test_parked_car_is_unverified(clip) -> None:
    """Nothing moves: still frames, a gyro that measures noise, a bus that reports zero."""
    rng = np.random.default_rng(5)

    def still(file: str, values: np.ndarray) -> None:
        head = (clip.path / file).read_text().splitlines()[0]
        rows = zip(clip.stamps(file), values, strict=True)
        lines = [f"{t}," + ",".join(f"{v:.6f}" for v in row) for t, row in rows]
        clip.overwrite(file, ("\n".join([head, *lines]) + "\n").encode())

    n = len(clip.stamps("imu.csv"))
    imu = np.c_[rng.normal(0.0, 0.0015, (n, 3)), rng.normal([0.0, 0.0, 9.81], 0.03, (n, 3))]
    still("imu.csv", imu)
    columns = len((clip.path / "can.csv").read_text().splitlines()[0].split(","))
    still("can.csv", np.zeros((len(clip.stamps("can.csv")), columns - 1)))
    verdict = clip.keep("imu", "can").audit()
    assert verdict.verdict is Verdict.UNVERIFIED
    assert {code for code, _ in codes(verdict)} == {"unobservable"}
