"""Import ROS 1 bags, and ROS 2 bags in SQLite or MCAP files, without ROS."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError, MissingExtraError
from syncaudit.model import Clip


class RosbagFormat:
    """One recording per bag: ``.bag`` files, ``.db3`` files, folders with ``metadata.yaml``.

    Cameras, inertial sensors, joint states and CAN frames become sources; the header stamp is used
    if it is set, the receive and publish stamps are kept beside it (``arrivals``).
    """

    name = "rosbag"
    summary = "ROS 1 .bag files; ROS 2 bags (metadata.yaml with .db3 or .mcap files); no ROS needed"
    takes_rules = True
    _suffixes: tuple[str, ...] = (".bag", ".active", ".db3", ".mcap")
    _needed: tuple[str, ...] = ("rosbags", "mcap")

    def probe(self, source: Source) -> str | None:
        """Accept a storage file, or a folder that contains one."""
        from syncaudit.datasets.bags.storage import has_storage

        if has_storage(source, self._suffixes):
            return None
        return f"no {', '.join(s for s in self._suffixes if s != '.active')} file is in it"

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the clips of every recording, the messages of each read once."""
        for package in self._needed:
            if find_spec(package) is None:
                raise MissingExtraError(package, extra="ros", purpose=f"the format {self.name}")
        from syncaudit.datasets.bags.recording import clips_of
        from syncaudit.datasets.bags.rules import parse_bag_rules
        from syncaudit.datasets.bags.storage import find_recordings

        rules = parse_bag_rules(job.rules)
        n_clips = 0
        for recording in find_recordings(source, self._suffixes):
            for clip in clips_of(source, recording, rules, job):
                n_clips += 1
                yield clip
        if not n_clips:
            raise ManifestError(
                "it holds no camera, IMU, joint states, CAN or sound. Topics: "
                + ("; ".join(list(job.notes)[:10]) or "none"),
                path=source.uri,
                hint="These are sensor_msgs Image, CompressedImage, Imu, JointState, can_msgs "
                "Frame, audio_common_msgs, and Foxglove's images and videos.",
            )


class McapFormat(RosbagFormat):
    """MCAP files of ROS 1, ROS 2 or Foxglove messages, one recording per file."""

    name = "mcap"
    summary = "MCAP files with ROS 1, ROS 2 or Foxglove (Protobuf, JSON) messages"
    _suffixes = (".mcap",)

    def probe(self, source: Source) -> str | None:
        """Accept a file or folder with MCAP files and no other bags."""
        from syncaudit.datasets.bags.storage import has_storage

        others = (".bag", ".active", ".db3")
        if has_storage(source, others):
            return "ROS bags of other kinds are in it: that is the format rosbag"
        return super().probe(source)
