"""Export clips that passed as WebDataset shards; an interrupted export can be resumed."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from syncaudit.datasets.export.clip_files import StoredSamples, clip_parts, key_of, sample_of
from syncaudit.datasets.export.shard_file import Part, ShardFile, size_in_shard
from syncaudit.datasets.rows import clip_to_row
from syncaudit.datasets.samples import ROW_PART, split_member
from syncaudit.errors import ClipInputError, UsageError
from syncaudit.model import Clip, Verdict
from syncaudit.readers.access import refuse_outside
from syncaudit.readers.uris import FILE_KEYS, files_named
from syncaudit.writing import replace_text, sweep_drafts

INDEX_FILE = "shards.json"
_STATE_FILE = ".shards.json.state"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """Sizes and contents of the shards."""

    max_bytes: int = 1_000_000_000  # limit of a shard; a larger clip gets a shard of its own
    max_clips: int = 10_000
    include: Collection[str] = (Verdict.PASS,)  # verdicts to export


@dataclass(slots=True, kw_only=True)
class Exported:
    """Result of an export; also its state while it is interrupted."""

    # ``name``, ``clips``, ``bytes``, ``sha256`` of each
    shards: list[dict[str, Any]] = field(default_factory=list)
    # clips by verdict; ``unknown`` are those without one
    left_out: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)  # clips that could not be packed, and why
    n_seen: int = 0  # clips that are in the shards or left out
    seen: str = ""  # digest of their rows and of the options

    @property
    def n_clips(self) -> int:
        """Clips in the shards."""
        return sum(shard["clips"] for shard in self.shards)

    @property
    def n_bytes(self) -> int:
        """Size of all shards."""
        return sum(shard["bytes"] for shard in self.shards)


def export_shards(
    clips: Sequence[Clip],
    verdict_of: Callable[[str], str | None],
    out: Path,
    options: ExportOptions,
    *,
    on_clip: Callable[[int], None] | None = None,
) -> Exported:
    """Write shards and their index ``shards.json``.

    A clip that is one sample of a shard is copied with all its members, byte by byte; for others
    the files that the manifest names are packed. Either way the sample holds the clip's row, so
    that `syncaudit validate` reads the shards back with the same clips and sources.

    `verdict_of` returns the verdict of a clip id; clips without one (None) are left out and
    counted. An earlier export in the folder `out` is resumed if it was interrupted on the same
    clips, else redone. `on_clip` is called with the number of clips so far.

    UsageError if `out` holds shards that are not of an earlier export, SyncAuditError if a file
    changes while it is copied.
    """
    out.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(repr((options.max_bytes, options.max_clips)).encode())
    done = _resumed(out)
    sweep_drafts(out)
    for clip in clips[: done.n_seen]:
        digest.update(_said_of(clip, verdict_of(clip.clip_id), options))
    if done.n_seen and digest.hexdigest() != done.seen:
        return export_shards(clips, verdict_of, _cleared(out), options, on_clip=on_clip)
    with tempfile.TemporaryDirectory(prefix="syncaudit-") as scratch:
        writer = _Writer(out, options, done)
        stored = StoredSamples(Path(scratch))
        try:
            for number in range(done.n_seen, len(clips)):
                clip = clips[number]
                verdict = verdict_of(clip.clip_id)
                if verdict in options.include:
                    _export(clip, stored, Path(scratch), writer)
                else:
                    name = "unknown" if verdict is None else str(verdict)
                    done.left_out[name] = done.left_out.get(name, 0) + 1
                digest.update(_said_of(clip, verdict, options))
                done.n_seen, done.seen = number + 1, digest.hexdigest()
                if on_clip is not None:
                    on_clip(done.n_seen)
            writer.finish()
        finally:
            writer.abandon()
    index = {
        "version": 1,
        "clips": done.n_clips,
        "bytes": done.n_bytes,
        "include": sorted(str(verdict) for verdict in options.include),
        "left_out": dict(sorted(done.left_out.items())),
        "failed": done.failed,
        "shards": done.shards,
    }
    _write(out / INDEX_FILE, index)
    (out / _STATE_FILE).unlink()
    return done


def _export(clip: Clip, stored: StoredSamples, scratch: Path, writer: _Writer) -> None:
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        try:
            for spec in clip.sources.values():
                for uri in files_named(spec, clip.base_uri).values():
                    refuse_outside(uri)
            key, parts = _sample(clip, stored, Path(folder))
        except (ClipInputError, pa.ArrowException) as error:
            writer.done.failed[clip.clip_id] = str(error)
            return
        writer.add(key, parts)


def _sample(clip: Clip, stored: StoredSamples, scratch: Path) -> tuple[str, list[Part]]:
    """Return the key and the parts of a clip, its row among them."""
    place = sample_of(clip)
    if place is None:
        parts, row = clip_parts(clip, scratch)
        return key_of(clip.clip_id), [*parts, _row_part("json", row)]
    row = clip_to_row(clip)
    for spec in row["sources"].values():
        for uri_key in FILE_KEYS:
            found = split_member(spec[uri_key].partition("::")[0]) if uri_key in spec else None
            if found is not None:
                spec[uri_key] = found[1]
    # The new row replaces that of an earlier export.
    parts = [part for part in stored.parts(*place) if part.name != ROW_PART]
    return place[1], [*parts, _row_part(ROW_PART, row)]


def _row_part(name: str, row: dict[str, Any]) -> Part:
    return Part.of_bytes(name, json.dumps(row, ensure_ascii=False).encode() + b"\n")


class _Writer:
    """Distributes samples over shards and keeps the state for resuming."""

    def __init__(self, out: Path, options: ExportOptions, done: Exported) -> None:
        self.done = done
        self._out = out
        self._options = options
        self._shard: ShardFile | None = None
        self._save()

    def add(self, key: str, parts: Sequence[Part]) -> None:
        """Add a sample to the shard, or to the next one if this is full."""
        if self._shard is not None and (
            self._shard.n_samples >= self._options.max_clips
            or self._shard.size + size_in_shard(parts) > self._options.max_bytes
        ):
            self.finish()
        if self._shard is None:
            self._shard = ShardFile(self._out / _shard_name(len(self.done.shards)))
        self._shard.add(key, parts)

    def finish(self) -> None:
        """Finish the open shard."""
        if self._shard is None:
            return
        shard, self._shard = self._shard, None
        size, digest = shard.close()
        self.done.shards.append(
            {
                "name": shard.path.name,
                "clips": shard.n_samples,
                "bytes": size,
                "sha256": digest,
            }
        )
        self._save()

    def abandon(self) -> None:
        """Discard the open shard, if any."""
        if self._shard is not None:
            self._shard.abandon()

    def _save(self) -> None:
        _write(self._out / _STATE_FILE, asdict(self.done))


def _said_of(clip: Clip, verdict: str | None, options: ExportOptions) -> bytes:
    return json.dumps([clip_to_row(clip), clip.base_uri, verdict in options.include]).encode()


def _resumed(out: Path) -> Exported:
    """Return the state of an interrupted export in a folder, or none; delete a finished one."""
    if not (out / _STATE_FILE).exists():
        if (out / INDEX_FILE).exists():
            return _resumed(_cleared(out))
        strange = sorted(path.name for path in out.glob("*.tar"))
        if strange:
            raise UsageError(
                f"{out} holds {strange[0]}, which no export wrote",
                hint="Choose another --out folder.",
            )
        return Exported()
    state = _read(out / _STATE_FILE)
    done = Exported(**state)
    for shard in done.shards:
        path = out / shard["name"]
        if not path.is_file() or path.stat().st_size != shard["bytes"]:
            return _resumed(_cleared(out))
    return done


def _cleared(out: Path) -> Path:
    """Delete the shards and the index of an earlier export."""
    for name in (INDEX_FILE, _STATE_FILE):
        if not (out / name).exists():
            continue
        shards = [shard["name"] for shard in _read(out / name)["shards"]]
        # One more may have been renamed just before the export was killed.
        for shard in [*shards, _shard_name(len(shards))]:
            (out / shard).unlink(missing_ok=True)
        (out / name).unlink()
    return out


def _shard_name(number: int) -> str:
    return f"shard-{number:06d}.tar"


def _write(path: Path, content: object) -> None:
    replace_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n", is_durable=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        names = [shard["name"] for shard in content["shards"]]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise _foreign(path) from error
    if not all(name == _shard_name(number) for number, name in enumerate(names)):
        raise _foreign(path)
    return dict(content)


def _foreign(path: Path) -> UsageError:
    return UsageError(
        "this is not the index of an export", path=str(path), hint="Choose another --out folder."
    )
