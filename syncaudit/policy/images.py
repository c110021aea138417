"""Judge the faults found in the frames of one camera."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from syncaudit.formatting import word_count, word_duration
from syncaudit.model import (
    CameraSpec,
    Finding,
    ImageAudit,
    ImageFault,
    ImageFaultRun,
    ReasonCode,
)
from syncaudit.policy.case import Case, Findings, defect, doubt, limited, percentage
from syncaudit.policy.limits import Limits

# Spells that a message lists.
_MOST_LISTED = 3
# Share of blank frames above which a camera shows nothing at all: it did not go blank.
_ALL_SHARE = 0.97
_COPY = "Copy the file again from the recorder or drop the clip."
_WORDS: Mapping[ImageFault, tuple[str, str]] = {
    ImageFault.DAMAGED: ("are damaged or refer to damaged ones", _COPY),
    ImageFault.UNDECODED: ("could not be decoded", _COPY),
    ImageFault.GREY: ("are grey where nothing could be decoded", _COPY),
    ImageFault.HALF: ("are cut off: their lower rows all repeat one row", _COPY),
    ImageFault.SIZE: ("differ in size from the first", "Export one size per file."),
}


def check_images(case: Case) -> Findings:
    """Return what is wrong with the frames of every camera."""
    findings: list[Finding] = []
    for name, audit in case.record.pictures.items():
        spec = case.clip.sources.get(name)
        if isinstance(spec, CameraSpec):
            stamps = case.record.stamps.get(name)
            rate_hz = None if stamps is None else stamps.rate_hz
            findings += judge_images(name, spec.uri, audit, case.limits[name], rate_hz=rate_hz)
    return Findings(findings=findings)


def judge_images(
    name: str, uri: str, audit: ImageAudit, limits: Limits, *, rate_hz: float | None = None
) -> list[Finding]:
    """Return defects and remarks about the frames of one camera, stored at `uri`.

    What breaks a limit rejects; what merely exists is a warning. `rate_hz` is that of the
    timestamps.
    """
    return [
        *_damage(name, uri, audit, limits),
        *_rate(name, audit, limits, rate_hz),
        *_frozen(name, audit, limits),
        *_blank(name, audit, limits),
        *_plain(name, audit),
    ]


def _damage(name: str, uri: str, audit: ImageAudit, limits: Limits) -> list[Finding]:
    total = max(1, audit.frames + audit.counts.get(ImageFault.UNDECODED, 0))
    findings = []
    for fault, (words, cure) in _WORDS.items():
        n = audit.counts.get(fault, 0)
        if not n:
            continue
        text = f"{uri}: {n} of {word_count(total, 'frame')} {words}: {_places(audit.of(fault))}"
        if fault in (ImageFault.UNDECODED, ImageFault.DAMAGED) and audit.first_error:
            text += f" (first: {audit.first_error})"
        limit = limits.damaged_share
        is_defect = limit is not None and n / total > limit
        make = defect if is_defect else Finding.warning
        findings.append(
            make(ReasonCode.CORRUPT, name, f"{text}. {cure}", value=n / total, limit=limit)
        )
    n_undecoded = audit.counts.get(ImageFault.UNDECODED, 0)
    if audit.errors and not n_undecoded:
        text = (
            f"{uri}: {word_count(audit.errors, 'packet')} could not be decoded (first: "
            f"{audit.first_error}). {_COPY}"
        )
        is_defect = limits.damaged_share is not None and audit.errors / total > limits.damaged_share
        findings.append((defect if is_defect else Finding.warning)(ReasonCode.CORRUPT, name, text))
    return findings


def _frozen(name: str, audit: ImageAudit, limits: Limits) -> list[Finding]:
    n, spells = audit.counts.get(ImageFault.FROZEN, 0), audit.of(ImageFault.FROZEN)
    if not n or not spells:
        return []
    findings = []
    longest = max(spells, key=lambda spell: spell.duration_s)
    limit_s = limits.max_frozen_s
    is_long = limit_s is not None and longest.duration_s > limit_s
    if is_long or len(spells) == 1:
        text = f"{name} shows the same image {_range(longest)} while time goes on"
        if len(spells) > 1:
            text += f", the longest of {len(spells)} such intervals"
        findings.append(limited(ReasonCode.DUPLICATE, name, text, longest.duration_s, limit_s))
    share, limit = n / max(1, audit.frames), limits.frozen_share
    is_many = limit is not None and share > limit
    if len(spells) > 1 or is_many:
        text = (
            f"{name} repeats the previous image in {n} of {word_count(audit.frames, 'frame')} "
            f"({percentage(share)}): {_places(spells)}"
        )
        findings.append(limited(ReasonCode.DUPLICATE, name, text, share, limit, word=percentage))
    return findings


def _rate(name: str, audit: ImageAudit, limits: Limits, rate_hz: float | None) -> list[Finding]:
    """Report that a camera is slower than its file, and how that affects its times."""
    if audit.new_share is None or not rate_hz:
        return []
    new_hz = audit.new_share * rate_hz
    latest_s = max(1, math.ceil(1.0 / audit.new_share - 1.1)) / rate_hz
    text = (
        f"{name} shows at most {new_hz:.3g} new images per second, its timestamps {rate_hz:.3g} "
        "frames: the others repeat the previous image. A frame may be up to "
        f"{word_duration(latest_s)} later than its image, so offsets measured with this camera "
        f"hold within ± {word_duration(0.5 * latest_s)}. Record at the camera's own rate, or "
        "drop the repeats with their timestamps"
    )
    wanted_hz, tolerance = limits.rate_hz, limits.rate_tolerance
    if wanted_hz is None or tolerance is None:
        return [Finding.warning(ReasonCode.RATE, name, text, value=new_hz)]
    is_wrong = abs(new_hz / wanted_hz - 1.0) > tolerance
    text += f"; expected {wanted_hz:.6g} Hz, limit {percentage(tolerance)}"
    return [
        (defect if is_wrong else Finding.warning)(
            ReasonCode.RATE, name, text, value=new_hz, limit=wanted_hz
        )
    ]


def _blank(name: str, audit: ImageAudit, limits: Limits) -> list[Finding]:
    spells = audit.of(ImageFault.BLANK)
    if not spells:
        return []
    longest = max(spells, key=lambda spell: spell.duration_s)
    n, limit_s = audit.counts[ImageFault.BLANK], limits.max_blank_s
    if n >= _ALL_SHARE * audit.frames:
        return [_blank_throughout(name, longest, audit, limits)]
    text = f"{name} is {_colour(longest.level)} {_range(longest)}"
    if len(spells) > 1:
        text += f", in {n} of {word_count(audit.frames, 'frame')} altogether"
    return [limited(ReasonCode.EMPTY, name, text, longest.duration_s, limit_s)]


def _blank_throughout(
    name: str, spell: ImageFaultRun, audit: ImageAudit, limits: Limits
) -> Finding:
    """Return a doubt: images that never show anything prove neither a fault nor a time."""
    limit = limits.blank_share
    n = audit.counts[ImageFault.BLANK]
    share = n / max(1, audit.frames)
    text = (
        f"{name} is {_colour(spell.level)} in {n} of {word_count(audit.frames, 'frame')}: it "
        "shows nothing to measure its time by. Check lens, cable and exposure, or leave it out"
    )
    if limit is not None and share > limit:
        return limited(ReasonCode.EMPTY, name, text, share, limit, word=percentage)
    return doubt(ReasonCode.EMPTY, name, text, value=share, limit=limit)


def _plain(name: str, audit: ImageAudit) -> list[Finding]:
    findings = []
    covered = "shows almost nothing (covered lens or darkness)"
    for fault, code, words in (
        (ImageFault.COVERED, ReasonCode.EMPTY, covered),
        (ImageFault.WHITE, ReasonCode.CORRUPT, "is overexposed everywhere"),
    ):
        if audit.of(fault):
            n = audit.counts[fault]
            text = f"{name} {words} in {n} of {word_count(audit.frames, 'frame')}: "
            findings.append(
                Finding.warning(code, name, text + _places(audit.of(fault)), value=float(n))
            )
    return findings


def _colour(level: float | None) -> str:
    if level is None or not level < 24.0:
        if level is not None and abs(level - 128.0) < 4.0:
            return "entirely grey"
        return "entirely of one colour"
    return "black" if level >= 1.0 else "black or green (all zero)"


def _places(spells: Sequence[ImageFaultRun]) -> str:
    largest = sorted(spells, key=lambda spell: -spell.frames)[:_MOST_LISTED]
    listed = [_range(spell) for spell in sorted(largest, key=lambda spell: spell.first)]
    if len(spells) > _MOST_LISTED:
        listed.append("and elsewhere")
    return ", ".join(listed)


def _range(spell: ImageFaultRun) -> str:
    if spell.first == spell.last:
        return f"at {spell.start_s:.2f} s (frame {spell.first})"
    return (
        f"from {spell.start_s:.2f} s to {spell.stop_s:.2f} s ({spell.frames} frames, "
        f"{spell.first} to {spell.last})"
    )
