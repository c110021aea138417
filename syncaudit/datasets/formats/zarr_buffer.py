"""Import zarr replay buffers of diffusion policy and UMI, with concatenated episodes."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from posixpath import join
from typing import TYPE_CHECKING, Any

import numpy as np

from syncaudit.datasets.formats.nested import MOST, name_of, walk
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.datasets.steps.arrays import READ_ERRORS
from syncaudit.datasets.steps.episode import Episode, clip_of, rate_of_rules
from syncaudit.errors import ManifestError, MissingExtraError, one_line
from syncaudit.model import CameraSpec, Clip

if TYPE_CHECKING:
    import zarr

_ENDS = "meta/episode_ends"
_PACKED = ".zarr.zip"
_DEPTH = 2


class ZarrFormat:
    """One clip per episode of a buffer, zarr 2 or 3, a folder or a zip file.

    Steps have the times of ``data/timestamp`` if it exists; else they are counted at the
    ``rate_hz`` of the rules, or only numbered.
    """

    name = "zarr"
    summary = "zarr of diffusion policy and UMI: data/*, meta/episode_ends, also as .zarr.zip"
    takes_rules = True

    def probe(self, source: Source) -> str | None:
        """Accept a buffer, or a folder with one, at most two levels down."""
        if next(_buffers(source, most=MOST), None) is not None:
            return None
        return f"no {_ENDS} and no *{_PACKED}, up to {_DEPTH} levels down"

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the episodes, buffers in the order of their names."""
        if find_spec("zarr") is None:
            raise MissingExtraError("zarr", extra="zarr", purpose=f"the format {self.name}")
        rate_hz = rate_of_rules(job.rules)
        for buffer in _buffers(source):
            with _opened(source, buffer) as (group, names):
                yield from _clips(source, buffer, group, names, rate_hz, job)


def _buffers(source: Source, *, most: int = sys.maxsize) -> Iterator[str]:
    """Yield the folders and files that are buffers; "" is the source itself."""
    found_in = walk(source, lambda folder: source.has(join(folder, _ENDS)), depth=_DEPTH, most=most)
    for folder, found in found_in:
        yield from [folder] if found else source.files(f"*{_PACKED}", folder)


@contextmanager
def _opened(source: Source, buffer: str) -> Iterator[tuple[zarr.Group, list[str]]]:
    """Open a buffer; yield its group and the names of its arrays."""
    import zarr
    from zarr.storage import ZipStore

    with suppress(ImportError):  # image codecs
        from imagecodecs.numcodecs import register_codecs

        register_codecs(verbose=False)
    store: Any
    with ExitStack() as stack:
        try:
            if buffer.endswith(_PACKED):
                path = stack.enter_context(source.local(buffer))
                with zipfile.ZipFile(path) as packed:
                    parts = [name.split("/") for name in packed.namelist()]
                names = sorted({part[1] for part in parts if part[0] == "data" and len(part) > 2})
                store = stack.enter_context(ZipStore(path, mode="r"))
            else:
                names = [name.rpartition("/")[2] for name in source.folders(join(buffer, "data"))]
                store = source.uri_of(buffer)
            group = zarr.open_group(store, mode="r")
        except READ_ERRORS as error:
            if isinstance(error, ManifestError):
                raise
            raise ManifestError(
                f"is not an intact zarr group ({one_line(error)})",
                path=source.uri_of(buffer),
                hint="Copy it again.",
            ) from error
        yield group, names


def _clips(
    source: Source,
    buffer: str,
    group: zarr.Group,
    names: list[str],
    rate_hz: float | None,
    job: Import,
) -> Iterator[Clip]:
    ends = _episode_ends(group, source.uri_of(buffer))
    findings: list[str] = []
    arrays = dict(_arrays(group, names, findings, job))
    title = name_of(source, buffer).rpartition("/")[2].removesuffix(".zip").removesuffix(".zarr")
    for number, (first, stop) in enumerate(zip([0, *ends], ends, strict=False)):
        episode = Episode(
            clip_id=f"{title}/episode_{number:05d}",
            arrays=arrays,
            rows=(first, stop),
            rate_hz=rate_hz,
            findings=findings,
        )
        clip = clip_of(episode, job, source)
        videos = _videos(source, buffer, number)
        if videos:
            job.note("videos/EPISODE/*.mp4 -> cameras: nothing states when they began")
        yield replace(clip, sources={**clip.sources, **videos})


def _episode_ends(group: zarr.Group, place: str) -> list[int]:
    """Return the end row (exclusive) of every episode."""
    try:
        ends = np.asarray(_array(group, _ENDS)[:])
        if ends.ndim != 1 or ends.dtype.kind not in "iu":
            raise ValueError(
                f"it is {ends.dtype} in {ends.ndim} dimensions, expected whole numbers"
            )
        wrong = np.flatnonzero(np.diff(ends.astype(np.int64), prepend=0) <= 0)
        if wrong.size:
            at = int(wrong[0])
            raise ValueError(f"item {at} is {ends[at]}, not beyond the one before")
    except READ_ERRORS as error:
        raise ManifestError(
            f"{_ENDS} does not delimit its episodes: {one_line(error)}",
            path=place,
            hint="Copy it again; it holds the row after the last one of each episode.",
        ) from error
    return [int(end) for end in ends]


def _arrays(
    group: zarr.Group, names: list[str], findings: list[str], job: Import
) -> Iterator[tuple[str, Any]]:
    """Yield (name, array) for each array that can be opened."""
    for name in names:
        try:
            array = _array(group, f"data/{name}")
            missing = array.nchunks - array.nchunks_initialized
        except READ_ERRORS as error:
            why = one_line(error)
            cure = "pip install imagecodecs" if "imagecodecs" in why else "Copy it again"
            findings.append(f"unreadable: data/{name} is left out: {why}. {cure}.")
            job.note(findings[-1].partition(": ")[2])
            continue
        if missing:
            text = f"{missing} of {array.nchunks} chunks of data/{name} are not there, and read as"
            findings.append(f"missing_file: {text} {array.fill_value}")
        yield name, array


def _array(group: zarr.Group, name: str) -> zarr.Array[Any]:
    """Return an array; ValueError for one that would execute code packed into it."""
    import zarr

    found = group[name]
    if not isinstance(found, zarr.Array):
        raise ValueError("it is a group, not an array")
    packing = [*found.filters, *found.compressors, found.serializer]
    if "pickle" in repr(packing).lower():
        raise ValueError("it is packed with pickle, which can run programs")
    return found


def _videos(source: Source, buffer: str, number: int) -> dict[str, CameraSpec]:
    """Return the videos that diffusion policy stores beside a buffer, one folder per episode."""
    folder = join(buffer.rpartition("/")[0], f"videos/{number}")
    return {
        f"video_{name.rpartition('/')[2].removesuffix('.mp4')}": CameraSpec(
            uri=name, is_start_assumed=True
        )
        for name in (source.files("*.mp4", folder) if buffer else [])
    }
