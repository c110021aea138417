"""Videos shared between clips: one rendering serves many variants of the stamps."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from syncaudit.writing import replacing

from .truth import SourceTruth, read_truth

TRANSFERS = ("reference", "link", "copy")


def check_same_pictures(
    folder: Path, style: str, seed: int, sources: Mapping[str, SourceTruth]
) -> None:
    """Refuse a rendered clip that does not show what a new clip needs.

    Raises
    ------
    ValueError
        If seed, style, cameras, frame counts or frame faults differ.
    """
    for truth in read_truth(folder).values():
        if (truth.seed, truth.style) != (seed, style):
            raise ValueError(
                f"{folder} was made with seed {truth.seed} in style {truth.style!r}, "
                f"expected seed {seed} and {style!r}"
            )
        for name, wanted in sources.items():
            if wanted.kind != "camera":
                continue
            if name not in truth.sources:
                raise ValueError(f"{folder} has no camera {name!r}")
            found = truth.sources[name]
            if _shown(found) != _shown(wanted):
                raise ValueError(f"{folder}: frames of {name} differ from the ones wanted")


def _shown(truth: SourceTruth) -> tuple[object, ...]:
    return truth.n_samples, truth.dropped, truth.doubled, truth.frozen, truth.spoilt


def place_video(video: Path, folder: Path, transfer: str) -> str:
    """Make a video available to a clip folder and return its URI relative to that folder."""
    if transfer not in TRANSFERS:
        raise ValueError(f"video_transfer is {transfer!r}, expected one of {', '.join(TRANSFERS)}")
    if transfer == "reference":
        return Path(os.path.relpath(video, folder)).as_posix()
    target = folder / video.name
    if transfer == "link":
        target.unlink(missing_ok=True)
        os.link(video, target)
    else:
        with video.open("rb") as source, replacing(target) as copy:
            shutil.copyfileobj(source, copy)
    return video.name
