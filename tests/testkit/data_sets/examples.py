"""Small data sets of every format, for the contract test that all formats run.

An example is one module function `write_<format>(folder, n_clips)`: it writes a data set with
`n_clips` clips, deterministically to the byte, and returns the path to pass to the importer.
`EXAMPLES` is the table; a new format adds its line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testkit.data_sets.comma_data import write_comma2k19
from testkit.data_sets.donkeycar_data import write_tubs
from testkit.data_sets.droid_data import write_droid
from testkit.data_sets.flight_logs import write_ardupilot, write_ulog
from testkit.data_sets.hdf5_data import write_aloha
from testkit.data_sets.lerobot_data import write_lerobot_v3
from testkit.data_sets.nuscenes_data import write_nuscenes
from testkit.data_sets.openpilot_data import write_comma
from testkit.data_sets.plain_folder import write_plain_folder
from testkit.data_sets.rlds_data import write_rlds
from testkit.data_sets.slam_data import write_argoverse2, write_euroc, write_kitti
from testkit.data_sets.telemetry_data import write_telemetry
from testkit.data_sets.videoimu_data import write_videoimu
from testkit.data_sets.webdataset_data import write_webdataset
from testkit.data_sets.written_bags import write_mcaps, write_rosbags
from testkit.data_sets.xdf_data import write_xdf
from testkit.data_sets.zarr_data import write_zarr


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """The example of one format.

    Parameters
    ----------
    write : callable
        Takes (empty folder, number of clips) and returns the source to import.
    broken : mapping of str to (path in the source, new bytes or None to delete, pattern)
        Damage that makes the whole data set invalid, and the expected error message.
    """

    write: Callable[[Path, int], Path]
    broken: tuple[tuple[str, bytes | None, str], ...] = ()


EXAMPLES: dict[str, Example] = {
    "comma2k19": Example(write=write_comma2k19),
    "comma": Example(write=write_comma),
    "euroc": Example(write=write_euroc),
    "kitti": Example(write=write_kitti),
    "argoverse2": Example(write=write_argoverse2),
    "ulog": Example(write=write_ulog),
    "ardupilot": Example(write=write_ardupilot),
    "xdf": Example(write=write_xdf),
    "videoimu": Example(write=write_videoimu),
    "telemetry": Example(write=write_telemetry),
    "webdataset": Example(
        write=write_webdataset,
        broken=(
            ("train-000000.tar", b"no archive" * 100, "not an intact tar"),
            ("train-000000.tar", b"", "empty"),
            ("train-000000.tar", None, r"no \*\.tar"),
        ),
    ),
    "folder": Example(write=write_plain_folder),
    "mcap": Example(write=write_mcaps),
    "rosbag": Example(write=write_rosbags),
    "donkeycar": Example(write=write_tubs),
    "droid": Example(write=write_droid),
    "hdf5": Example(write=write_aloha),
    "lerobot": Example(
        write=write_lerobot_v3,
        broken=(
            ("meta/info.json", b"{", "not valid JSON"),
            ("meta/info.json", b'{"codebase_version": "v3.0"}', "is missing"),
            ("meta/info.json", b'{"codebase_version": "v1.6"}', "expected v2.x or v3.x"),
            ("meta/episodes/chunk-000/file-000.parquet", b"PAR1", "not an intact Parquet.*again"),
            ("meta/episodes/chunk-000/file-000.parquet", None, "holds no episodes"),
        ),
    ),
    "rlds": Example(
        write=write_rlds,
        broken=(
            ("1.0.0/features.json", b"{", "not valid JSON.*Copy"),
            ("1.0.0/features.json", b"{}", "describes no 'steps'"),
            ("1.0.0/features.json", b'{"featuresDict": []}', "not a description of features"),
            ("1.0.0/features.json", None, "no folder with features.json"),
            ("1.0.0/toy_arm-train.tfrecord-00000-of-00001", b"", "the file is empty"),
        ),
    ),
    "zarr": Example(
        write=write_zarr,
        broken=(
            ("meta/episode_ends/zarr.json", b"{", "does not delimit its episodes"),
            ("zarr.json", b"{", "not an intact zarr group.*Copy it again"),
        ),
    ),
    "nuscenes": Example(
        write=write_nuscenes,
        broken=(
            ("v1.0-mini/sample_data.json", b'[{"token": "a"', "not valid JSON.*Copy"),
            ("v1.0-mini/sample_data.json", b"{}", "not a list of objects"),
            ("v1.0-mini/sample_data.json", None, "lacks sample_data"),
            ("v1.0-mini/scene.json", b"[]", "holds no clip"),
            ("v1.0-mini/scene.json", b"[1]", "item 0 is not an object"),
        ),
    ),
}
