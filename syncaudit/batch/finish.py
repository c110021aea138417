"""Turn a ledger into the outputs of a run: pooled recordings, tables, splits, summary, report."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from syncaudit import __version__
from syncaudit.batch.data_sets import DataSets
from syncaudit.batch.episodes import write_keep
from syncaudit.batch.json_encoding import to_plain
from syncaudit.batch.ledger import Ledger
from syncaudit.batch.outputs import RowMaker, write_json, write_split
from syncaudit.batch.recordings import pool_recordings, write_recordings
from syncaudit.batch.summary import BatchSummary, Tally
from syncaudit.batch.tables import write_parquet
from syncaudit.model import CameraSpec, Clip, SourceSpec
from syncaudit.policy import Policy
from syncaudit.readers.uris import resolve
from syncaudit.report import Thumbnail, ThumbnailMaker, write_report
from syncaudit.writing import sync_folder

_PACKAGES = ("numpy", "scipy", "opencv-python-headless", "opencv-python", "av", "pyarrow", "ray")
# Images of the report: about 0.1 s each on a disk; slow storage must not delay a run.
_PICTURES_S = 20.0


def finish(
    clips: Sequence[Clip],
    ledger: Ledger,
    policy: Policy,
    about: Mapping[str, object],
    *,
    began_s: float,
    reused: int,
    workers: int,
    stopped: str | None = None,
    to_row: RowMaker | None = None,
    with_images: bool = True,
) -> BatchSummary:
    """Pool recordings and write every output from the ledger into its folder.

    `about` holds further entries of the summary; `began_s` is a time of `time.monotonic`. Without
    `to_row` split manifests are not written; `with_images` allows the report to open the cameras
    of its few worst clips and show a frame of each.
    """
    wall_s = time.monotonic() - began_s
    folder = ledger.path.parent
    clip_ids = [clip.clip_id for clip in clips]
    ledger.settle()
    data_sets = DataSets(clips, ledger, policy)
    recordings = write_recordings(
        pool_recordings(clips, ledger, policy, data_sets), folder / "recordings.jsonl"
    )
    data_sets.write(folder)
    tally = Tally()
    for verdict in ledger.verdicts(clip_ids):
        tally.add(verdict)
    summary = BatchSummary(
        total=len(clips),
        reused=reused,
        tally=tally,
        wall_s=wall_s,
        workers=workers,
        stopped=stopped,
        out=folder,
        tolerances_s=_tolerances(clips, policy),
        recordings=recordings,
        data_sets=data_sets.rows(),
        about={
            **about,
            "row_digests": True,
            "repeated_clips": repeated_clips(clips),
            "policy": to_plain(policy),
            "versions": _versions(),
        },
    )
    write_parquet(ledger.rows(clip_ids), folder / "verdicts.parquet")
    ledger.rewrite(clip_ids)
    if to_row is not None:
        write_split(clips, ledger.verdict, to_row, folder)
    write_keep(clips, ledger.verdict, folder)
    write_report(
        ledger.verdicts(clip_ids),
        summary.to_json(),
        folder / "report.html",
        # A user who stops a run does not want to wait for images.
        thumbnails=_thumbnail_maker(clips) if with_images and stopped is None else None,
    )
    # Last, and flushed to disk: it states that all other outputs are complete.
    sync_folder(folder)
    write_json(summary.to_json(), folder / "summary.json", is_durable=True)
    return summary


def _thumbnail_maker(clips: Sequence[Clip]) -> ThumbnailMaker:
    """Return a function that extracts frames of a clip while the time budget lasts."""
    spent_s = 0.0

    def thumbnails(clip_id: str, sources: Sequence[str]) -> Sequence[Thumbnail]:
        nonlocal spent_s
        clip = next((clip for clip in clips if clip.clip_id == clip_id), None)
        if clip is None or spent_s > _PICTURES_S:
            return ()
        from syncaudit.pipeline.thumbnails import take_thumbnails  # heavy, and only for the report

        began = time.monotonic()
        found = take_thumbnails(clip, sources)
        spent_s += time.monotonic() - began
        return found

    return thumbnails


def _tolerances(clips: Sequence[Clip], policy: Policy) -> dict[str, float]:
    """Return the tolerated offset of every source name, for the report."""
    tolerances: dict[str, float] = {}
    for clip in clips:
        for name, spec in clip.sources.items():
            if name not in tolerances:
                tolerances[name] = policy.limits(name, spec.kind).offset_s
    return tolerances


def _versions() -> dict[str, str]:
    versions = {"syncaudit": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


# Number of clips listed in the summary; all are counted.
MAX_NAMED = 20
# Fields that determine which part of which files a source is; any others may differ.
_PARTS = (
    "kind",
    "stream",
    "rows",
    "picture_rows",
    "pts_ns",
    "stamps",
    "columns",
    "signals",
    "tier",
)
_FILES = ("uri", "timestamps")


def repeated_clips(clips: Sequence[Clip]) -> dict[str, Any] | None:
    """Return the clips that repeat the data of an earlier clip; None if there are none.

    A clip repeats another if one of its cameras has the same part of the same files in the same
    window, or if all of its sources do. Logs and sound shared by the clips of one recording are
    normal, and so is one file in several windows. Eight bytes per camera and clip are held.

    ``clips`` counts the clips that repeat another; ``first`` lists the first of them with
    ``clip_id``, ``same_as``, and ``source``, the camera (None: all sources).
    """
    owners: list[int] = []
    hashes: list[int] = []
    for index, clip in enumerate(clips):
        keys = _keys(clip)
        owners += [index] * len(keys)
        hashes += [hash(key) for key in keys]
    _, group, counts = np.unique(
        np.array(hashes, np.int64), return_inverse=True, return_counts=True
    )
    seen: dict[object, int] = {}
    repeats: dict[int, tuple[int, str | None]] = {}
    for index in np.unique(np.array(owners, np.int64)[counts[group] > 1]).tolist():
        for key, name in _keys(clips[index]).items():
            first = seen.setdefault(key, index)
            if first != index:
                repeats.setdefault(index, (first, name))
    if not repeats:
        return None
    named = list(repeats.items())[:MAX_NAMED]
    return {
        "clips": len(repeats),
        "first": [
            {"clip_id": clips[index].clip_id, "same_as": clips[first].clip_id, "source": name}
            for index, (first, name) in named
        ],
    }


def _keys(clip: Clip) -> Mapping[object, str | None]:
    """Return the keys that identify the data of a clip: one per camera, and one of all sources."""
    window = (clip.start_ns, clip.end_ns)
    parts = {name: _part(spec, clip.base_uri) for name, spec in clip.sources.items()}
    keys: dict[object, str | None] = {
        (window, parts[name]): name
        for name, spec in clip.sources.items()
        if isinstance(spec, CameraSpec)
    }
    if parts:
        keys.setdefault((window, *sorted(parts.values())), None)
    return keys


def _part(spec: SourceSpec, base_uri: str) -> str:
    files = [str(uri) and resolve(str(uri), base_uri) for uri in _values(spec, _FILES) if uri]
    text = getattr(spec, "text", None)
    return repr((files, text, _values(spec, _PARTS)))


def _values(spec: SourceSpec, names: Sequence[str]) -> list[object]:
    return [getattr(spec, name, None) for name in names]
