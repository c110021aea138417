"""Segments of openpilot, written by pycapnp with the union and field numbers of its own schema."""

from __future__ import annotations

import bz2
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

ROUTE = "0123456789abcdef|2024-05-06--07-08-09"
BOOT_NS = 812_345_678_901
READOUT_NS = 22_850_000
RATE_HZ = 20
# The fields of `Event` that are written here. All other members of its union count as well.
_FIELDS = {
    1: "initData :InitData",
    2: "roadCameraState :FrameData",
    5: "can :List(CanData)",
    11: "sensorEvents :List(SensorEventData)",
    15: "roadEncodeIdx :EncodeIndex",
    22: "carState :CarState",
    48: "gpsLocationExternal :GpsLocationData",
    76: "driverEncodeIdx :EncodeIndex",
    98: "accelerometer :SensorEventData",
    99: "gyroscope :SensorEventData",
}
_SCHEMA = """@0xb1c2d3e4f5a69788;
struct CanData { address @0 :UInt32; busTime @1 :UInt16; dat @2 :Data; src @3 :UInt8; }
struct InitData {
  kernelArgs @0 :List(Text); b @1 :Text; dongleId @2 :Text; deviceType @3 :DeviceType;
  version @4 :Text; f @5 :Text;
  enum DeviceType { unknown @0; neo @1; android @2; ios @3; tici @4; }
}
struct FrameData {
  frameId @0 :UInt32; encodeId @1 :UInt32; timestampEof @2 :UInt64; d @3 :Int32;
  integLines @4 :Int32; f @5 :Int32; image @6 :Data; h @7 :FrameType; timestampSof @8 :UInt64;
  j @9 :CanData; transform @10 :List(Float32); l @11 :Int32; m @12 :Float32; n @13 :Float32;
  o @14 :Float32; gain @15 :Float32; q @16 :List(Int16); r @17 :List(UInt8); s @18 :List(UInt16);
  t @19 :Int32; highGain @20 :Bool; grey @21 :Float32; w @22 :Float32; took @23 :Float32;
  temperatures @24 :List(Float32); frameIdSensor @25 :UInt32; sensor @26 :ImageSensor;
  exposure @27 :Float32; requestId @28 :UInt32;
  enum FrameType { unknown @0; neo @1; }
  enum ImageSensor { unknown @0; ar0231 @1; ox03c10 @2; os04c10 @3; }
}
struct EncodeIndex {
  frameId @0 :UInt32; type @1 :Type; encodeId @2 :UInt32; segmentNum @3 :Int32;
  segmentId @4 :UInt32; segmentIdEncode @5 :UInt32; timestampSof @6 :UInt64;
  timestampEof @7 :UInt64; flags @8 :UInt32; len @9 :UInt32;
  enum Type { lossless @0; fullHEVC @1; }
}
struct SensorEventData {
  version @0 :Int32; sensor @1 :Int32; type @2 :Int32; timestamp @3 :Int64;
  uncalibrated @10 :Bool;
  union {
    acceleration @4 :SensorVec; magnetic @5 :SensorVec; orientation @6 :SensorVec;
    gyro @7 :SensorVec; pressure @9 :SensorVec; magneticUncalibrated @11 :SensorVec;
    gyroUncalibrated @12 :SensorVec; proximity @13 :Float32;
  }
  source @8 :Source;
  struct SensorVec { v @0 :List(Float32); status @1 :Int8; }
  enum Source { android @0; iOS @1; fiber @2; velodyne @3; bno055 @4; lsm6ds3 @5; }
}
struct CarState {
  a @0 :List(CanData); vEgo @1 :Float32; wheelSpeeds @2 :CanData; gas @3 :Float32; e @4 :Bool;
  brake @5 :Float32; g @6 :Bool; steeringAngleDeg @7 :Float32; torque @8 :Float32; j @9 :Bool;
  cruise @10 :CanData; l @11 :List(CanData); m @12 :List(UInt64); n @13 :List(CanData);
  gear @14 :Gear; rate @15 :Float32; aEgo @16 :Float32; vEgoRaw @17 :Float32; s @18 :Bool;
  t @19 :Bool; u @20 :Bool; v @21 :Bool; yawRate @22 :Float32; x @23 :Bool;
  enum Gear { unknown @0; park @1; }
}
struct GpsLocationData {
  flags @0 :UInt16; latitude @1 :Float64; longitude @2 :Float64; altitude @3 :Float64;
  speed @4 :Float32; bearing @5 :Float32; accuracy @6 :Float32; unixTimestampMillis @7 :Int64;
  source @8 :Source; vNED @9 :List(Float32); k @10 :Float32; l @11 :Float32; m @12 :Float32;
  hasFix @13 :Bool; satellites @14 :Int8;
  enum Source { android @0; iOS @1; }
}
struct Event {
  logMonoTime @0 :UInt64;
  valid @67 :Bool = true;
  union {
%s
  }
}
"""


@cache
def _event() -> Any:
    import capnp

    members = [
        f"{_FIELDS.get(number, f'unused{number} :Void').replace(' :', f' @{number} :')};"
        for number in range(1, 103)
        if number != 67
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder, "log.capnp")
        path.write_text(_SCHEMA % "\n".join(members))
        return capnp.load(str(path)).Event


def packed(events: Iterable[tuple[int, Mapping[str, Any]]]) -> bytes:
    """Return a log of (logMonoTime, content of the event)."""
    messages = (_event().new_message(logMonoTime=time, **held) for time, held in events)
    return b"".join(message.to_bytes() for message in messages)


def init(**held: Any) -> tuple[int, dict[str, Any]]:
    """Return the first event of a log."""
    said = {"dongleId": "0123456789abcdef", "deviceType": "tici", "version": "0.9.7"}
    return BOOT_NS, {"initData": said | held}


def frames(
    n: int, *, segment: int = 0, camera: str = "road", is_dated: bool = True
) -> list[tuple[int, dict[str, Any]]]:
    """Return state and index of every frame at 20 Hz; if not `is_dated`, only states have times."""
    events: list[tuple[int, dict[str, Any]]] = []
    for number in range(n):
        stop = BOOT_NS + (segment * n + number) * 10**9 // RATE_HZ
        times = {"timestampSof": stop - READOUT_NS, "timestampEof": stop}
        frame_id = 5 + segment * n + number
        index = {"frameId": frame_id, "segmentNum": segment, "segmentId": number}
        if camera == "road":
            state = {"frameId": frame_id, "sensor": "ox03c10", **times}
            events.append((stop + 1_000_000, {"roadCameraState": state}))
        index |= times if is_dated else {}
        events.append((stop + 40_000_000, {f"{camera}EncodeIdx": index}))
    return events


def sensor(
    times_ns: np.ndarray, values: np.ndarray, kind: str, **said: Any
) -> list[tuple[int, dict[str, Any]]]:
    """Return samples of an inertial sensor, published 2 ms later."""
    service = "gyroscope" if kind.startswith("gyro") else "accelerometer"
    return [
        (
            time + 2_000_000,
            {service: {"timestamp": time, kind: {"v": v}, "source": "lsm6ds3", **said}},
        )
        for time, v in zip(times_ns.tolist(), values.tolist(), strict=True)
    ]


def write_comma(folder: Path, n_clips: int) -> Path:
    """Write segments of two seconds; of the video only a file with the right name."""
    root = folder / "realdata"
    n = 2 * RATE_HZ
    for number in range(n_clips):
        segment = root / f"{ROUTE}--{number}"
        segment.mkdir(parents=True)
        times = BOOT_NS + np.arange(2 * number * 10**9, 2 * (number + 1) * 10**9, 10**7)
        cars = [
            (time, {"carState": {"vEgo": 9.0, "vEgoRaw": 10.0, "steeringAngleDeg": 4.0}})
            for time in times.tolist()
        ]
        events = [
            init(),
            *frames(n, segment=number),
            *sensor(times, np.full((200, 3), 0.125), "gyroUncalibrated"),
            *sensor(times, np.full((200, 3), 9.75), "acceleration"),
            *cars,
        ]
        (segment / "rlog.bz2").write_bytes(bz2.compress(packed(events)))
        (segment / "fcamera.hevc").write_bytes(b"not looked at")
    return root
