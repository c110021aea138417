"""Small files of every format, generated on demand."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import av
import can
import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import soundfile

from syncaudit.model import (
    AudioSpec,
    CameraSpec,
    CanSpec,
    EventsSpec,
    ImuSpec,
    SourceSpec,
    StateSpec,
    TranscriptSpec,
)
from testkit.videos import grey_frame, write_video

T0 = 1767225600123456789  # unix nanoseconds that float64 cannot represent
N = 10

DBC = """VERSION ""
NS_ :
BS_:
BU_: CAR
BO_ 36 MOTION: 8 CAR
 SG_ YawRate : 1|10@0+ (0.25,-125) [0|250] "deg/s" CAR
 SG_ Speed : 16|16@1+ (0.01,0) [0|250] "km/h" CAR
 SG_ Brake : 32|16@1- (0.1,0) [0|0] "bar" CAR
BO_ 2566844885 WHEELS: 8 CAR
 SG_ Page M : 0|4@1+ (1,0) [0|15] "" CAR
 SG_ Left m0 : 8|32@1- (1,0) [0|0] "m/s" CAR
 SG_ Right m1 : 8|16@1- (0.5,1) [0|0] "m/s" CAR
BO_ 48 SHORT: 2 CAR
 SG_ Strobe : 0|8@1+ (1,0) [0|0] "" CAR
BO_ 64 OTHER: 8 CAR
 SG_ Speed2 : 0|8@1+ (1,0) [0|0] "" CAR
 SG_ Twice : 0|8@1+ (1,0) [0|0] "" CAR
BO_ 65 MORE: 8 CAR
 SG_ Twice : 0|8@1+ (1,0) [0|0] "" CAR
SIG_VALTYPE_ 2566844885 Left : 1;
VAL_ 36 Brake 0 "none" 1 "some" ;
"""

TEXTGRID = (
    'File type = "ooTextFile"\nObject class = "TextGrid"\n\nxmin = 0\nxmax = 2\n'
    "tiers? <exists>\nsize = 2\nitem []:\n    item [1]:\n"
    '        class = "IntervalTier"\n        name = "words"\n        xmin = 0\n        xmax = 2\n'
    "        intervals: size = 2\n        intervals [1]:\n            xmin = 0\n"
    '            xmax = 1.5\n            text = "say ""hi"""\n        intervals [2]:\n'
    '            xmin = 1.5\n            xmax = 2\n            text = "ə"\n    item [2]:\n'
    '        class = "TextTier"\n        name = "marks"\n        xmin = 0\n        xmax = 2\n'
    "        points: size = 1\n        points [1]:\n            number = 0.25\n"
    '            mark = "click"\n'
)

EAF = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT><HEADER TIME_UNITS="milliseconds">
<MEDIA_DESCRIPTOR MEDIA_URL="a.wav" TIME_ORIGIN="500"/></HEADER>
<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="t1" TIME_VALUE="0"/>
<TIME_SLOT TIME_SLOT_ID="t2" TIME_VALUE="750"/><TIME_SLOT TIME_SLOT_ID="t3"/></TIME_ORDER>
<TIER TIER_ID="words"><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1"
TIME_SLOT_REF1="t1" TIME_SLOT_REF2="t2"><ANNOTATION_VALUE>hello</ANNOTATION_VALUE>
</ALIGNABLE_ANNOTATION></ANNOTATION><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2"
TIME_SLOT_REF1="t2" TIME_SLOT_REF2="t3"><ANNOTATION_VALUE>lost</ANNOTATION_VALUE>
</ALIGNABLE_ANNOTATION></ANNOTATION></TIER>
<TIER TIER_ID="gloss"><ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a3" ANNOTATION_REF="a1">
<ANNOTATION_VALUE>greeting</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION></TIER>
</ANNOTATION_DOCUMENT>"""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One small valid source: its main file, the files beside it, and its entry in a manifest."""

    file: str
    content: bytes
    spec: SourceSpec
    beside: Mapping[str, bytes]

    def put(self, folder: Path, content: bytes | None = None) -> SourceSpec:
        """Write the files; `content` replaces that of the main file."""
        for name, data in {**self.beside, self.file: content or b""}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        if content is None:
            (folder / self.file).write_bytes(self.content)
        return self.spec

    def changed(self, **keys: Any) -> Sample:
        return replace(self, spec=replace(self.spec, **keys))


def parquet(columns: Mapping[str, Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), sink)
    return sink.getvalue()


def csv_table(columns: Mapping[str, Any]) -> bytes:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def stamps(step_ns: int = 33333333) -> list[int]:
    return [T0 + step_ns * k for k in range(N)]


def video(name: str, codec: str, pix_fmt: str, form: str | None, folder: Path) -> bytes:
    pictures = (
        np.random.default_rng(index).integers(0, 255, (48, 64), dtype=np.uint8)
        for index in range(N)
    )
    frames = (grey_frame(image, pix_fmt) for image in pictures)
    return write_video(folder / name, frames, codec, container_format=form).read_bytes()


def speech_video(folder: Path) -> bytes:
    path = folder / "sound.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=16000)
        stream.layout = "stereo"
        wave = np.sin(np.arange(8000) / 10).astype(np.float32)
        frame = av.AudioFrame.from_ndarray(np.stack([wave, wave]), format="fltp", layout="stereo")
        frame.sample_rate, frame.pts = 16000, 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path.read_bytes()


def sound(form: str, subtype: str | None = None) -> bytes:
    sink = io.BytesIO()
    wave = 0.5 * np.sin(np.arange(4000)[:, None] / np.array([10, 20]))
    soundfile.write(sink, wave, 16000, format=form, subtype=subtype)
    return sink.getvalue()


def bus_messages() -> list[can.Message]:
    found = []
    for k in range(N):
        time_s = 1767225600.25 + k / 64  # exact in float64
        data = bytes([0, 40 + k, 232 + k, 3, 1, 0, 0, 0])
        found.append(can.Message(time_s, 36, is_extended_id=False, data=data, channel=0))
        wheels = bytes([k % 2, 10 + k, 0, 0x80, 0x3F, 0, 0, 0])
        found.append(can.Message(time_s + 1 / 1024, 0x18FEF1D5, data=wheels, channel=0))
        found.append(can.Message(time_s, 0x700, is_extended_id=False, data=b"\1", channel=0))
    return found


def bus_log(writer: type[Any], name: str, folder: Path) -> bytes:
    path = folder / name
    log = writer(str(path))
    for message in bus_messages():
        log(message)
    log.stop()
    return path.read_bytes()


def candump() -> bytes:
    lines = []
    for k, message in enumerate(bus_messages()):
        stamp = T0 + k * 1000000
        width = 8 if message.is_extended_id else 3
        lines.append(
            f"({stamp // 10**9}.{stamp % 10**9:09d}) can0 "
            f"{message.arbitration_id:0{width}X}#{message.data.hex().upper()}"
        )
    return ("\n".join(lines) + "\n").encode()


def write_samples(folder: Path) -> dict[str, Sample]:
    """Return a sample of every format by name; `folder` is for temporary files."""
    signals = {"yaw_rate": "YawRate", "wheel_speed_fl": "WHEELS.Left", "brake": "Brake"}
    found: dict[str, Sample] = {}

    def add(
        name: str, file: str, content: bytes, spec: SourceSpec, beside: Mapping[str, bytes] = {}
    ) -> None:
        found[name] = Sample(file=file, content=content, spec=spec, beside=beside)

    for name, codec, pix_fmt, form in [
        ("a.mp4", "libx264", "yuv420p", None),
        ("a.mkv", "libx264", "yuv420p", None),
        ("a.avi", "mjpeg", "yuvj420p", None),
        ("a.webm", "libvpx-vp9", "yuv420p", None),
        ("a.h264", "libx264", "yuv420p", "h264"),
        ("a.hevc", "libx264", "yuv420p", "h264"),
        ("a.mjpeg", "mjpeg", "yuvj420p", "mjpeg"),
    ]:
        add(
            f"camera {name}",
            name,
            video(name, codec, pix_fmt, form, folder),
            CameraSpec(uri=name, timestamps="s.csv"),
            {"s.csv": csv_table({"frame": range(N), "timestamp_ns": stamps()})},
        )
    image = cv2.imencode(".jpg", np.full((48, 64), 99, np.uint8))[1].tobytes()
    add(
        "camera images",
        "frames/f0.jpg",
        image,
        CameraSpec(uri="frames", timestamps="s.csv"),
        {
            "s.csv": csv_table({"timestamp_ns": stamps()}),
            **{f"frames/f{k}.jpg": image for k in range(1, N)},
        },
    )
    for form, write in (("csv", csv_table), ("parquet", parquet)):
        axes = {
            f"{kind}_{axis}": np.arange(N) * 0.5 for kind in ("gyro", "accel") for axis in "xyz"
        }
        add(
            f"imu {form}",
            f"i.{form}",
            write({"timestamp_ns": stamps(), **axes}),
            ImuSpec(uri=f"i.{form}"),
        )
        add(
            f"camera stamps {form}",
            f"s.{form}",
            write({"timestamp_ns": stamps()}),
            CameraSpec(uri="a.mp4", timestamps=f"s.{form}"),
            {"a.mp4": found["camera a.mp4"].content},
        )
        add(
            f"can {form}",
            f"c.{form}",
            write({"timestamp_ns": stamps(), "v": np.arange(N) * 0.5, "w": np.arange(N)}),
            CanSpec(uri=f"c.{form}", signals={"speed": "v", "wheel_speed_fl": "w"}),
        )
        add(
            f"events {form}",
            f"e.{form}",
            write({"timestamp_ns": stamps()}),
            EventsSpec(uri=f"e.{form}"),
        )
        add(
            f"state {form}",
            f"q.{form}",
            write({"timestamp_ns": stamps(), "q0": np.arange(N), "q1": np.arange(N) * 0.5}),
            StateSpec(uri=f"q.{form}", columns={"q": ["q0", "q1"]}),
        )
    # A part of a file that holds several clips: rows 2 to 11 of 14, with timestamps in seconds.
    many = {
        "t": (np.arange(14) / 30).astype(np.float32),
        "v": [[0.5 * k, 1.0 * k, 2.0] for k in range(14)],
        "picture": [b"not read"] * 14,
    }
    part: dict[str, Any] = {"stamps": "t", "rows": [2, 12]}
    axes = {f"gyro_{axis}": f"v[{k}]" for k, axis in enumerate("xyz")}
    parts: list[tuple[str, SourceSpec]] = [
        ("imu", ImuSpec(uri="p.parquet", columns=axes, **part)),
        ("can", CanSpec(uri="p.parquet", signals={"speed": "v[1]"}, **part)),
        ("events", EventsSpec(uri="p.parquet", **part)),
        ("state", StateSpec(uri="p.parquet", columns={"q": ["v"]}, **part)),
    ]
    for kind, spec in parts:
        add(f"{kind} part", "p.parquet", parquet(many), spec)
    add(
        "camera part",
        "p.parquet",
        parquet(many),
        CameraSpec(
            uri="a.mp4",
            timestamps="p.parquet",
            stamps="t",
            rows=[3, 8],
            pts_ns=[90_000_000, 250_000_000],  # frames 3 to 7 of 30 Hz
        ),
        {"a.mp4": found["camera a.mp4"].content},
    )
    add(
        "camera stored",
        "p.parquet",
        parquet({**many, "a.b": [{"bytes": image, "path": None}] * len(many["t"])}),
        CameraSpec(
            uri="p.parquet",
            pictures="a.b",
            picture_rows=[3, 8],
            timestamps="p.parquet",
            stamps="t",
            rows=[3, 8],
        ),
    )
    add(
        "camera named",
        "s.parquet",
        parquet({"timestamp_ns": stamps()[:4], "file": [f"frames/f{k}.jpg" for k in (7, 2, 1, 0)]}),
        CameraSpec(uri=".", timestamps="s.parquet"),
        {f"frames/f{k}.jpg": image for k in range(N)},
    )
    raw = [
        ("can.log", candump()),
        ("can.asc", bus_log(can.ASCWriter, "can.asc", folder)),
        ("can.blf", bus_log(can.BLFWriter, "can.blf", folder)),
        ("can.trc", bus_log(can.TRCWriter, "can.trc", folder)),
        ("can.mf4", bus_log(can.MF4Writer, "can.mf4", folder)),
    ]
    for file, content in raw:
        add(
            f"can {file[3:]}",
            file,
            content,
            CanSpec(uri=file, dbc="v.dbc", signals=signals),
            {"v.dbc": DBC.encode()},
        )
    add(
        "can dbc",
        "v.dbc",
        DBC.encode(),
        CanSpec(uri="can.log", dbc="v.dbc", signals=signals),
        {"can.log": candump()},
    )
    for file, form, subtype in [
        ("m.wav", "WAV", None),
        ("f.wav", "WAV", "FLOAT"),
        ("m.flac", "FLAC", None),
        ("m.ogg", "OGG", None),
        ("m.mp3", "MP3", None),
    ]:
        add(f"audio {file}", file, sound(form, subtype), AudioSpec(uri=file, start_ns=T0))
    add("audio mp4", "m.mp4", speech_video(folder), AudioSpec(uri="m.mp4", start_ns=T0))
    add(
        "audio stamps",
        "t.csv",
        csv_table({"sample": [400 * k for k in range(N)], "timestamp_ns": stamps(25000000)}),
        AudioSpec(uri="m.wav", timestamps="t.csv"),
        {"m.wav": sound("WAV")},
    )
    short = '"ooTextFile"\n"TextGrid"\n0\n2\n<exists>\n1\n"IntervalTier"\n"words"\n0\n2\n2\n'
    texts = {
        "long.TextGrid": TEXTGRID,
        "short.TextGrid": f'File type = {short}0\n1.5\n"say"\n1.5\n2\n""\n',
        "w.ctm": ";; made up\nutt 1 0.50 0.25 hello 0.9\nutt 1 0.75 0.5 world\n",
        "w.csv": "start,end,label\n0.5,0.75,hello\n0.75,1.25,world\n",
        "mfa.csv": "Begin,End,Label,Type,Speaker\r\n0.5,0.75,hi,words,a\r\n0.5,0.6,h,phones,a\r\n",
        "mfa.json": json.dumps(
            {"start": 0, "end": 2, "tiers": {"words": {"entries": [[0.5, 0.75, "hello"]]}}}
        ),
        "whisper.json": json.dumps(
            {
                "text": "hello 5",
                "segments": [
                    {
                        "start": 0.5,
                        "end": 1.5,
                        "text": " hello 5",
                        "words": [{"word": "hello", "start": 0.5, "end": 0.75}, {"word": "5"}],
                    }
                ],
            }
        ),
        "s.srt": "1\n00:00:00,500 --> 00:00:00,750\nhi\n\n2\n00:00:01,000 --> 00:00:02,000\nyou\n",
        "s.vtt": "WEBVTT\n\n00:00.500 --> 00:00.750\nhello\n\n00:01.000 --> 00:02.000\nyou\n",
        "a.eaf": EAF,
        "a.lab": "hello world\n",
        "a.txt": "hello world\n",
    }
    for file, text in texts.items():
        add(f"transcript {file}", file, text.encode(), TranscriptSpec(audio="mic", uri=file))
    return found
