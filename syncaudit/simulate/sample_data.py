"""The repository's sample data: build it with ``python -m syncaudit.simulate.sample_data DIR``."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from syncaudit.writing import replace_text

from .defects import DEFECTS, break_clip
from .manifests import gather_manifest
from .rig import simulate_clip
from .sample_clips import BROKEN_FROM, sample_clips
from .truth import write_truth

EXPECTED_NAME = "expected_verdicts.json"


def build_sample_data(folder: str | Path, *, only: Sequence[str] | None = None) -> list[str]:
    """Write the sample set: a folder per clip, manifest, truth, expected verdicts, README.

    The same library versions give the same bytes; `compare_clips` compares across versions.

    `only`: make just these simulated clips, without manifest and README (for tests).

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
    """Return what a perfect audit says of each clip."""
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


_README = """# Sample data

Simulated recordings of a vehicle, 20 s each, cameras at 428x240 and 12 Hz with rolling shutter, IMU
at 100 Hz, CAN, sometimes a microphone. Made by `python -m syncaudit.simulate.sample_data
sample_data/`; the same library versions give the same bytes. Do not edit by hand.

- `manifest.jsonl`: all clips (each folder also holds its own one-line manifest).
- `truth.json`: what is really wrong, by clip and source. `offset_s` is the correction to **add**
  to a source's stamps at `at_ns`, the middle of the clip; from reference time `at_ns` of a step on,
  its `by_s` is added too.
- `expected_verdicts.json`: what a perfect audit says, with the guilty source and the reason code.

Clips that differ only in their stamps share videos by relative URIs; broken clips share the intact
files of `{origin}`. No manifest row names a `reference`: who is wrong has to be found out.

| clip | what it shows | verdict |
| --- | --- | --- |
{table}

Broken clips leave cam_rear out, so that the damaged file is all that is wrong with them.
"""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m syncaudit.simulate.sample_data FOLDER")
    clip_ids = build_sample_data(sys.argv[1])
    sys.stdout.write(f"{len(clip_ids)} clips in {sys.argv[1]}\n")
