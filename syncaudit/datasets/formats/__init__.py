"""Provide the data set formats that syncaudit imports.

Other packages add theirs through the entry-point group ``syncaudit.formats``: the object is a
`DatasetFormat` (an instance).
"""

from __future__ import annotations

from collections.abc import Iterator

from syncaudit.datasets.formats.argoverse2 import Argoverse2Format
from syncaudit.datasets.formats.comma import CommaFormat
from syncaudit.datasets.formats.comma2k19 import Comma2k19Format
from syncaudit.datasets.formats.donkeycar import DonkeycarFormat
from syncaudit.datasets.formats.droid import DroidFormat
from syncaudit.datasets.formats.euroc import EurocFormat
from syncaudit.datasets.formats.flight_logs import ArduPilotFormat, UlogFormat
from syncaudit.datasets.formats.folder import FolderFormat
from syncaudit.datasets.formats.hdf5 import Hdf5Format
from syncaudit.datasets.formats.kitti import KittiFormat
from syncaudit.datasets.formats.lerobot import LeRobotFormat
from syncaudit.datasets.formats.nuscenes import NuScenesFormat
from syncaudit.datasets.formats.rlds import RldsFormat
from syncaudit.datasets.formats.rosbag import McapFormat, RosbagFormat
from syncaudit.datasets.formats.telemetry import TelemetryFormat
from syncaudit.datasets.formats.videoimu import VideoImuFormat
from syncaudit.datasets.formats.webdataset import WebDatasetFormat
from syncaudit.datasets.formats.xdf import XdfFormat
from syncaudit.datasets.formats.zarr_buffer import ZarrFormat
from syncaudit.datasets.protocol import DatasetFormat, Import
from syncaudit.datasets.source import Source
from syncaudit.errors import UsageError, nearest_name
from syncaudit.model import Clip
from syncaudit.plugins import FORMATS, entry_points_of

__all__ = ["DatasetFormat", "Import", "all_formats", "get_format"]

# In probing order: the more specific before the more general.
_BUILT_IN: tuple[DatasetFormat, ...] = (
    NuScenesFormat(),
    LeRobotFormat(),
    RldsFormat(),
    DroidFormat(),
    Hdf5Format(),
    ZarrFormat(),
    McapFormat(),
    RosbagFormat(),
    Comma2k19Format(),
    CommaFormat(),
    EurocFormat(),
    KittiFormat(),
    Argoverse2Format(),
    UlogFormat(),
    ArduPilotFormat(),
    XdfFormat(),
    VideoImuFormat(),
    DonkeycarFormat(),
    WebDatasetFormat(),
    TelemetryFormat(),
    FolderFormat(),
)


def all_formats() -> dict[str, DatasetFormat]:
    """Return every format by name in probing order, built-in ones first."""
    formats = {each.name: each for each in _BUILT_IN}
    for point in entry_points_of(FORMATS):
        try:
            added: DatasetFormat = point.load()
            formats.setdefault(added.name, added)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # a broken plug-in must not affect others
            why = str(error) if isinstance(error, ImportError) else repr(error)
            formats.setdefault(point.name, _Unavailable(point.name, why))
    return formats


class _Unavailable:
    """A format of another package that cannot be imported: it declines with the reason."""

    takes_rules = True

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self.summary = f"unavailable: {why}"

    def probe(self, source: Source) -> str | None:  # noqa: ARG002  # one signature
        return self.summary

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:  # noqa: ARG002
        raise UsageError(f"the format {self.name} is {self.summary}", hint="Install what it needs.")


def get_format(name: str) -> DatasetFormat:
    """Return the format with that name.

    UsageError if there is none; the error lists the formats.
    """
    formats = all_formats()
    if name not in formats:
        listed = "; ".join(f"{each.name} ({each.summary})" for each in formats.values())
        raise UsageError(
            f"there is no format '{name}'",
            hint=f"{nearest_name(name, formats)} Formats: {listed}; auto (found by probing).",
        )
    return formats[name]
