"""`syncaudit check-split`: find what train and validation splits share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from syncaudit.cli.console import printable, stderr, stdout
from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.options import AsJson, Force
from syncaudit.errors import UsageError
from syncaudit.formatting import word_count

if TYPE_CHECKING:
    from syncaudit.model import Clip
    from syncaudit.splits.duplicates import Duplicate, VideoPair, VideoSet
    from syncaudit.splits.shared import SharedData
    from syncaudit.splits.split_lists import Split

# Findings of a kind that are listed individually; --json has all.
SHOWN = 10


def check_split(
    splits: Annotated[
        list[str],
        typer.Argument(
            metavar="SPLIT...",
            help="Manifests or data sets, one for each split; or one data set that states its "
            "splits (LeRobot; shards or folders called train..., val...); or with --manifest "
            "lists of clips, or a Hugging Face data set with a column clip_id.",
        ),
    ],
    manifest: Annotated[
        str | None, typer.Option(help="Manifest of all clips; SPLIT... then list its clip_ids.")
    ] = None,
    leaks: Annotated[
        Path | None,
        typer.Option(
            help="List to write: the clips of all but the first split that share something with "
            "an earlier one; data loaders refuse them."
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Count undecided pairs of videos as shared, in --leaks and the exit code.",
        ),
    ] = False,
    force: Force = False,
    no_video: Annotated[
        bool, typer.Option("--no-video", help="Compare names and files only; decode nothing.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", "-j", min=1, help="Processes; default: all cores.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find what splits share: clips, recordings, episodes, files and videos.

    Videos are compared by how their brightness changes, so a copy is found even if it was
    re-encoded, scaled, or cut to another length. Every video is decoded once. Where nothing moves,
    videos that look the same are undecided: they are listed, and --strict counts them as shared.

    Exit code 0: nothing shared was found; 1: something is shared.

    **Examples**

    - `syncaudit check-split train.jsonl val.jsonl`

    - `syncaudit check-split train.txt val.txt --manifest manifest.jsonl --no-video`

    - `syncaudit check-split shards/ --leaks leaks.txt`
    """
    from rich.progress import Progress

    from syncaudit.cli.inputs import cores
    from syncaudit.splits.duplicates import VideoSet, count_videos, find_duplicates
    from syncaudit.splits.shared import find_shared, leaked_clips
    from syncaudit.writing import Signature, check_target, replace_text

    if leaks is not None:
        check_target(leaks, Signature.LEAKS, is_forced=force)
    with TemporaryDirectory(prefix="syncaudit-") as scratch:
        parts = _load(splits, manifest, Path(scratch))
        shared = find_shared(parts)
        copies: list[Duplicate] = []
        seen = VideoSet()
        if not no_video:
            console = stderr()
            with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
                task = bar.add_task("videos", total=count_videos(parts))
                copies, seen = find_duplicates(
                    parts, workers=workers or cores(), on_video=lambda: bar.advance(task)
                )
    refused = [*copies, *(seen.undecided if strict else ())]
    is_shared = bool(shared or refused)
    if leaks is not None:
        lines = [f"# by 'syncaudit check-split': {', '.join(splits)}".replace("\n", " ")]
        replace_text(leaks, "\n".join([*lines, *leaked_clips(parts, shared, refused)]) + "\n")
    if as_json:
        content = {
            "splits": {part.name: len(part.clips) for part in parts},
            "shared": [asdict(one) for one in shared],
            "same_video": [asdict(one) for one in copies],
            "videos": asdict(seen),
        }
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print(stdout(), parts, shared, copies, seen, is_shared=is_shared)
    raise typer.Exit(ExitCode.REJECTED if is_shared else ExitCode.DONE)


def _load(splits: Sequence[str], manifest: str | None, scratch: Path) -> list[Split]:
    """Return the splits that the user named, at least two."""
    from syncaudit.cli.inputs import import_if_needed, load_clips
    from syncaudit.readers.clip_list import read_clip_ids
    from syncaudit.splits.split_lists import (
        Split,
        splits_by_lists,
        splits_of_hugging_face,
        splits_stated,
    )

    def clips_of(source: str, number: int) -> Sequence[Clip]:
        folder = scratch / str(number)
        folder.mkdir()
        return load_clips(
            import_if_needed(source, folder, format_name=None, limit=None, is_quiet=True)
        )

    if len(set(splits)) < len(splits):
        raise UsageError("one split is named twice", hint="Name each once.")
    if manifest is not None:
        if len(splits) == 1 and Path(splits[0]).is_dir():
            lists = splits_of_hugging_face(splits[0])
        elif len(splits) == 1:
            raise UsageError(
                "--manifest needs two lists or more, or the folder of a Hugging Face data set",
                hint="Name a list for each split.",
            )
        else:
            lists = {path: sorted(read_clip_ids(path)) for path in splits}
        return splits_by_lists(clips_of(manifest, 0), lists)
    if len(splits) == 1:
        return splits_stated(clips_of(splits[0], 0))
    return [Split(name=name, clips=clips_of(name, k)) for k, name in enumerate(splits)]


def _print(
    console: Console,
    parts: Sequence[Split],
    shared: Sequence[SharedData],
    copies: Sequence[Duplicate],
    seen: VideoSet,
    *,
    is_shared: bool,
) -> None:
    def show(title: str, style: str, lines: Sequence[str]) -> None:
        if lines:
            console.print(Text(title, style=style), soft_wrap=True)
        for line in lines[:SHOWN]:
            console.print(Text(printable(f"    {line}")), soft_wrap=True)
        if len(lines) > SHOWN:
            console.print(f"    ... and {len(lines) - SHOWN:,} more: --json")

    for kind, n in Counter(one.kind for one in shared).items():
        lines = [
            f"{one.what}  ({', '.join(map(_first_clip, one.clips.items()))})"
            for one in shared
            if one.kind == kind
        ]
        show(f"✕ {word_count(n, kind)} in several splits", "red", lines)
    lines = [
        f"{_pair(copy, '=')}  ({copy.common_s:.1f} s in common, the second begins "
        f"{copy.start_s:+z.1f} s after the first; agreement {copy.agreement:.2f})"
        for copy in copies
    ]
    words = word_count(len(copies), "pair")
    show(f"✕ {words} of videos with the same content", "red", lines)
    lines = [
        f"{_pair(pair, '?')}  ({pair.why}; similarity {pair.likeness:.3f})"
        for pair in seen.undecided
    ]
    words = word_count(len(lines), "pair")
    show(
        f"? {words} of videos undecided: they show the same scene, but it cannot be determined "
        "whether they are copies. Look at them; --strict counts them as shared",
        "yellow",
        lines,
    )
    lines = [f"{video}: {reason}" for video, reason in seen.failed]
    show(f"! {word_count(len(lines), 'video')} that could not be decoded", "yellow", lines)
    sizes = ", ".join(f"{printable(part.name)} {len(part.clips):,}" for part in parts)
    end = "splits share data" if is_shared else "nothing shared was found"
    console.print(f"{sizes} clips, {word_count(seen.n_videos, 'video')} compared: {end}")


def _first_clip(found: tuple[str, Sequence[str]]) -> str:
    name, clips = found
    return f"{name}: {clips[0]}" + (f" and {len(clips) - 1:,} more" if clips[1:] else "")


def _pair(pair: VideoPair, sign: str) -> str:
    first, second = (
        f"{split}: {clip} {source}"
        for split, clip, source in zip(pair.splits, pair.clips, pair.sources, strict=True)
    )
    return f"{first} {sign} {second}"
