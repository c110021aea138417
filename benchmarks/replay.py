"""Track a video once and re-date its rotation for other stamps of the same pictures.

`RotationDetector.update` sees pictures and frame numbers only; stamps enter in `finish`. So the
detector that saw a video can be finished again with another stamp table, and the answer is that
of a full audit, to the bit. `accuracy.py` proves it in every run by one full audit of a variant.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import syncaudit.pipeline.evidence as evidence
import syncaudit.pipeline.watching as watching
from syncaudit.detectors.rotation import RotationDetector
from syncaudit.model import CameraStream, FrameFiles

__all__ = ["Replay"]


class Replay:
    """Detectors by video file; the first audit of a file fills them, later ones re-use them."""

    def __init__(self) -> None:
        self._detectors: dict[str, Any] = {}
        self._frames: dict[str, Any] = {}

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let the pipeline decode each video only once inside the block."""
        real_decode = watching.iter_luma

        def decode(files: FrameFiles, *, decoder: str = "cpu") -> Any:
            key = _key(files)
            if key in self._frames:
                return _NoFrames(self._frames[key])
            self._frames[key] = real_decode(files, decoder=decoder)
            return self._frames[key]

        def detector(stream: CameraStream) -> Any:
            key = _key(stream.files)
            if key in self._detectors:
                return _Redated(self._detectors[key], stream)
            self._detectors[key] = RotationDetector(stream)
            return _Redated(self._detectors[key], stream, is_first=True)

        watching.iter_luma, evidence.RotationDetector = decode, detector  # type: ignore[assignment,misc]
        try:
            yield
        finally:
            watching.iter_luma, evidence.RotationDetector = real_decode, RotationDetector  # type: ignore[misc]


class _Redated:
    """A detector that has seen its video, finished with the stamps of another stream."""

    def __init__(self, seen: Any, stream: CameraStream, *, is_first: bool = False) -> None:
        self._seen, self._stream, self._is_first = seen, stream, is_first

    def update(self, *arguments: Any) -> Any:
        assert self._is_first, "a replayed video yields no frames"
        return self._seen.update(*arguments)

    def finish(self) -> Any:
        detector = copy.deepcopy(self._seen)
        detector.stream = self._stream
        return detector.finish()


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
