"""The repository's sample data, including broken copies.

Build it with ``python -m syncaudit.simulate.sample_data DIR``.
"""

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncaudit.writing import replace_text, replacing

from .manifests import MANIFEST_NAME, gather_manifest, write_manifest
from .rig import simulate_clip
from .sample_clips import BROKEN_FROM, sample_clips
from .truth import Truth, read_truth, write_truth

EXPECTED_NAME = "expected_verdicts.json"
_README = """# Sample data

Simulated recordings of a vehicle, 20 s each, cameras at 428x240 and 12 Hz with rolling shutter, IMU
at 100 Hz, CAN, sometimes a microphone. Made by `python -m syncaudit.simulate.sample_data
sample_data/`; the same library versions give the same bytes. Do not edit by hand.

- `manifest.jsonl`: all clips (each folder also holds its own one-line manifest).
- `truth.json`: what is really wrong, by clip and source. `offset_s` is the correction to **add**
  to a source's timestamps at `at_ns`, the middle of the clip; from reference time `at_ns` of a
  step on, its `by_s` is added too.
- `expected_verdicts.json`: what a perfect audit says, with the guilty source and the reason code.

Clips that differ only in their timestamps share videos by relative URIs; broken clips share the
intact files of `{origin}`. No manifest row names a `reference`: who is wrong has to be found out.

| clip | what it shows | verdict |
| --- | --- | --- |
{table}

Broken clips leave cam_rear out, so that the damaged file is all that is wrong with them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """Describe a kind of damage."""

    source: str  # source whose file is damaged
    words: str
    reason: str  # reason code of a perfect audit
    # takes the good file's bytes; returns the damaged ones, or None to remove the file
    damage: Callable[[bytes], bytes | None]


def _with_nan(table: bytes) -> bytes:
    lines = table.decode("ascii").splitlines()
    for row in range(700, min(725, len(lines))):
        fields = lines[row].split(",")
        lines[row] = ",".join([fields[0], "nan", *fields[2:]])
    return ("\n".join(lines) + "\n").encode("ascii")


DEFECTS: Mapping[str, Defect] = {
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


def break_clip(good: Path, folder: Path, name: str) -> Truth:
    """Write a clip that shares the files of a good one except for a damaged copy of one file.

    `good`: folder of an intact clip, a sibling of `folder`. `folder`: created; its name becomes the
    clip's id. `name`: a key of `DEFECTS`.

    ValueError if the defect is unknown or the clip lacks its source.
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
    sources_truth = {
        key: dataclasses.replace(
            truth.sources[key], defect=defect.words if key == defect.source else None
        )
        for key in sources
    }
    broken = dataclasses.replace(truth, clip_id=folder.name, sources=sources_truth)
    write_truth([broken], folder)
    return broken


def _share(source: dict[str, Any], good: Path, *, but: bool) -> None:
    """Point a source's URIs at the good clip's files (`but` its main one)."""
    for key in ("timestamps", "dbc") if but else ("uri", "timestamps", "dbc"):
        if key in source:
            source[key] = f"../{good.name}/{source[key]}"


def build_sample_data(folder: str | Path, *, only: Sequence[str] | None = None) -> list[str]:
    """Write the sample set: a folder per clip, manifest, truth, expected verdicts, README.

    The same library versions give the same bytes; `compare_clips` compares across versions.

    `only`: create only these simulated clips, without manifest and README (for tests).

    Returns
    -------
    list of str
        Clip ids in the order of the manifest.

    Raises
    ------
    ValueError
        If `only` names an unknown clip.
    """
    folder = Path(folder)
    clips = sample_clips()
    unknown = set(only or ()) - set(clips)
    if unknown:
        raise ValueError(f"unknown sample clips {sorted(unknown)}; known: {', '.join(clips)}")
    chosen = {name: clip for name, clip in clips.items() if only is None or name in only}
    truths = {}
    for name, clip in chosen.items():
        videos_from = folder / clip.videos_from if clip.videos_from else None
        truths[name] = simulate_clip(
            clip.config, folder / name, seed=clip.seed, videos_from=videos_from
        )
    if only is not None:
        return list(truths)
    for name in DEFECTS:
        truths[name] = break_clip(folder / BROKEN_FROM, folder / name, name)
    gather_manifest(list(truths), folder)
    write_truth(truths.values(), folder)
    replace_text(folder / EXPECTED_NAME, json.dumps(_expected(), indent=1) + "\n")
    replace_text(folder / "README.md", _readme())
    return list(truths)


def _expected() -> dict[str, dict[str, str | None]]:
    """Return the result of a perfect audit for each clip."""
    expected = {
        name: {"verdict": clip.verdict, "source": clip.culprit, "code": clip.reason}
        for name, clip in sample_clips().items()
    }
    return expected | {
        name: {"verdict": "reject", "source": defect.source, "code": defect.reason}
        for name, defect in DEFECTS.items()
    }


def _readme() -> str:
    rows = [(name, clip.shows, clip.verdict) for name, clip in sample_clips().items()]
    rows += [
        (name, f"Broken: {defect.source}: {defect.words}.", "reject")
        for name, defect in DEFECTS.items()
    ]
    table = "\n".join(f"| `{name}` | {shows} | {verdict} |" for name, shows, verdict in rows)
    return _README.format(table=table, origin=BROKEN_FROM)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m syncaudit.simulate.sample_data FOLDER")
    clip_ids = build_sample_data(sys.argv[1])
    sys.stdout.write(f"{len(clip_ids)} clips in {sys.argv[1]}\n")
