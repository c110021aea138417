"""Decode a video once and audit it with different timestamps for the same frames.

`ImageAuditor.update` sees only images and frame numbers; timestamps enter in `finish`. An auditor
that saw a video can therefore be finished again with another timestamp table. Which frames a
`RotationDetector` tracks depends on the timestamps: it is given the downscaled images again. The
result is that of a full audit, to the bit. `accuracy.py` proves it in every run by one full audit
of a variant.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import syncaudit.pipeline.camera_evidence as camera_evidence
from syncaudit.decode import Frame
from syncaudit.detectors import ImageAuditor, RotationDetector
from syncaudit.detectors.rotation.detector import track_factor
from syncaudit.model import CameraStream, FrameFiles

Chosen = NDArray[np.bool_] | None


class Replay:
    """Results for each video: the first audit of a file stores them, later ones re-use them."""

    def __init__(self) -> None:
        self._auditors: dict[str, ImageAuditor] = {}
        self._pictures: dict[str, list[_Reduced]] = {}
        self._frames: dict[str, Any] = {}

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let the pipeline decode each video only once inside the block."""
        real_decode = camera_evidence.iter_luma

        def decode(files: FrameFiles, *, decoder: str = "cpu") -> Any:
            key = _key(files)
            if key in self._frames:
                return _NoFrames(self._frames[key])
            self._frames[key] = real_decode(files, decoder=decoder)
            return self._frames[key]

        def tracker(stream: CameraStream, chosen: Chosen = None) -> Any:
            return _Retracked(self._pictures.setdefault(_key(stream.files), []), stream, chosen)

        def auditor(stream: CameraStream) -> Any:
            seen = self._auditors.setdefault(_key(stream.files), ImageAuditor(stream))
            return _Redated(seen, stream)

        camera_evidence.iter_luma = decode  # type: ignore[assignment]
        camera_evidence.RotationDetector = tracker  # type: ignore[assignment,misc]
        camera_evidence.ImageAuditor = auditor  # type: ignore[assignment,misc]
        try:
            yield
        finally:
            camera_evidence.iter_luma = real_decode
            camera_evidence.RotationDetector = RotationDetector  # type: ignore[misc]
            camera_evidence.ImageAuditor = ImageAuditor  # type: ignore[misc]


class _Retracked:
    """A rotation detector that keeps every downscaled image, or is fed those kept before."""

    def __init__(self, pictures: list[_Reduced], stream: CameraStream, chosen: Chosen) -> None:
        self._pictures, self._detector = pictures, RotationDetector(stream, chosen)

    def update(self, frame: Frame) -> None:
        self._pictures.append(_Reduced(frame))

    def finish(self) -> Any:
        for frame in self._pictures:
            self._detector.update(frame)  # type: ignore[arg-type]  # has all that it uses
        return self._detector.finish()


class _Reduced:
    """The parts of a frame that a rotation detector uses, without the frame."""

    def __init__(self, frame: Frame) -> None:
        self.index, self.shape = frame.index, frame.shape
        self._small = frame.reduced(track_factor(frame.shape)).copy()

    def reduced(self, _factor: int) -> NDArray[np.uint8]:
        return self._small


class _Redated:
    """An auditor that has seen its video, finished with the timestamps of another stream."""

    def __init__(self, seen: ImageAuditor, stream: CameraStream) -> None:
        self._seen, self.stream = seen, stream

    def update(self, *arguments: Any, **options: Any) -> None:
        self._seen.update(*arguments, **options)

    def finish(self, **options: Any) -> Any:
        auditor = copy.deepcopy(self._seen)
        auditor.stream = self.stream
        return auditor.finish(**options)


class _NoFrames:
    """The tally of a video that was decoded before, without its frames."""

    def __init__(self, decoded: Any) -> None:
        self._decoded = decoded

    def __iter__(self) -> _NoFrames:
        return self

    def __next__(self) -> Any:
        raise StopIteration

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoded, name)


def _key(files: FrameFiles) -> str:
    return f"{Path(files.paths[0]).resolve()}#{files.stream}"
