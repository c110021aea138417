"""Findings and corrections as a Rerun recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from syncaudit.errors import MissingExtraError
from syncaudit.report.overlay.overlay import Overlay
from syncaudit.writing import draft_of

# Timeline on which Rerun puts the messages of an MCAP file.
_TIMELINE = "message_log_time"
_LEVELS = {"info": "INFO", "warning": "WARN", "error": "ERROR"}


def write_rerun(overlay: Overlay, path: Path) -> None:
    """Write an overlay: text log ``syncaudit/log``, and a series of corrections per source.

    ``syncaudit/SOURCE/offset_ms`` holds the offset to add to its timestamps,
    ``syncaudit/SOURCE/offset_std_ms`` its standard error.

    The file is replaced in one step; `Signature.RERUN` identifies it as ours. MissingExtraError if
    the package ``rerun-sdk`` is not installed.
    """
    try:
        import rerun
    except ImportError as error:
        raise MissingExtraError("rerun-sdk", extra="rerun", purpose="Writing .rrd") from error
    with draft_of(path) as draft:
        recording = rerun.RecordingStream("syncaudit", recording_id=overlay.clip_id)
        recording.save(draft)
        for note in overlay.notes:
            recording.set_time(_TIMELINE, timestamp=np.datetime64(note.time_ns, "ns"))
            text = f"{note.source}: {note.message}" if note.source else note.message
            recording.log("syncaudit/log", rerun.TextLog(text, level=_LEVELS[note.level]))
        for name, found in overlay.corrections.items():
            times = rerun.TimeColumn(_TIMELINE, timestamp=found.time_ns.astype("datetime64[ns]"))
            for title, values_s in (
                ("offset_ms", found.offset_s),
                ("offset_std_ms", found.offset_std_s),
            ):
                recording.send_columns(
                    f"syncaudit/{name}/{title}",
                    indexes=[times],
                    columns=rerun.Scalars.columns(scalars=1e3 * values_s),
                )
        recording.disconnect()
