"""Write variants of clips in which one clock is wrong by a known amount."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from syncaudit.datasets import write_manifest
from syncaudit.errors import UsageError
from syncaudit.evaluation.change import Change
from syncaudit.evaluation.draw import Draw, movable_sources
from syncaudit.evaluation.injected import TRUTH, Injected
from syncaudit.model import Clip, ClockMap
from syncaudit.writing import replacing_text
from syncaudit_calibration.apply.corrections import SourceCorrection
from syncaudit_calibration.apply.outcomes import ClipOutcome
from syncaudit_calibration.apply.rewrite import corrected_rows
from syncaudit_calibration.apply.targets import MANIFEST, check_target, file_names


@dataclass(slots=True, kw_only=True)
class Injection:
    """Running counts of what was written."""

    # Clips of the new manifest.
    n_controls: int = 0
    n_variants: int = 0
    moved: Counter[tuple[str, str]] = field(default_factory=Counter)  # number of variants of each
    # Number of clips in which a source could not be moved.
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slowed(SourceCorrection):
    """A drift that begins at the first timestamp of the source."""

    def near(self, time_ns: int) -> SourceCorrection:
        """Return the correction anchored there."""
        if self.correction is None:
            return self
        return SourceCorrection(
            correction=replace(self.correction, at_ns=time_ns), is_of_this_clip=True
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    clip_id: str
    place: int  # index of the original, so that a million clips need not be held unpacked
    source: str | None = None
    change: Change | None = None
    moved: tuple[str, ...] = ()


def inject_variants(
    clips: Sequence[Clip],
    out: Path,
    *,
    draw: Draw,
    n_variants: int,
    patterns: Sequence[str] = (),
    inputs: Sequence[str] = (),
    on_clip: Callable[[Injection], None] | None = None,
) -> Injection:
    """Write timestamps, ``manifest.jsonl`` and ``truth.jsonl`` of controls and variants.

    A control is the unchanged clip; a variant has the timestamps of one clock moved. Each is a
    recording of its own, so that its verdict does not depend on the clocks of other clips.

    Parameters
    ----------
    clips : sequence of Clip
        Clips of a manifest, with distinct ids.
    out : Path
        Folder to write; new, or that of an earlier run, which is then overwritten.
    draw : Draw
        Draws sources and changes.
    n_variants : int
        Variants per clip, in addition to its control.
    patterns : sequence of str
        Kinds or names of sources to move; empty: all.
    inputs : sequence of str
        Other files that must not be overwritten.
    on_clip : callable, optional
        Called after every clip that was written.

    Raises
    ------
    UsageError
        If no source can be moved, or originals would be overwritten.
    """
    injection = Injection()
    variants = list(_variants(clips, draw, n_variants, patterns, injection))
    if not any(variant.source for variant in variants):
        raise UsageError("no source can be shifted", hint=_why_none(injection, clips))
    folders = file_names([each.clip_id for each in variants], reserved=(MANIFEST, TRUTH))
    check_target(out, clips, set(folders.values()), inputs, record=TRUTH, command="inject")
    out.mkdir(parents=True, exist_ok=True)
    (out / TRUTH).touch()  # marks the folder as ours even if the run is interrupted

    def rows(truth: TextIO) -> Iterator[dict[str, Any]]:
        pairs = (_moved(each, clips[each.place]) for each in variants)
        for each, (row, outcome) in zip(variants, corrected_rows(pairs, out, folders), strict=True):
            injected = _injected(each, clips[each.place], outcome, injection)
            if injected is not None:
                truth.write(json.dumps(injected.to_json(), ensure_ascii=False) + "\n")
                yield row
            if on_clip is not None:
                on_clip(injection)
        if not injection.n_variants:
            raise UsageError("no timestamps could be shifted", hint=_why_none(injection, clips))

    with replacing_text(out / TRUTH) as truth:
        write_manifest(rows(truth), out / MANIFEST)
    return injection


def _variants(
    clips: Sequence[Clip],
    draw: Draw,
    n_variants: int,
    patterns: Sequence[str],
    injection: Injection,
) -> Iterator[_Variant]:
    taken: set[str] = set()
    for place, clip in enumerate(clips):
        movable, refused = movable_sources(clip, patterns)
        injection.left_out.update(refused.items())
        if not movable:
            continue
        yield _Variant(clip_id=_name(clip, "control", taken), place=place)
        for source, change in draw.of_clip(list(movable), n_variants):
            yield _Variant(
                clip_id=_name(clip, f"{source}~{change.name}", taken),
                place=place,
                source=source,
                change=change,
                moved=movable[source],
            )


def _name(clip: Clip, ending: str, taken: set[str]) -> str:
    name = f"{clip.clip_id}~{ending}"
    while name in taken:  # only if clip or source names are chosen to collide
        name += "_"
    taken.add(name)
    return name


def _moved(variant: _Variant, clip: Clip) -> tuple[Clip, dict[str, SourceCorrection]]:
    """Return the clip under its new clip and recording id, and the corrections to apply."""
    known = {name: SourceCorrection(why="it is not shifted") for name in clip.sources}
    # A variant is not an episode of the data set, so it has no origin.
    clip = replace(clip, clip_id=variant.clip_id, recording_id=variant.clip_id, origin=None)
    change = variant.change
    if change is None:
        return clip, known
    # With the inverse in the timestamps, the change is exactly the correction that undoes it.
    if change.drift_ppm:
        slower = ClockMap(drift_ppm=change.drift_ppm, at_ns=0).inverse()
        moved: SourceCorrection = _Slowed(correction=slower)
    else:
        moved = SourceCorrection(correction=ClockMap(offset_s=change.offset_s).inverse())
    return clip, known | dict.fromkeys(variant.moved, moved)


def _injected(
    variant: _Variant, original: Clip, outcome: ClipOutcome, injection: Injection
) -> Injected | None:
    """Return the ground truth of a variant, or None if its timestamps could not be moved."""
    name, change = variant.source, variant.change
    if name is None or change is None:
        injection.n_controls += 1
        return Injected(
            clip_id=variant.clip_id, original=original.clip_id, recording=original.recording_id
        )
    done = outcome.sources
    for mate in variant.moved:
        if done[mate].is_failure:
            injection.left_out[mate, done[mate].why or ""] += 1
            return None
    written, kind = done[name].correction, str(original.sources[name].kind)
    injection.n_variants += 1
    injection.moved[kind, name] += 1
    return Injected(
        clip_id=variant.clip_id,
        original=original.clip_id,
        recording=original.recording_id,
        source=name,
        kind=kind,
        change=change,
        at_ns=written.at_ns if change.drift_ppm and written is not None else None,
        moved=variant.moved,
    )


def _why_none(injection: Injection, clips: Sequence[Clip]) -> str:
    if injection.left_out:
        return "; ".join(f"{name}: {why}" for name, why in list(injection.left_out)[:3])
    names = sorted({name for clip in clips[:1000] for name in clip.sources})
    return f"--sources takes kinds and names; the clips hold {', '.join(names[:12])}."
