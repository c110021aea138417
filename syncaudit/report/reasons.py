"""Reason codes in plain words, and what to do about each; commands are in backquotes."""

from __future__ import annotations

from syncaudit.formatting import word_correction
from syncaudit.model import SourceVerdict, Verdict

# Stable codes (formats, section 3) in plain words.
REASONS = {
    "offset": "the stamps are early or late by more than the tolerance",
    "drift": "the clock runs fast or slow",
    "step": "the clock jumps inside the clip",
    "inconsistent": "measurements contradict each other",
    "jitter": "the stamps are uneven",
    "gap": "samples are missing for a while",
    "missing_frames": "frames are missing",
    "duplicate": "stamps or frames occur twice",
    "backwards": "stamps run backwards",
    "rate": "the rate is wrong, or not known",
    "unreadable": "a file cannot be read",
    "corrupt": "a file is damaged",
    "non_finite": "samples are NaN or infinite",
    "missing_file": "a file is missing",
    "empty": "a source holds no data",
    "bad_text": "a text file is not what it claims to be",
    "length_mismatch": "frames and stamps differ in number",
    "unobservable": "nothing in the clip shows the offset",
    "timeout": "the audit took too long",
    "manifest": "the manifest row is wrong",
}

CURES = {
    "offset": (
        "Stamp at capture (hardware trigger, PTP) instead of on arrival, and keep those "
        "stamps: stamps made up from frame numbers hide the offset. Each clip can be corrected "
        "by its own verdict: `syncaudit apply`."
    ),
    "drift": "Discipline the clock (PTP, GPS, one shared trigger). A steady drift can be corrected "
    "in the stamps: `syncaudit apply`.",
    "step": (
        "Look for lost frames, a reboot or a time server that sets the clock while recording. "
        "No single offset corrects a jump: train on neither side, or cut the clip there."
    ),
    "inconsistent": (
        "Look at the clips yourself: two measurements disagree, so one of the sources is not "
        "what it claims to be."
    ),
    "jitter": (
        "Stamp in the driver or the sensor, before buffers and network; what has passed "
        "through a buffer cannot be repaired afterwards."
    ),
    "gap": "Look for an overloaded recorder, disk or link; record again.",
    "missing_frames": "Look for an overloaded recorder or link; number frames in the sensor so "
    "that losses show.",
    "duplicate": "Look for a frame grabber that repeats its last frame, or an export run twice.",
    "backwards": "Keep the order of capture on export; do not let a time server set the clock "
    "backwards while recording.",
    "rate": "State the rate (numbered samples: `rate_hz` in --rules), or correct the sensor's "
    "setting. Numbers are not timestamps: record timestamps.",
    "unreadable": "Copy the files again; repair those that were never closed.",
    "corrupt": "Copy the files again and compare checksums.",
    "non_finite": "Export again without the invalid samples.",
    "missing_file": "Copy the missing files, or correct the manifest.",
    "empty": "Record or export again: the header is there, the data are not.",
    "bad_text": "Export the text again as UTF-8.",
    "length_mismatch": "Export one stamp per frame: it is unknown which ones are missing.",
    "unobservable": "Nothing is known to be wrong. Longer clips, more motion or a few flashes "
    "(`syncaudit flash-plan`) would show it.",
    "timeout": "Run again with a longer --timeout, or find out why the files are slow to read.",
    "manifest": "Correct the manifest row.",
}

# Stable codes as shown in a table of 80 columns: what it is, and the first thing to do.
ACTIONS = {
    "offset": ("early or late", "syncaudit apply"),
    "drift": ("clock drifts", "one clock, or apply"),
    "step": ("clock jumps", "lost frames? cut it"),
    "inconsistent": ("contradiction", "syncaudit view"),
    "jitter": ("jitter", "stamp in the driver"),
    "gap": ("gap", "check the recorder"),
    "missing_frames": ("frames missing", "check the recorder"),
    "duplicate": ("duplicates", "check the export"),
    "backwards": ("runs backwards", "keep capture order"),
    "rate": ("rate unclear", "state the rate"),
    "unreadable": ("unreadable", "copy it again"),
    "corrupt": ("damaged", "copy it again"),
    "non_finite": ("NaN or infinite", "export it again"),
    "missing_file": ("missing file", "copy it"),
    "empty": ("no data", "record it again"),
    "bad_text": ("wrong text", "export as UTF-8"),
    "length_mismatch": ("frames ≠ stamps", "one stamp per frame"),
    "unobservable": ("not measurable", "motion, or flashes"),
    "timeout": ("took too long", "raise --timeout"),
    "manifest": ("manifest", "correct the row"),
}

_CONSTANT = (
    "It is the same in all of these clips, so it can be corrected: `syncaudit apply`, or "
    "calibrate once (`syncaudit calibrate`) and validate with `--calibration`. Then look for a "
    "fixed delay in this source's stamping."
)


def cure_of(code: str, *, is_constant: bool = False) -> str:
    """Return what to do; `is_constant` means that an offset is the same in all clips."""
    if code == "offset" and is_constant:
        return _CONSTANT
    return CURES.get(code, "Look at the clips named below.")


def word_unmeasured(source: SourceVerdict) -> str:
    """Return the text shown for a source whose own offset the clip does not determine."""
    pooled = source.recording
    if pooled is not None and pooled.offset_s is not None:
        return f"{word_correction(pooled.offset_s, pooled.offset_std_s)}, by recording"
    if source.verdict is not Verdict.PASS:
        return source.why_unmeasured or "nothing to measure it by"
    return "fits its audio" if source.kind == "transcript" else "agrees with its baseline"
