"""Findings about frames, and how a policy treats them."""

from __future__ import annotations

import pytest

from syncaudit.model import ImageAudit, ImageFault, ImageFaultRun, ReasonCode, Severity
from syncaudit.policy import load_policy
from syncaudit.policy.images import judge_images
from syncaudit.policy.limits import Limits


def showing(fault: ImageFault, *ends: tuple[int, int]) -> ImageAudit:
    """Return the audit of 100 frames at 10 Hz with a fault in these ranges."""
    spells = tuple(
        ImageFaultRun(
            fault=fault,
            first=first,
            last=last,
            frames=last - first + 1,
            start_s=first / 10,
            stop_s=last / 10,
            duration_s=(last - first + 1) / 10,
            level=128.0,
        )
        for first, last in ends
    )
    counts = {str(fault): sum(spell.frames for spell in spells)}
    return ImageAudit(frames=100, counts=counts, spells=spells)


def blank(*ends: tuple[int, int]) -> ImageAudit:
    return showing(ImageFault.BLANK, *ends)


def judged(audit: ImageAudit, limits: Limits, rate_hz: float | None = 30.0):
    (finding,) = judge_images("cam", "cam.mp4", audit, limits, rate_hz=rate_hz)
    return finding


@pytest.mark.parametrize(
    ("share", "words", "late"),
    [
        (0.5, "at most 15 new images per second", "up to 33.3 ms later"),
        (1 / 3, "at most 10 new images per second", "up to 66.7 ms later"),
        (0.8, "at most 24 new images per second", "up to 33.3 ms later"),
    ],
)
def test_a_camera_slower_than_its_file_is_told_with_what_it_does_to_times(share, words, late):
    finding = judged(ImageAudit(frames=90, new_share=share), Limits())
    assert finding.code is ReasonCode.RATE
    assert finding.severity is Severity.WARNING
    assert finding.value == pytest.approx(30 * share)
    assert words in finding.message
    assert late in finding.message


def test_a_rate_that_is_demanded_is_that_of_new_images():
    audit = ImageAudit(frames=90, new_share=0.5)
    demanding = Limits(rate_hz=30.0, rate_tolerance=0.02)
    assert judged(audit, demanding).severity is Severity.DEFECT
    content = Limits(rate_hz=15.0, rate_tolerance=0.02)
    assert judged(audit, content).severity is Severity.WARNING
    assert judge_images("cam", "cam.mp4", audit, demanding, rate_hz=None) == []


def test_a_camera_that_goes_blank_is_defective():
    finding = judged(blank((40, 60)), load_policy().limits("cam", "camera"))
    assert (finding.code, finding.severity) == (ReasonCode.EMPTY, Severity.DEFECT)
    assert "from 4.00 s to 6.00 s" in finding.message


def test_a_camera_that_is_blank_throughout_holds_no_evidence():
    finding = judged(blank((0, 99)), load_policy().limits("cam", "camera"))
    assert (finding.code, finding.severity) == (ReasonCode.EMPTY, Severity.DOUBT)
    assert "entirely grey in 100 of 100 frames" in finding.message


def test_a_policy_may_reject_a_blank_camera():
    finding = judged(blank((0, 99)), load_policy(profile="strict").limits("cam", "camera"))
    assert (finding.code, finding.severity) == (ReasonCode.EMPTY, Severity.DEFECT)
    assert finding.limit == 0.0


def test_a_camera_that_goes_blank_twice_is_told_by_the_longest_spell():
    finding = judged(blank((10, 11), (40, 60)), load_policy().limits("cam", "camera"))
    assert "(21 frames, 40 to 60), in 23 of 100 frames altogether" in finding.message


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (ImageFault.COVERED, ReasonCode.EMPTY, "cam shows almost nothing (covered lens or dark"),
        (ImageFault.WHITE, ReasonCode.CORRUPT, "cam is overexposed everywhere in 5 of 100 frames"),
    ],
)
def test_images_that_show_little_are_a_warning(fault, code, words):
    finding = judged(
        showing(fault, (10, 14)), load_policy(profile="strict").limits("cam", "camera")
    )
    assert (finding.code, finding.severity, finding.value) == (code, Severity.WARNING, 5.0)
    assert words in finding.message
    assert "from 1.00 s to 1.40 s" in finding.message


@pytest.mark.parametrize(
    ("limit", "severity"),
    [(None, Severity.WARNING), (0.1, Severity.WARNING), (0.01, Severity.DEFECT)],
)
def test_packets_that_cost_no_frame_are_told_all_the_same(limit, severity):
    audit = ImageAudit(frames=60, errors=2, first_error="Invalid data")
    finding = judged(audit, Limits(damaged_share=limit))
    assert (finding.code, finding.severity) == (ReasonCode.CORRUPT, severity)
    assert "cam.mp4: 2 packets could not be decoded (first: Invalid data)" in finding.message
