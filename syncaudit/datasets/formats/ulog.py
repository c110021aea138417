"""Import logs of PX4 (ULog)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.datasets.formats.log_files import Columns, Log, LogFileFormat, Logged
from syncaudit.formatting import word_count

__all__ = ["UlogFormat"]

_US = 1000
# Topics of raw samples, with the triple they hold.
_TOPICS = {"sensor_gyro": "gyro", "sensor_accel": "accel"}
# The sensor selected by the estimator, used if the raw ones were not logged.
_COMBINED = "sensor_combined"
_COMBINED_TRIPLES = {"gyro": "gyro_rad[{}]", "accel": "accelerometer_m_s2[{}]"}


class UlogFormat(LogFileFormat):
    """Gyroscopes and accelerometers (``sensor_gyro``, ``sensor_accel``), else ``sensor_combined``.

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

    def _sources_of(self, content: Any, log: Log) -> tuple[dict[str, Logged], list[str]]:  # noqa: ARG002  # one signature
        tables: dict[str, Columns] = {}
        for topic in content.data_list:
            if (triple := _TOPICS.get(topic.name)) is not None:
                names = {f"{triple}_{axis}": axis for axis in "xyz"}
                tables[f"{triple}_{topic.multi_id}"] = _columns(topic.data, names)
        if not any(tables.values()):
            names = {
                f"{triple}_{axis}": pattern.format(at)
                for triple, pattern in _COMBINED_TRIPLES.items()
                for at, axis in enumerate("xyz")
            }
            combined = [topic for topic in content.data_list if topic.name == _COMBINED]
            tables = {"imu": _columns(combined[0].data, names)} if combined else {}
        logged = {name: Logged(columns=table) for name, table in tables.items() if table}
        return logged, _findings(content)


def _columns(data: dict[str, Any], names: dict[str, str]) -> Columns:
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
