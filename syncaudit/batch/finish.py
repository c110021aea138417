"""Turn a ledger into the outputs of a run: pooled recordings, tables, splits, summary, report."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from importlib import metadata

from syncaudit import __version__
from syncaudit.batch.data_sets import DataSets
from syncaudit.batch.episodes import write_keep
from syncaudit.batch.json_encoding import to_plain
from syncaudit.batch.ledger import Ledger
from syncaudit.batch.outputs import RowMaker, write_json, write_split
from syncaudit.batch.recordings import pool_recordings, write_recordings
from syncaudit.batch.repeated_clips import repeated_clips
from syncaudit.batch.summary import BatchSummary, Tally
from syncaudit.batch.tables import write_parquet
from syncaudit.model import Clip
from syncaudit.policy import Policy
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
