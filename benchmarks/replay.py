"""Track a video once and re-date its rotation for other stamps of the same pictures.

`RotationDetector.update` and `PictureAuditor.update` see pictures and frame numbers only; stamps
enter in `finish`. So a detector that saw a video can be finished again with another stamp table,
and the answer is that of a full audit, to the bit. `accuracy.py` proves it in every run by one full
audit of a variant.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import syncaudit.pipeline.evidence as evidence
import syncaudit.pipeline.watching as watching
from syncaudit.detectors import PictureAuditor, RotationDetector
from syncaudit.model import CameraStream, FrameFiles

__all__ = ["Replay"]


class Replay:
    """Detectors by video file; the first audit of a file fills them, later ones re-use them."""

    def __init__(self) -> None:
        self._detectors: dict[tuple[type, str], Any] = {}
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

        def detector(kind: type) -> Any:
            def make(stream: CameraStream) -> Any:
                key = kind, _key(stream.files)
                is_first = key not in self._detectors
                if is_first:
                    self._detectors[key] = kind(stream)
                return _Redated(self._detectors[key], stream, is_first=is_first)

            return make

        places = ((evidence, RotationDetector), (watching, PictureAuditor))
        watching.iter_luma = decode  # type: ignore[assignment]
        for module, kind in places:
            setattr(module, kind.__name__, detector(kind))
        try:
            yield
        finally:
            watching.iter_luma = real_decode
            for module, kind in places:
                setattr(module, kind.__name__, kind)


class _Redated:
    """A detector that has seen its video, finished with the stamps of another stream."""

    def __init__(self, seen: Any, stream: CameraStream, *, is_first: bool) -> None:
        self._seen, self.stream, self._is_first = seen, stream, is_first

    def update(self, *arguments: Any, **options: Any) -> Any:
        assert self._is_first, "a replayed video yields no frames"
        return self._seen.update(*arguments, **options)

    def finish(self, **options: Any) -> Any:
        detector = copy.deepcopy(self._seen)
        detector.stream = self.stream
        return detector.finish(**options)


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
