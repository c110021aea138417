"""Import nuScenes: scene and sample tables, images of six cameras, the CAN bus expansion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from syncaudit.datasets.formats.nuscenes_bus import bus_sources
from syncaudit.datasets.formats.nuscenes_index import Frame, SceneIndex
from syncaudit.datasets.json_lines import iter_json_list
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError
from syncaudit.model import CameraSpec, Clip, SourceSpec

__all__ = ["NuScenesFormat"]

_TABLES = ("scene", "sample", "sample_data", "calibrated_sensor", "sensor")
# Of several versions in one folder, the one with most scenes; mini is a part of trainval.
_PREFERRED = ("v1.0-trainval", "v1.0-test", "v1.0-mini")


class NuScenesFormat:
    """One clip per scene: every image of every camera, and the vehicle's bus.

    The cameras (Basler acA1600-60gc) have a global shutter unless configured otherwise, which is
    not published. An image's timestamp is the time at which its exposure was triggered (Caesar et
    al., nuScenes: A multimodal dataset for autonomous driving, CVPR 2020): the start of the frame.
    The cameras fire in turn, when the lidar's beam passes the middle of their view. Their
    timestamps differ by exactly that, and each is right: no correction is needed, so
    `expected_offset_s` stays 0.
    """

    name = "nuscenes"
    summary = "nuScenes v1.0-*: tables, samples/, sweeps/ and can_bus/"
    takes_rules = False

    def probe(self, source: Source) -> str | None:
        """Accept a folder with a ``v1.0-*`` folder of tables, or that folder."""
        found = _find(source)
        if found is None:
            return "no folder v1.0-* with the tables scene.json, sample_data.json ..."
        missing = [name for name in _TABLES if not found[0].has(f"{found[1]}/{name}.json")]
        return f"{found[1]} lacks {', '.join(missing)} (.json)" if missing else None

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the scenes in the order of their table."""
        found = _find(source)
        if found is None:
            raise ManifestError("holds no tables v1.0-*", path=source.uri, hint="Unpack them.")
        root, version = found
        others = [name for name in _versions(root) if name != version]
        if others and source.base_uri == root.base_uri:
            job.note(f"took {version}; to take another, name its folder: {', '.join(others)}")
        logs = _logs(root, version)
        with SceneIndex() as index:
            index.fill(root, version)
            for channel, modality in index.other_channels:
                job.note(f"ignored {channel}: {modality} is not read")
            for scene in iter_json_list(root, f"{version}/scene.json"):
                clip = _clip(root, scene, logs, index, job)
                if clip is not None:
                    yield clip


def _clip(
    root: Source,
    scene: Mapping[str, Any],
    logs: Mapping[str, str],
    index: SceneIndex,
    job: Import,
) -> Clip | None:
    name, token = scene.get("name"), scene.get("token")
    if not isinstance(name, str) or not isinstance(token, str) or not name:
        raise ManifestError("a scene has no name or token", path=root.uri, hint="Copy it again.")
    sources: dict[str, SourceSpec] = {
        channel: _camera(name, channel, frames, job) for channel, frames in index.cameras_of(token)
    }
    sources |= bus_sources(root, name, job)
    if not sources:
        job.note("left out a scene without images or CAN bus")
        return None
    # Scenes of one log were recorded in one session: they share their clocks.
    log = logs.get(str(scene.get("log_token")), name)
    return root.clip(name, sources, recording_id=log)


def _camera(scene: str, channel: str, frames: list[Frame], job: Import) -> CameraSpec:
    # Images of all scenes are in two folders: a table names those of this scene.
    uri = job.sidecars.write_table(
        f"{scene}/{channel}.parquet",
        {
            "timestamp_ns": [frame.time_us * 1000 for frame in frames],
            "file": [frame.file for frame in frames],
        },
    )
    job.note(f"{channel} -> camera, samples and sweeps")
    return CameraSpec(
        uri=".",
        timestamps=uri,
        stamp_at="start_of_frame",
        line_delay_s=0.0,
        focal_px=frames[0].focal_px,
    )


def _find(source: Source) -> tuple[Source, str] | None:
    """Return (root, name of the version folder)."""
    if source.file is not None:
        return None
    name = PurePosixPath(source.base_uri.split("::")[0]).name
    if name.startswith("v1.0-") and source.has("scene.json"):
        return Source(source.parent_uri), name
    versions = _versions(source)
    if not versions:
        return None
    return source, next((name for name in _PREFERRED if name in versions), versions[0])


def _versions(root: Source) -> list[str]:
    return [name for name in root.folders(pattern="v1.0-*") if root.has(f"{name}/scene.json")]


def _logs(root: Source, version: str) -> dict[str, str]:
    """Return log names by token; there are few of them."""
    name = f"{version}/log.json"
    if not root.has(name):
        return {}
    return {
        str(log.get("token")): str(log["logfile"])
        for log in iter_json_list(root, name)
        if log.get("logfile")
    }
