"""Broken clips: copies of a good clip in which one file is damaged."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from syncaudit.writing import replacing

from .manifests import MANIFEST_NAME, write_manifest
from .truth import Truth, read_truth, write_truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """Describe a kind of damage.

    Attributes
    ----------
    source : str
        Source whose file is damaged.
    words : str
    reason : str
        Code that a perfect audit gives.
    damage : callable
        Takes the good file's bytes; returns the damaged ones, or None for no file at all.
    """

    source: str
    words: str
    reason: str
    damage: Callable[[bytes], bytes | None]


def _with_nan(table: bytes) -> bytes:
    lines = table.decode("ascii").splitlines()
    for row in range(700, min(725, len(lines))):
        fields = lines[row].split(",")
        lines[row] = ",".join([fields[0], "nan", *fields[2:]])
    return ("\n".join(lines) + "\n").encode("ascii")


DEFECTS: Mapping[str, Defect] = MappingProxyType(
    {
        "truncated_video": Defect(
            source="cam_front",
            words="video cut off after 60 % of its bytes",
            reason="unreadable",
            damage=lambda content: content[: len(content) * 6 // 10],
        ),
        "nan_imu": Defect(
            source="imu", words="gyro_x of 25 samples is NaN", reason="non_finite", damage=_with_nan
        ),
        "empty_can": Defect(
            source="can",
            words="table with a header and no rows",
            reason="empty",
            damage=lambda content: content.split(b"\n")[0] + b"\n",
        ),
        "missing_file": Defect(
            source="cam_front",
            words="video is not there",
            reason="missing_file",
            damage=lambda _: None,
        ),
        "zero_byte_audio": Defect(
            source="mic", words="audio file of 0 bytes", reason="empty", damage=lambda _: b""
        ),
    }
)


def break_clip(good: Path, folder: Path, name: str) -> Truth:
    """Write a clip that shares the files of a good one but for a damaged copy of one file.

    `good`: folder of an intact clip, a sibling of `folder`. `folder`: created; its name becomes the
    clip's id. `name`: a key of `DEFECTS`.

    Raises
    ------
    ValueError
        If the defect is unknown or the clip lacks its source.
    """
    if name not in DEFECTS:
        raise ValueError(f"unknown defect {name!r}; known: {', '.join(DEFECTS)}")
    defect = DEFECTS[name]
    row = json.loads((good / MANIFEST_NAME).read_text(encoding="utf-8"))
    (truth,) = read_truth(good).values()
    if defect.source not in row["sources"]:
        raise ValueError(f"{good} has no source {defect.source!r} to damage")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {"cam_front", "imu", "can", defect.source}
    sources = {key: source for key, source in row["sources"].items() if key in wanted}
    for key, source in sources.items():
        _share(source, good, but=defect.source == key)
    damaged = sources[defect.source]
    content = defect.damage((good / damaged["uri"]).read_bytes())
    if content is not None:
        with replacing(folder / damaged["uri"]) as file:
            file.write(content)
    write_manifest([{**row, "clip_id": folder.name, "sources": sources}], folder)
    told = {
        key: dataclasses.replace(
            truth.sources[key], defect=defect.words if key == defect.source else None
        )
        for key in sources
    }
    broken = dataclasses.replace(truth, clip_id=folder.name, sources=told)
    write_truth([broken], folder)
    return broken


def _share(source: dict[str, Any], good: Path, *, but: bool) -> None:
    """Point a source's URIs at the good clip's files (`but` its main one)."""
    for key in ("timestamps", "dbc") if but else ("uri", "timestamps", "dbc"):
        if key in source:
            source[key] = f"../{good.name}/{source[key]}"
