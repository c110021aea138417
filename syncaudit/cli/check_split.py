"""`syncaudit check-split`: what train and validation share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.options import AsJson

if TYPE_CHECKING:
    from rich.console import Console

    from syncaudit.model import Clip
    from syncaudit.splits import Duplicate, SharedData, Split, VideoSet

__all__ = ["check_split"]

# Findings of a kind that are listed one by one; --json has all.
SHOWN = 10


def check_split(
    splits: Annotated[
        list[str],
        typer.Argument(
            metavar="SPLIT...",
            help="Manifests or data sets, one for each split; or one LeRobot data set that states "
            "its splits; or with --manifest lists of clips.",
        ),
    ],
    manifest: Annotated[
        str | None,
        typer.Option("--manifest", help="Manifest of all clips; SPLIT... then list its clip_ids."),
    ] = None,
    no_video: Annotated[
        bool, typer.Option("--no-video", help="Compare names and files only; decode nothing.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", "-j", min=1, help="Processes; default: all cores.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find what splits share: clips, recordings, episodes, files, and the same video.

    Video is compared by how its brightness changes, so that a copy is found which was coded again,
    scaled, or cut to another length. Every video is decoded once.

    Exit code 0: nothing shared was found; 1: something is shared.

    **Examples**

    - `syncaudit check-split train.jsonl val.jsonl`

    - `syncaudit check-split train.txt val.txt --manifest manifest.jsonl --no-video`
    """
    from rich.progress import Progress

    from syncaudit.cli.console import stderr, stdout
    from syncaudit.cli.inputs import cores
    from syncaudit.splits import VideoSet, count_videos, find_duplicates, find_shared

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
    if as_json:
        content = {
            "splits": {part.name: len(part.clips) for part in parts},
            "shared": [asdict(one) for one in shared],
            "same_video": [asdict(one) for one in copies],
            "videos": asdict(seen),
        }
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print(stdout(), parts, shared, copies, seen)
    raise typer.Exit(ExitCode.REJECTED if shared or copies else ExitCode.DONE)


def _load(splits: Sequence[str], manifest: str | None, scratch: Path) -> list[Split]:
    """Return the splits that the user named, two or more."""
    from syncaudit.cli.inputs import import_if_needed, load_clips
    from syncaudit.errors import UsageError
    from syncaudit.evaluation.clip_list import read_clip_ids
    from syncaudit.splits import Split, splits_by_lists, splits_of_lerobot

    def clips_of(source: str, number: int) -> Sequence[Clip]:
        folder = scratch / str(number)
        folder.mkdir()
        return load_clips(
            import_if_needed(source, folder, format_name=None, limit=None, is_quiet=True)
        )

    if len(set(splits)) < len(splits):
        raise UsageError("one split is named twice", hint="Name each once.")
    if manifest is not None:
        if len(splits) < 2:
            raise UsageError("--manifest needs two lists or more", hint="Name one list per split.")
        lists = {path: sorted(read_clip_ids(path)) for path in splits}
        return splits_by_lists(clips_of(manifest, 0), lists)
    if len(splits) == 1:
        return splits_of_lerobot(clips_of(splits[0], 0))
    return [Split(name=name, clips=clips_of(name, k)) for k, name in enumerate(splits)]


def _print(
    console: Console,
    parts: Sequence[Split],
    shared: Sequence[SharedData],
    copies: Sequence[Duplicate],
    seen: VideoSet,
) -> None:
    from rich.text import Text

    from syncaudit.cli.console import printable
    from syncaudit.formatting import word_count

    for kind, n in Counter(one.kind for one in shared).items():
        console.print(Text(f"✕ {word_count(n, kind)} in several splits", style="red"))
        for one in [one for one in shared if one.kind == kind][:SHOWN]:
            where = ", ".join(
                f"{name}: {clips[0]}" + (f" and {len(clips) - 1:,} more" if clips[1:] else "")
                for name, clips in one.clips.items()
            )
            console.print(Text(printable(f"    {one.what}  ({where})")), soft_wrap=True)
        if n > SHOWN:
            console.print(f"    ... and {n - SHOWN:,} more: --json")
    if copies:
        words = word_count(len(copies), "pair")
        console.print(Text(f"✕ {words} of videos with the same content", style="red"))
    for copy in copies[:SHOWN]:
        first, second = (
            f"{split}: {clip} {source}"
            for split, clip, source in zip(copy.splits, copy.clips, copy.sources, strict=True)
        )
        console.print(
            Text(
                printable(
                    f"    {first} = {second}  ({copy.common_s:.1f} s in common, the second begins "
                    f"{copy.start_s:+.1f} s after the first; agreement {copy.agreement:.2f})"
                )
            ),
            soft_wrap=True,
        )
    if len(copies) > SHOWN:
        console.print(f"    ... and {len(copies) - SHOWN:,} more: --json")
    for n, why in (
        (seen.still, "in which too little changes to compare"),
        (seen.short, "too short to compare"),
        (len(seen.failed), "that could not be decoded"),
    ):
        if n:
            console.print(Text(f"! {word_count(n, 'video')} {why}", style="yellow"))
    for video, reason in seen.failed[:SHOWN]:
        console.print(Text(printable(f"    {video}: {reason}"), style="dim"), soft_wrap=True)
    sizes = ", ".join(f"{printable(part.name)} {len(part.clips):,}" for part in parts)
    end = "nothing shared was found" if not (shared or copies) else "splits share data"
    console.print(f"{sizes} clips, {seen.n_videos:,} videos compared: {end}")
