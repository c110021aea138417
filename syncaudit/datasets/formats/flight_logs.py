"""Import logs of flight controllers: PX4 (ULog) and ArduPilot (DataFlash, ``.bin``)."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.datasets.formats.log_files import Columns, Log, LogFileFormat, Logged, quiet
from syncaudit.formatting import word_count

_US = 1000
# PX4: topics of raw samples, with the triple they hold.
_TOPICS = {"sensor_gyro": "gyro", "sensor_accel": "accel"}
# The sensor selected by the estimator, used if the raw ones were not logged, or far more rarely:
# PX4 logs them at 1 Hz by default, and at 10 Hz to compare them (logged_topics.cpp).
_COMBINED = "sensor_combined"
_LEAST_SHARE = 0.25
# Columns of its triples, and the names of their periods.
_COMBINED_TRIPLES = {
    "gyro": ("gyro_rad[{}]", "gyro_integral_dt"),
    "accel": ("accelerometer_m_s2[{}]", "accelerometer_integral_dt"),
}
_ACCEL_LATER = "accelerometer_timestamp_relative"  # than the gyroscope, in us
_INVALID = 0x7FFF_FFFF
# ArduPilot: message and sensor number; raw samples, and the filtered ones for flight control.
_KIND = re.compile(r"^(GYR|ACC|IMU)(\d?)$")
_SENSORS = {"GYR": "gyro", "ACC": "accel", "IMU": "imu"}
_COLUMNS = {
    "gyro": {f"gyro_{axis.lower()}": f"Gyr{axis}" for axis in "XYZ"},
    "accel": {f"accel_{axis.lower()}": f"Acc{axis}" for axis in "XYZ"},
}
_COLUMNS["imu"] = _COLUMNS["gyro"] | _COLUMNS["accel"]


class UlogFormat(LogFileFormat):
    """Gyroscopes and accelerometers (``sensor_gyro``, ``sensor_accel``), or ``sensor_combined``.

    A sample is timestamped by ``timestamp_sample`` if the log has it; ``timestamp`` is then its
    publish time.
    """

    name = "ulog"
    summary = "logs of PX4: *.ulg"
    _suffixes = (".ulg", ".ulog")
    _magics = (b"ULog\x01\x12\x35",)
    _module = _package = "pyulog"

    def _load(self, path: Path) -> Any:
        from pyulog import ULog

        with path.open("rb") as file:
            return ULog(file, message_name_filter_list=[*_TOPICS, _COMBINED])

    def _sources_of(self, content: Any, log: Log) -> tuple[dict[str, Logged], list[str]]:
        tables: dict[str, Columns] = {}
        for topic in content.data_list:
            if (triple := _TOPICS.get(topic.name)) is not None:
                names = {f"{triple}_{axis}": axis for axis in "xyz"}
                tables[f"{triple}_{topic.multi_id}"] = _topic_columns(topic.data, names)
        combined = [topic.data for topic in content.data_list if topic.name == _COMBINED]
        averages = _averages(combined[0]) if combined else {}
        n_least = _LEAST_SHARE * max(map(_n_rows, averages.values()), default=0)
        thinned = [name for name, table in tables.items() if 0 < _n_rows(table) < n_least]
        if thinned:
            log.note(
                f"ignored {', '.join(thinned)}: logged far more rarely than sensor_combined. For "
                "their full rate name sensor_gyro and sensor_accel in logger_topics.txt"
            )
        raw = {name: table for name, table in tables.items() if _n_rows(table) > n_least}
        logged = {name: Logged(columns=table) for name, table in (raw or averages).items()}
        return {name: each for name, each in logged.items() if each.columns}, _findings(content)


def _n_rows(table: Columns) -> int:
    return len(table.get("timestamp_ns", ()))


def _topic_columns(data: dict[str, Any], names: dict[str, str]) -> Columns:
    """Return the table of a topic; {} if it lacks an axis or is empty."""
    if not {*names.values(), "timestamp"} <= data.keys() or not len(data["timestamp"]):
        return {}
    columns = {name: data[own].astype(np.float64) for name, own in names.items()}
    published = data["timestamp"].astype(np.int64) * _US
    sampled = data.get("timestamp_sample")
    if sampled is None or not sampled.any():
        return {"timestamp_ns": published, **columns}
    return {
        "timestamp_ns": sampled.astype(np.int64) * _US,
        "receive_ns": published,
        **columns,
    }


def _averages(data: dict[str, Any]) -> dict[str, Columns]:
    """Return the tables of ``sensor_combined``: averages, dated in the middle of their period.

    PX4 dates them at its end. The period is in us, in logs of older versions in float seconds. The
    accelerometer has a table of its own where it was sampled at other times.
    """
    tables: dict[str, Columns] = {}
    for triple, (pattern, dt) in _COMBINED_TRIPLES.items():
        names = {f"{triple}_{axis}": pattern.format(at) for at, axis in enumerate("xyz")}
        table = tables[triple] = _topic_columns(data, names)
        period = data.get(dt, data.get("gyro_integral_dt"))
        if table and period is not None:
            unit_ns = 1e9 if period.dtype.kind == "f" else _US
            table["timestamp_ns"] -= np.rint(period * unit_ns / 2).astype(np.int64)
    later = data.get(_ACCEL_LATER)
    if later is None or not later.any() or not all(tables.values()):
        return {"imu": {**tables["accel"], **tables["gyro"]}}
    is_valid = later != _INVALID
    tables["accel"]["timestamp_ns"] += later.astype(np.int64) * _US
    valid = {name: column[is_valid] for name, column in tables["accel"].items()}
    return {"gyro": tables["gyro"], "accel": valid if is_valid.any() else {}}


def _findings(log: Any) -> list[str]:
    findings = []
    if log.file_corruption:
        findings.append("corrupt: the log is damaged in places, what could be read is used")
    if log.dropouts:
        lost_s = [dropout.duration * 1e-3 for dropout in log.dropouts]
        findings.append(
            f"gap: the logger lost {sum(lost_s):.3g} s in {word_count(len(lost_s), 'dropout')}, "
            f"{max(lost_s):.3g} s at most: use a faster SD card, or log less"
        )
    return findings


class ArduPilotFormat(LogFileFormat):
    """Raw gyroscopes and accelerometers (``GYR``, ``ACC``) if they were logged, else ``IMU``.

    Raw samples are timestamped by ``SampleUS``; ``TimeUS`` is when they were logged.
    """

    name = "ardupilot"
    summary = "logs of ArduPilot: *.bin (DataFlash)"
    _suffixes = (".bin",)
    _magics = (b"\xa3\x95",)
    _module = _package = "pymavlink"

    def _load(self, path: Path) -> Any:
        from pymavlink.DFReader import DFReader_binary

        samples: _Samples = {}
        with ExitStack() as opened, quiet() as said:
            log = DFReader_binary(str(path))
            opened.callback(log.filehandle.close)
            opened.callback(log.data_map.close)
            kinds = [kind for kind in log.name_to_id if _KIND.match(kind)]
            while kinds and (message := log.recv_match(type=kinds)) is not None:
                _take(message, samples)
        return samples, "bad bytes" in said.getvalue()

    def _sources_of(self, content: Any, log: Log) -> tuple[dict[str, Logged], list[str]]:  # noqa: ARG002  # one signature
        samples, is_damaged = content
        is_raw = any(sensor != "imu" for sensor, _ in samples)
        tables = {
            f"{sensor}_{number}": Logged(columns=_sensor_columns(sensor, rows))
            for (sensor, number), rows in samples.items()
            if not (is_raw and sensor == "imu")
        }
        damage = "corrupt: bytes of it are damaged and were skipped. Copy the log again."
        return tables, [damage] if is_damaged else []


_Samples = dict[tuple[str, int], list[list[float]]]


def _take(message: Any, samples: _Samples) -> None:
    """Add a sample: sampling time, logging time, and axes."""
    found = _KIND.match(message.get_type())
    if found is None:
        return
    sensor = _SENSORS[found[1]]
    # In older logs the first sensor's name has no number; newer ones have a field for it.
    number = getattr(message, "I", int(found[2] or 1) - 1)
    logged = message.TimeUS
    axes = [getattr(message, column) for column in _COLUMNS[sensor].values()]
    row = [getattr(message, "SampleUS", logged), logged, *axes]
    samples.setdefault((sensor, number), []).append(row)


def _sensor_columns(sensor: str, rows: list[list[float]]) -> Columns:
    values = np.array([row[2:] for row in rows], dtype=np.float64)
    sampled, logged = np.array([row[:2] for row in rows], dtype=np.int64).T * _US
    return {
        "timestamp_ns": sampled,
        **({} if np.array_equal(sampled, logged) else {"receive_ns": logged}),
        **{name: values[:, at] for at, name in enumerate(_COLUMNS[sensor])},
    }
