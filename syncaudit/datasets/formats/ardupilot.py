"""Import logs of ArduPilot (DataFlash, ``.bin``)."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.datasets.formats.log_files import Columns, Log, LogFileFormat, Logged, quiet

__all__ = ["ArduPilotFormat"]

_US = 1000
# Message and sensor number; raw samples, and the filtered ones used by flight control.
_KIND = re.compile(r"^(GYR|ACC|IMU)(\d?)$")
_SENSORS = {"GYR": "gyro", "ACC": "accel", "IMU": "imu"}
_COLUMNS = {
    "gyro": {f"gyro_{axis.lower()}": f"Gyr{axis}" for axis in "XYZ"},
    "accel": {f"accel_{axis.lower()}": f"Acc{axis}" for axis in "XYZ"},
}
_COLUMNS["imu"] = _COLUMNS["gyro"] | _COLUMNS["accel"]


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
            f"{sensor}_{number}": Logged(columns=_columns(sensor, rows))
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


def _columns(sensor: str, rows: list[list[float]]) -> Columns:
    """Return the table of a sensor."""
    values = np.array([row[2:] for row in rows], dtype=np.float64)
    sampled, logged = np.array([row[:2] for row in rows], dtype=np.int64).T * _US
    return {
        "timestamp_ns": sampled,
        **({} if np.array_equal(sampled, logged) else {"receive_ns": logged}),
        **{name: values[:, at] for at, name in enumerate(_COLUMNS[sensor])},
    }
