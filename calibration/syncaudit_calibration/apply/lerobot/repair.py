"""Rewrite a LeRobot data set: episodes in order, rows re-paired, metadata updated."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from syncaudit.datasets.formats.lerobot import CHUNK_SIZE, INFO, Layout, read_info
from syncaudit.datasets.source import Source
from syncaudit.errors import StreamReadError, SyncAuditError, UsageError, one_line
from syncaudit.formatting import word_count, word_duration
from syncaudit.model import Clip
from syncaudit.readers.access import is_url
from syncaudit.writing import copy_file, make_parent, replace_text
from syncaudit_calibration.apply.corrections import SourceCorrection
from syncaudit_calibration.apply.lerobot.files import (
    OwnFiles,
    PairedEpisode,
    SharedFiles,
    Stats,
    of_episode,
    together,
)
from syncaudit_calibration.apply.lerobot.rows import (
    ORIGINAL,
    Pairing,
    numbers_in,
    pair_rows,
    paired_rows,
)
from syncaudit_calibration.apply.load import Corrections
from syncaudit_calibration.apply.outcomes import ClipOutcome, SourceOutcome
from syncaudit_calibration.apply.targets import RECORD

_STATS = "meta/stats.json"
# Remaining offsets below this are reported as zero.
_LEAST_S = 5e-5


def repair_lerobot(
    clips: Sequence[Clip],
    corrections: Corrections,
    out: Path,
    *,
    is_interpolated: bool = False,
    on_clip: Callable[[ClipOutcome], None] | None = None,
) -> None:
    """Write a data set of the same version whose rows hold simultaneous samples.

    Each source is moved by whole rows, to the sample nearest in time. Rows at the ends that lose a
    partner are dropped, and episodes and rows are renumbered. Videos are cut without re-encoding
    (v2) or linked (v3). Episodes that cannot be paired are left out.

    Parameters
    ----------
    clips : sequence of Clip
        Episodes of one local LeRobot data set.
    corrections : Corrections
        From `load_corrections`.
    out : Path
        Folder to write; new or empty.
    is_interpolated : bool
        Whether states and commands are interpolated between their samples.
    on_clip : callable, optional
        Called with the outcome of every clip when it is done.

    Raises
    ------
    UsageError
        If the clips are not episodes of one local data set, the folder is not empty, or no
        episode could be paired.
    """
    corrections.check({clip.clip_id: clip for clip in clips})
    source = _data_set(clips)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError("something already exists there", path=str(out), hint="Name a new folder.")
    repair = _Repair(source, out, is_interpolated=is_interpolated)
    for clip in sorted(clips, key=_number_of):
        outcome = repair.add(clip, corrections.of_clip(clip))
        if on_clip is not None:
            on_clip(outcome)
    repair.finish()


def _data_set(clips: Sequence[Clip]) -> Source:
    """Return the data set that all clips belong to."""
    found = {clip.origin.dataset if clip.origin else None for clip in clips}
    (dataset, *others) = found
    if dataset is None or others:
        raise UsageError(
            "the clips are not the episodes of one LeRobot data set",
            hint="Name the manifest of it that 'syncaudit manifest lerobot' or 'validate' wrote.",
        )
    if len({_number_of(clip) for clip in clips}) < len(clips):
        raise UsageError(
            "several clips are cut from the same episode",
            hint="Name a manifest with one clip per episode, as 'syncaudit manifest' writes it.",
        )
    if is_url(dataset):
        raise UsageError("is not a local folder", path=dataset, hint="Download the data set first.")
    return Source(dataset)


def _number_of(clip: Clip) -> int:
    return clip.origin.episode_index if clip.origin else -1


class _Repair:
    """The data set being written, episode by episode."""

    def __init__(self, source: Source, out: Path, *, is_interpolated: bool) -> None:
        self._source, self._out = source, out
        self._info: dict[str, Any] = source.read_json(INFO)
        layout = Layout.of(read_info(source))
        self._fps = layout.fps
        self._sources = {**layout.videos, **layout.images, **layout.states}
        self._cameras = {*layout.videos.values(), *layout.images.values()}
        self._interpolated = set(layout.states.values()) if is_interpolated else set[str]()
        self._features: dict[str, Any] = {
            key: feature for key, feature in self._info["features"].items() if feature
        }
        self._videos = [key for key, it in self._features.items() if it.get("dtype") == "video"]
        self._is_shared = str(self._info["codebase_version"]).startswith("v3")
        self._files = (SharedFiles if self._is_shared else OwnFiles)(source, out, self._info)
        self._stats: list[Stats] = []
        self._n_rows = 0
        self._record: list[str] = []

    def add(self, clip: Clip, known: Mapping[str, SourceCorrection]) -> ClipOutcome:
        """Write an episode as the next one; one that cannot be paired is left out."""
        try:
            paired = self._paired(clip, known)
        except SyncAuditError as error:
            why = f"left out: {error}"
            failure = SourceOutcome(why=why, is_failure=True)
            outcome = ClipOutcome(clip_id=clip.clip_id, sources=dict.fromkeys(known, failure))
            self._record.append(json.dumps(outcome.to_json(), ensure_ascii=False))
            return outcome
        episode, pairing = paired.episode, paired.pairing
        table = paired_rows(
            episode.table,
            pairing,
            sources=self._sources,
            fps=self._fps,
            episode=len(self._stats),
            first_index=self._n_rows,
        )
        has_quantiles = any("q01" in stats for stats in episode.stats.values())
        # Only numeric statistics are recomputed; those of the frames still include the few frames
        # that were dropped.
        numbers = of_episode(numbers_in(table, self._all_features()), has_quantiles=has_quantiles)
        stats = {**episode.stats, **numbers}
        self._files.add(paired, table, stats)
        outcome = ClipOutcome(
            clip_id=clip.clip_id,
            sources={
                name: self._outcome(name, known[name], pairing, len(episode.table))
                for name in self._sources.values()
                if name in known
            },
        )
        place = {
            "episode_index": len(self._stats),
            "original_episode_index": episode.number,
            "original_rows": [pairing.start, pairing.stop],
            "moved_rows": dict(pairing.moves),
            "remaining_s": dict(pairing.left_s),
        }
        self._record.append(json.dumps({**outcome.to_json(), **place}, ensure_ascii=False))
        self._stats.append(stats)
        self._n_rows += pairing.n_rows
        return outcome

    def _paired(self, clip: Clip, known: Mapping[str, SourceCorrection]) -> PairedEpisode:
        """Return an episode with its rows paired, as far as its videos can be cut."""
        try:
            episode = self._files.episode(_number_of(clip))
        except (pa.ArrowException, OSError, LookupError) as error:
            raise StreamReadError(
                f"it cannot be read ({type(error).__name__}: {one_line(error)})",
                path=self._source.uri,
                hint="Download the data set and write its manifest again.",
            ) from error
        n = len(episode.table)
        middle_ns = round(0.5e9 * n / self._fps)
        offsets_s = {
            source: correction.change_at(middle_ns)
            if source in known and (correction := known[source].correction) is not None
            else 0.0
            for source in self._sources.values()
        }
        pairing = pair_rows(
            n, self._fps, offsets_s, cameras=self._cameras, interpolated=self._interpolated
        )
        moves = {
            key: int(pairing.moves[self._sources[key]]) if key in self._sources else 0
            for key in self._videos
        }
        paired = self._files.fitting(PairedEpisode(episode=episode, pairing=pairing, moves=moves))
        if not paired.pairing.n_rows:
            raise StreamReadError(
                f"none of its {word_count(n, 'row')} keeps a partner",
                path=self._source.uri,
                hint="Leave the episode out of the manifest.",
            )
        return paired

    def _outcome(
        self, name: str, known: SourceCorrection, pairing: Pairing, n_before: int
    ) -> SourceOutcome:
        if known.correction is None or known.correction.is_nothing:
            return SourceOutcome(why=known.why, remarks=known.remarks)
        left_s = pairing.left_s[name]
        left = f"{word_duration(abs(left_s))} {'late' if left_s < 0 else 'early'}"
        remains = f"{left} remain" if abs(left_s) > _LEAST_S else "nothing remains"
        if not pairing.moves[name]:
            why = f"{left}, less than half a row: no other sample is closer"
            return SourceOutcome(why=why, remarks=known.remarks)
        rows = f"{pairing.n_rows} of {word_count(n_before, 'row')} kept"
        move = pairing.moves[name]
        way = "later" if move > 0 else "earlier"
        remark = f"each row takes its sample {abs(move):.3g} rows {way}: {remains}; {rows}"
        return SourceOutcome(correction=known.correction, remarks=(remark, *known.remarks))

    def _all_features(self) -> dict[str, Any]:
        """Return the features, including the added ones."""
        added = {"dtype": "float32", "shape": [1], "names": None}
        return self._features | {ORIGINAL + name: added for name in self._sources.values()}

    def finish(self) -> None:
        """Write the metadata; raise UsageError if there is no episode."""
        n = len(self._stats)
        if not n:
            raise UsageError(
                "no episode could be paired again",
                path=self._source.uri,
                hint="The table above shows why.",
            )
        make_parent(self._out / INFO)
        self._files.finish()
        self._copy_rest()
        info = {
            **self._info,
            "total_episodes": n,
            "total_frames": self._n_rows,
            "splits": {"train": f"0:{n}"},
            "features": self._all_features(),
        }
        if not self._is_shared:
            chunk = self._info.get("chunks_size") or CHUNK_SIZE
            info |= {"total_videos": n * len(self._videos), "total_chunks": -(-n // chunk)}
        # Statistics that exist only for all episodes together, as in v2.0, are kept.
        known = self._source.read_json(_STATS) if self._source.has(_STATS) else {}
        stats = {**known, **together(self._stats)}
        replace_text(self._out / _STATS, json.dumps(stats, indent=4))
        replace_text(self._out / INFO, json.dumps(info, indent=4, ensure_ascii=False))
        replace_text(self._out / RECORD, "\n".join([*self._record, ""]))

    def _copy_rest(self) -> None:
        """Copy files that do not concern single episodes: tasks, the dataset card."""
        root = Path(self._source.base_uri)
        for path in (*root.glob("meta/*"), root / "README.md"):
            target = self._out / path.relative_to(root)
            is_written = path == root / INFO or target.exists()
            if path.is_file() and not is_written:
                copy_file(path, target)
