"""One short clip in every format that syncaudit reads, the starting point for damage."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import can
import cv2
import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import soundfile
from batch_clips import START_NS
from batch_kinds import stills

from syncaudit.model import Interval, Tier
from syncaudit.simulate import CanConfig, ImuConfig, MicrophoneConfig, RigConfig, simulate_clip
from syncaudit.simulate.scenarios import with_all_cameras
from syncaudit.speech.tiers.writing import TIER_WRITERS

_SIGNALS = {"speed": "Speed", "yaw_rate": "YawRate"}
_WORDS = [("turn", 0.4, 0.8), ("left", 0.8, 1.3), ("at", 1.6, 1.8), ("the", 1.8, 2.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A file to damage, and the sources of the clip that contains it.

    Parameters
    ----------
    file : str
        Its name in the folder of the base clip.
    sources : mapping
        Sources in addition to the IMU ``imu.csv``.
    others : tuple of str
        Other files that the clip needs.
    """

    file: str
    sources: Mapping[str, Any]
    others: tuple[str, ...] = field(default=())


def _camera(**fields: Any) -> Mapping[str, Any]:
    return {"cam": {"kind": "camera", "uri": "cam.mp4", "timestamps": "cam.csv"} | fields}


def _bus(uri: str) -> Mapping[str, Any]:
    return {"can": {"kind": "can", "uri": uri, "dbc": "vehicle.dbc", "signals": _SIGNALS}}


def _sound(uri: str) -> Mapping[str, Any]:
    return {"mic": {"kind": "audio", "uri": uri, "start_ns": START_NS}}


def _transcript(uri: str) -> Mapping[str, Any]:
    return {**_sound("mic.wav"), "words": {"kind": "transcript", "uri": uri, "audio": "mic"}}


TARGETS = (
    Target(file="cam.mp4", sources=_camera(), others=("cam.csv",)),
    Target(file="cam.mkv", sources=_camera(uri="cam.mkv"), others=("cam.csv",)),
    Target(file="cam.csv", sources=_camera(), others=("cam.mp4",)),
    Target(file="cam.parquet", sources=_camera(timestamps="cam.parquet"), others=("cam.mp4",)),
    Target(
        file="images/002.png",
        sources=_camera(uri="images", timestamps="images.csv"),
        others=("images/000.png", "images/001.png", "images/003.png", "images.csv"),
    ),
    Target(
        file="named.csv",
        sources=_camera(uri="images", timestamps="named.csv"),
        others=("images/000.png", "images/001.png", "images/002.png", "images/003.png"),
    ),
    Target(
        file="stills.parquet",
        sources=_camera(uri="stills.parquet", timestamps="stills.parquet", pictures="still"),
    ),
    Target(file="imu.csv", sources={}),
    Target(file="imu.parquet", sources={"imu": {"kind": "imu", "uri": "imu.parquet"}}),
    Target(file="gyro/gyro_z.npy", sources={"imu": {"kind": "imu", "uri": "gyro"}},
           others=("gyro/timestamp_ns.npy", "gyro/gyro_x.npy", "gyro/gyro_y.npy")),
    Target(file="can.log", sources=_bus("can.log"), others=("vehicle.dbc",)),
    Target(file="can.asc", sources=_bus("can.asc"), others=("vehicle.dbc",)),
    Target(file="can.blf", sources=_bus("can.blf"), others=("vehicle.dbc",)),
    Target(file="vehicle.dbc", sources=_bus("can.log"), others=("can.log",)),
    Target(file="mic.wav", sources=_sound("mic.wav")),
    Target(file="mic.flac", sources=_sound("mic.flac")),
    *(
        Target(file=f"words.{suffix}", sources=_transcript(f"words.{suffix}"), others=("mic.wav",))
        for suffix in ("textgrid", "json", "srt", "vtt", "ctm", "csv")
    ),
    Target(file="trigger.csv", sources={"trigger": {"kind": "events", "uri": "trigger.csv"}}),
    Target(file="joints.parquet", sources={"arm": {"kind": "state", "uri": "joints.parquet"}}),
)  # fmt: skip


def write_base(folder: Path) -> None:
    """Simulate 4 s of driving and write it in every format."""
    rig = with_all_cameras(
        RigConfig(
            duration_s=4.0,
            imu=ImuConfig(rate_hz=100.0),
            can=CanConfig(format="log"),
            microphone=MicrophoneConfig(),
        ),
        size_px=(160, 120),
        names=("cam_front",),
    )
    simulate_clip(rig, folder, seed=7)
    for suffix in ("mp4", "csv"):
        (folder / f"cam_front.{suffix}").rename(folder / f"cam.{suffix}")
    _remux(folder / "cam.mp4", folder / "cam.mkv")
    for name in ("imu", "cam"):
        pq.write_table(pa_csv.read_csv(folder / f"{name}.csv"), folder / f"{name}.parquet")
    pq.write_table(pa_csv.read_csv(folder / "imu.csv"), folder / "joints.parquet")
    (folder / "images").mkdir()
    (folder / "gyro").mkdir()
    for k in range(4):
        frame = np.random.default_rng(k).integers(0, 255, (48, 64), np.uint8)
        cv2.imwrite(str(folder / "images" / f"{k:03d}.png"), frame)
    times = "".join(f"{START_NS + k * 10**9}\n" for k in range(4))
    (folder / "images.csv").write_text("timestamp_ns\n" + times)
    named = "".join(f"{START_NS + k * 10**9},{k:03d}.png\n" for k in range(4))
    (folder / "named.csv").write_text("timestamp_ns,file\n" + named)
    pq.write_table(stills(40), folder / "stills.parquet")
    (folder / "trigger.csv").write_text("timestamp_ns\n" + times)
    imu = pa_csv.read_csv(folder / "imu.csv")
    for name in ("timestamp_ns", "gyro_x", "gyro_y", "gyro_z"):
        np.save(folder / "gyro" / f"{name}.npy", imu[name].to_numpy())
    samples, rate = soundfile.read(folder / "mic.wav", dtype="int16")
    soundfile.write(folder / "mic.flac", samples, rate)
    _write_bus_logs(folder)
    _write_transcripts(folder)


def _remux(source: Path, target: Path) -> None:
    with av.open(str(source)) as read, av.open(str(target), "w") as written:
        stream = written.add_stream_from_template(read.streams.video[0])
        for packet in read.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                written.mux(packet)


def _write_bus_logs(folder: Path) -> None:
    found = re.findall(r"\((\S+)\) \S+ ([0-9A-F]+)#([0-9A-F]*)", (folder / "can.log").read_text())
    for suffix in ("asc", "blf"):
        with can.Logger(folder / f"can.{suffix}") as log:
            for stamp, number, data in found:
                log(
                    can.Message(
                        timestamp=float(stamp),
                        arbitration_id=int(number, 16),
                        is_extended_id=False,
                        data=bytes.fromhex(data),
                        channel=0,
                    )
                )


def _write_transcripts(folder: Path) -> None:
    def clock(time_s: float, mark: str) -> str:
        return f"00:00:{time_s:06.3f}".replace(".", mark)

    items = tuple(Interval(start_s=a, stop_s=b, label=w) for w, a, b in _WORDS)
    tier = Tier(name="words", intervals=items)
    for suffix, write in TIER_WRITERS.items():
        text = write([tier], duration_s=4.0, name="mic")
        (folder / f"words.{suffix.lstrip('.')}").write_text(text)
    (folder / "words.csv").write_text(
        "start_s,end_s,label\n" + "".join(f"{a},{b},{w}\n" for w, a, b in _WORDS)
    )
    cues = [f"{clock(a, ',')} --> {clock(b, ',')}\n{w}\n" for w, a, b in _WORDS]
    (folder / "words.srt").write_text("\n".join(f"{k + 1}\n{cue}" for k, cue in enumerate(cues)))
    (folder / "words.vtt").write_text("WEBVTT\n\n" + "\n".join(cues).replace(",", "."))
