"""Decode the pictures of a camera once and hand them to every detector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from syncaudit.at_work import at_work_on
from syncaudit.decode import LumaFrames, Picture, iter_luma
from syncaudit.detectors import PictureAuditor
from syncaudit.errors import SyncAuditError
from syncaudit.model import CameraStream, Finding, ReasonCode
from syncaudit.model.time import spans_too_long
from syncaudit.pipeline.pictures import PictureLook
from syncaudit.pipeline.reading import refuse_machine_fault, unreadable
from syncaudit.pipeline.stages import Stages
from syncaudit.pipeline.window import part_of

__all__ = ["Watcher", "watch"]


class Watcher(Protocol):
    """A detector that looks at every picture of a camera."""

    def update(self, picture: Picture) -> None:
        """Take one picture."""


def watch(
    stream: CameraStream,
    detectors: Sequence[Watcher],
    stages: Stages,
    *,
    wanted: NDArray[np.bool_] | None = None,
    decoder: str = "cpu",
) -> tuple[PictureLook | None, list[Finding]]:
    """Decode a camera once, hand every frame to its detectors and look at it.

    Parameters
    ----------
    stream : CameraStream
        The camera.
    detectors : sequence
        Each gets every frame that is wanted, in order.
    stages : Stages
        Gets the time of ``decode`` and ``detect``.
    wanted : ndarray of bool, shape (n_frames,), optional
        Frames to look at; None: all.
    decoder : str
        Back end, a key of `syncaudit.decode.DECODERS`.

    Returns
    -------
    look : PictureLook or None
        How the pictures look; None where there are none, or they cannot be read.
    findings : list of Finding
        Why they cannot be read, or that stamps and pictures differ in number.
    """
    if stream.time_ns.size == 0 or not stream.files.paths:
        return None, []  # nothing to look at: no frames, or stamps alone
    if spans_too_long(stream.time_ns):
        return None, []  # the stamp audit says so; such stamps place no picture anywhere
    auditor = PictureAuditor(stream)
    watchers = (*detectors, auditor)
    try:
        with stages.timed("decode"):
            files = stream.files if wanted is None else part_of(stream, wanted)
            frames = iter_luma(files, decoder=decoder)
        seen = frames if wanted is None else _wanted(frames, wanted)
        with at_work_on(f"decoding source {stream.name!r}"):
            for picture in stages.split("decode", seen, "detect"):
                for watcher in watchers:
                    watcher.update(picture)
    except SyncAuditError as error:
        refuse_machine_fault(error, error.path, source=stream.name)
        return None, [unreadable(stream.name, error)]
    findings = _count_mismatch(stream, frames.n_decoded) if wanted is None else []
    return PictureLook(auditor, frames, wanted), findings


def _wanted(frames: LumaFrames, wanted: NDArray[np.bool_]) -> Iterator[Picture]:
    last = int(np.flatnonzero(wanted)[-1])
    for picture in frames:
        if picture.index > last:
            frames.close()
            return
        if wanted[picture.index]:
            yield picture


def _count_mismatch(stream: CameraStream, n_decoded: int) -> list[Finding]:
    if stream.files.is_images:
        return []  # each has its own stamp: the look at the pictures tells which are no pictures
    n_stamps = stream.time_ns.size
    is_said = any(finding.code is ReasonCode.LENGTH_MISMATCH for finding in stream.findings)
    if n_decoded == n_stamps or is_said:
        return []
    return [
        Finding(
            code=ReasonCode.LENGTH_MISMATCH,
            source=stream.name,
            message=(
                f"{stream.uri}: {n_decoded} pictures decoded but {n_stamps} stamps. "
                "Which stamp belongs to which picture is unknown: export both again."
            ),
            value=float(n_decoded),
            limit=float(n_stamps),
        )
    ]
