"""Whatever a clip holds, its audit ends in a verdict with the right code and a remedy."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from syncaudit.model import ClipVerdict, Verdict
from testkit.clip_folder import Folder

INT64_MAX = np.iinfo(np.int64).max


def codes(verdict: ClipVerdict) -> set[tuple[str, str | None]]:
    return {(str(reason.code), reason.source) for reason in verdict.reasons}


def check(verdict: ClipVerdict, code: str, source: str) -> None:
    """Check that a clip was rejected for this reason only, with a helpful message."""
    assert verdict.verdict is Verdict.REJECT
    assert codes(verdict) == {(code, source)}
    assert verdict.sources[source].verdict is Verdict.REJECT
    for reason in verdict.reasons:
        assert len(reason.message) > 30
        assert "Traceback" not in reason.message
        assert "None" not in reason.message
    json.dumps(verdict.to_json(), allow_nan=False)


EMPTY = {
    "cam_rear": "cam_rear.mp4",
    "imu": "imu.csv",
    "can": "can.csv",
    "mic": "mic.wav",
}


def alone(clip: Folder, source: str) -> Folder:
    """Leave out sources that are hard to judge without `source`: a bus without an IMU."""
    return clip.keep("cam_front", "cam_rear", "imu") if source == "imu" else clip


@pytest.mark.parametrize("source", EMPTY)
def test_file_of_no_bytes(clip, source) -> None:
    check(alone(clip, source).overwrite(EMPTY[source], b"").audit(), "empty", source)


def test_stamps_of_no_bytes(clip) -> None:
    check(clip.overwrite("cam_rear.csv", b"").audit(), "empty", "cam_rear")


@pytest.mark.parametrize("file", ["imu.csv", "can.csv"])
def test_table_without_rows(clip, file) -> None:
    source = file.removesuffix(".csv")
    head = (clip.path / file).read_bytes().split(b"\n")[0] + b"\n"
    check(alone(clip, source).overwrite(file, head).audit(), "empty", source)


def test_frames_without_a_single_stamp(clip) -> None:
    verdict = clip.overwrite("cam_rear.csv", b"timestamp_ns\n").audit()
    assert verdict.verdict is Verdict.REJECT
    assert codes(verdict) <= {("empty", "cam_rear"), ("length_mismatch", "cam_rear")}


@pytest.mark.parametrize("source", EMPTY)
def test_missing_file(clip, source) -> None:
    (clip.path / EMPTY[source]).unlink()
    verdict = alone(clip, source).audit()
    check(verdict, "missing_file", source)
    assert verdict.reasons[0].message.startswith(EMPTY[source])  # as in the manifest


def test_video_cut_off(clip) -> None:
    data = (clip.path / "cam_rear.mp4").read_bytes()
    check(clip.overwrite("cam_rear.mp4", data[: len(data) // 2]).audit(), "unreadable", "cam_rear")


def test_text_instead_of_video(clip) -> None:
    check(clip.overwrite("cam_rear.mp4", b"hello " * 99).audit(), "unreadable", "cam_rear")


def test_video_with_damaged_images(clip) -> None:
    data = bytearray((clip.path / "cam_rear.mp4").read_bytes())
    begin = data.index(b"mdat")
    rng = random.Random(3)
    for _ in range(400):
        data[rng.randrange(begin + 9000, len(data) - 20_000)] ^= 0xFF
    verdict = clip.overwrite("cam_rear.mp4", bytes(data)).audit()
    assert verdict.verdict is Verdict.REJECT
    assert codes(verdict) <= {("corrupt", "cam_rear"), ("length_mismatch", "cam_rear")}


def test_nan_in_imu(clip) -> None:
    lines = (clip.path / "imu.csv").read_text().splitlines()
    for row in range(300, 320):
        lines[row] = ",".join([lines[row].split(",")[0], "nan", *lines[row].split(",")[2:]])
    check(clip.overwrite("imu.csv", "\n".join(lines).encode()).audit(), "non_finite", "imu")


@pytest.mark.parametrize("value", ["1e308", "-3.4e38"])
def test_absurd_numbers_in_imu(clip, value) -> None:
    lines = (clip.path / "imu.csv").read_text().splitlines()
    for row in range(300, 620, 3):
        lines[row] = ",".join([lines[row].split(",")[0], value, *lines[row].split(",")[2:]])
    check(clip.overwrite("imu.csv", "\n".join(lines).encode()).audit(), "non_finite", "imu")


@pytest.mark.parametrize("change", [lambda t: t[:-5], lambda t: np.r_[t, t[-1:] + 10**8]])
def test_more_or_fewer_stamps_than_frames(clip, change) -> None:
    stamps = change(clip.stamps("cam_rear.csv"))
    table = "timestamp_ns\n" + "".join(f"{t}\n" for t in stamps)
    check(clip.overwrite("cam_rear.csv", table.encode()).audit(), "length_mismatch", "cam_rear")


def test_transcript_in_another_encoding(clip) -> None:
    text = 'File type = "ooTextFile"\nObject class = "TextGrid"\n\n0\n1\n<exists>\n1\n'
    text += '"IntervalTier"\n"words"\n0\n1\n1\n0\n1\n"gr\xfcn"\n'
    clip.overwrite("mic.TextGrid", text.encode("latin-1"))
    row = clip.row
    row["sources"]["words"] = {"kind": "transcript", "uri": "mic.TextGrid", "audio": "mic"}
    check(clip.write(row).audit(), "bad_text", "words")


def test_bus_description_of_another_vehicle(clip) -> None:
    clip.overwrite("can.log", b"(1767225600.000000) can0 110#0011223344556677\n" * 50)
    clip.overwrite("other.dbc", b'VERSION ""\nBU_: ECU\nBO_ 5 Other: 8 ECU\n SG_ X : 0|8@1+ ')
    row = clip.row
    row["sources"]["can"] |= {"uri": "can.log", "dbc": "other.dbc"}
    verdict = clip.write(row).audit()
    assert verdict.verdict is Verdict.REJECT
    assert {source for _, source in codes(verdict)} == {"can"}


ABSURD = {
    "zeros": lambda t: t * 0,
    "one zero": lambda t: np.where(np.arange(t.size) == 40, 0, t),
    "negative": lambda t: -t,
    "largest": lambda t: np.where(np.arange(t.size) == 40, INT64_MAX, t),
    "all largest": lambda t: t * 0 + INT64_MAX,
    "seconds": lambda t: t // 10**9,
    "milliseconds": lambda t: t // 10**6,
    "microseconds": lambda t: t // 10**3,
    "reversed": lambda t: t[::-1],
    "shuffled": lambda t: np.random.default_rng(1).permutation(t),
    "overflowing": lambda t: np.where(np.arange(t.size) % 2, -(2**62), 2**62),
}


@pytest.mark.parametrize("file", ["cam_rear.csv", "imu.csv", "can.csv"])
@pytest.mark.parametrize("name", ABSURD)
def test_absurd_stamps_never_pass(clip, file, name) -> None:
    source = file.removesuffix(".csv")
    verdict = clip.restamp(file, ABSURD[name]).keep("cam_rear", "imu", "can").audit()
    assert verdict.verdict is Verdict.REJECT
    assert source in {where for _, where in codes(verdict)}
    assert verdict.sources[source].verdict is Verdict.REJECT
    json.dumps(verdict.to_json(), allow_nan=False)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_clips_of_next_to_nothing(clip, n) -> None:
    for file in ("imu.csv", "can.csv"):
        lines = (clip.path / file).read_bytes().split(b"\n")
        clip.overwrite(file, b"\n".join(lines[: n + 1]) + b"\n")
    verdict = clip.keep("imu", "can").audit()
    assert verdict.verdict in (Verdict.UNVERIFIED, Verdict.REJECT)


def test_window_of_zero_length(clip) -> None:
    row = clip.row
    middle = (row["start_ns"] + row["end_ns"]) // 2
    row |= {"start_ns": middle, "end_ns": middle + 1}
    assert clip.write(row).audit().verdict is not Verdict.PASS


def test_clip_without_a_readable_source(clip) -> None:
    for file in EMPTY.values():
        clip.overwrite(file, b"")
    clip.overwrite("cam_front.mp4", b"")
    verdict = clip.audit()
    assert verdict.verdict is Verdict.REJECT
    assert len(codes(verdict)) == 5


FILES = ["cam_rear.mp4", "cam_rear.csv", "imu.csv", "can.csv", "mic.wav", "cam_front.csv"]


@pytest.mark.parametrize("seed", range(48))
def test_random_damage_ends_in_a_verdict(clip, seed) -> None:
    rng = random.Random(seed)
    file = FILES[seed % len(FILES)]
    data = bytearray((clip.path / file).read_bytes())
    for _ in range(rng.choice([1, 3, 30, 300])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.3:
        del data[rng.randrange(len(data)) :]
    if rng.random() < 0.2:
        at = rng.randrange(len(data) or 1)
        data[at:at] = rng.randbytes(rng.randrange(1, 400))
    keep = ["imu", "can", "mic"]
    if file.startswith("cam"):
        keep = [file.split(".")[0], "imu"]
    verdict = clip.overwrite(file, bytes(data)).keep(*keep).audit()
    assert verdict.verdict in tuple(Verdict)
    json.dumps(verdict.to_json(), allow_nan=False)
