"""Read the timestamp table of a camera: one row per frame, which may name the frame's image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit.model import CameraSpec, Finding
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.columns import STAMPS
from syncaudit.readers.findings import empty_stream
from syncaudit.readers.tables import read_table
from syncaudit.readers.uris import resolve

# Column of the timestamp table that names each frame's image, for folders shared by clips.
FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrameStamps:
    """A timestamp table; with a column ``file`` it also names the image of each frame."""

    time_ns: NDArray[np.int64]
    files: tuple[str, ...] | None
    findings: tuple[Finding, ...]

    @classmethod
    def read(cls, spec: CameraSpec, base_uri: str) -> FrameStamps:
        """Read the table that a camera names."""
        uri = resolve(spec.timestamps or "", base_uri)
        columns = (spec.stamps or STAMPS, FILE)
        table = read_table(uri, text_columns=columns, rows=spec.rows, columns=columns)
        time_ns = table.stamps(
            spec.stamps, may_be_seconds=spec.stamps is not None, unit=spec.units.get(STAMPS_KEY)
        )
        findings = table.findings if table.n_rows else table.findings + empty_stream(uri, "stamps")
        names = table.data.column(FILE).to_pylist() if table.has(FILE) else None
        if not all(isinstance(each, str) and each and "\0" not in each for each in names or ()):
            raise StreamReadError(
                f"'{FILE}' is blank or not text in a row",
                code="corrupt",
                path=uri,
                hint="It names the image of each timestamp, relative to the camera's uri.",
            )
        files = None if names is None else tuple(names)
        return cls(time_ns=time_ns, files=files, findings=findings)


def named_images(spec: CameraSpec, base_uri: str) -> list[str] | None:
    """Return the resolved images that a camera's timestamp table names; None if it names none."""
    if spec.timestamps is None:
        return None
    uri = resolve(spec.timestamps, base_uri)
    table = read_table(uri, text_columns=(FILE,), rows=spec.rows, columns=(FILE,))
    if FILE not in table.names:
        return None
    folder = resolve(spec.uri, base_uri)
    return [resolve(str(name), folder) for name in table.data.column(FILE).to_pylist()]
