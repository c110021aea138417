"""Import recordings of the Lab Streaming Layer (XDF)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.datasets.formats.log_files import Log, LogFileFormat, Logged
from syncaudit.datasets.starter_rules import guess_source
from syncaudit.model.arrays import Floats

# Stream types (github.com/sccn/xdf/wiki/Meta-Data) that carry positions, in lower case.
_STATES = ("mocap", "position", "joint", "robot", "pose")
# Timestamps that run back by more than this indicate that the clock was restarted.
_ANEW_S = 1.0
_BEGAN_ANEW = (
    "step: the clock of the stream began anew, which pyxdf cannot follow: its stamps are those of "
    "the device, as they were recorded"
)
_UNFINISHED = "corrupt: the stream has no end mark: the recording was cut off, or never closed"
_UNSAFE = re.compile(r"\W+")


class XdfFormat(LogFileFormat):
    """Streams of inertial sensors, buses and positions, and markers as events.

    Timestamps are mapped to the recorder's clock by its measurements of every stream's clock, as
    the format demands, with a line for each segment between steps of that clock. They are not
    smoothed: jitter is evidence.
    """

    name = "xdf"
    summary = "recordings of the Lab Streaming Layer: *.xdf"
    _suffixes = (".xdf",)
    _magics = (b"XDF:",)
    _module = _package = "pyxdf"

    def _load(self, path: Path) -> Any:
        import pyxdf

        recorded_s: defaultdict[int, list[Floats]] = defaultdict(list)  # on the streams' own clocks

        def keep(values: Any, own_s: Floats, info: Any, number: int) -> tuple[Any, Floats, Any]:
            recorded_s[number].append(own_s.copy())
            return values, own_s, info

        return pyxdf.load_xdf(str(path), on_chunk=keep, dejitter_timestamps=False)[0], recorded_s

    def _sources_of(self, content: Any, log: Log) -> tuple[dict[str, Logged], list[str]]:
        streams, recorded_s = content
        logged: dict[str, Logged] = {}
        for stream in streams:
            info = stream["info"]
            found = _logged(stream, recorded_s[info["stream_id"]])
            if found is None:
                kind = _text(info, "type") or "no type"
                log.note(f"ignored streams of {kind}: nothing here describes motion or events")
                continue
            name = _UNSAFE.sub("_", _text(info, "name")).strip("_") or "stream"
            logged[name if name not in logged else f"{name}_{info['stream_id']}"] = found
        return logged, []


def _logged(stream: Mapping[str, Any], recorded_s: Sequence[Floats]) -> Logged | None:
    """Return the source in a stream; None if it contains neither motion nor events."""
    info = stream["info"]
    times_s = np.asarray(stream["time_stamps"], dtype=np.float64)
    own_s = np.concatenate([times_s[:0], *recorded_s])
    findings = _jumps(info["clock_segments"], times_s.size)
    if np.any(np.diff(own_s) < -_ANEW_S):
        times_s, findings = own_s, [_BEGAN_ANEW]
    if stream.get("footer") is None:
        findings.append(_UNFINISHED)
    with np.errstate(invalid="ignore"):  # no number, or too large: the least one, far backwards
        stamps = {"timestamp_ns": np.rint(1e9 * times_s).astype(np.int64)}
    if _text(info, "channel_format") == "string":
        return Logged(columns=stamps, row={"kind": "events"}, findings=findings)
    values = np.asarray(stream["time_series"], dtype=np.float64)
    labels = _labels(info, values.shape[1])
    row = guess_source(labels)
    if row["kind"] not in ("imu", "can"):
        if not _text(info, "type").lower().startswith(_STATES):
            return None
        row = {"kind": "state"}
    columns = dict(zip(labels, values.T, strict=True))
    return Logged(columns=stamps | columns, row=row, findings=findings)


def _labels(info: Mapping[str, Any], n: int) -> list[str]:
    """Return the channel names with units; missing and repeated names become numbers."""
    channels = [
        channel
        for description in info.get("desc") or []
        if description
        for group in description.get("channels") or []
        if group
        for channel in group.get("channel") or []
    ]
    names = [f"channel_{number}" for number in range(n)]
    for number, channel in enumerate(channels[:n]):
        label, unit = _text(channel, "label"), _text(channel, "unit")
        if label and label not in names:
            names[number] = f"{label} [{unit}]" if unit else label
    return names


def _text(table: Mapping[str, Any], key: str) -> str:
    """Return a value from the XML, where each is a list of strings."""
    found = table.get(key) or [""]
    return str(found[0] or "").strip()


def _jumps(segments: Sequence[tuple[int, int]], n: int) -> list[str]:
    """Report steps of the clock: samples before and after do not share one line."""
    firsts = [str(first) for first, _ in segments if 0 < first < n]
    if not firsts:
        return []
    return [
        f"step: the clock of the stream jumped before sample {', '.join(firsts)}: stamps of each "
        "stretch were set to the recorder's clock by themselves"
    ]
