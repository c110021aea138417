"""Frames on a device give the same results as on the host; torch on the CPU acts as a device."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.decode import Frame, iter_luma, torchcodec_planes
from syncaudit.decode.back_end import DeviceBatch
from syncaudit.decode.container import list_frames
from syncaudit.decode.torchcodec_planes import TorchcodecDecoder
from syncaudit.detectors import FlashDetector, ImageAuditor, ImageMotionDetector
from syncaudit.model import FrameFiles
from testkit import fake_torchcodec
from testkit.streams import camera_stream

torch = pytest.importorskip("torch")

N_FRAMES = 24


def planes() -> np.ndarray:
    """Return moving noise that flashes twice."""
    noise = np.random.default_rng(4).integers(30, 180, (160, 400), dtype=np.uint8)
    moved = np.stack([np.roll(noise, 3 * k, axis=1)[:, :320] for k in range(N_FRAMES)])
    moved[[9, 15], 40:90] += 60
    return moved


def on_device(luma: np.ndarray, n_at_once: int = 7) -> list[Frame]:
    batches = torch.from_numpy(luma).split(n_at_once)
    found = [plane for batch in batches for plane in DeviceBatch(batch)]
    return [Frame(k, plane) for k, plane in enumerate(found)]


def test_features_are_those_of_the_host() -> None:
    luma = planes()
    for frame, plane in zip(on_device(luma), luma, strict=True):
        expected = Frame(frame.index, plane)
        assert frame.shape == expected.shape
        for ask in (
            lambda p: p.block_sums(16),
            lambda p: p.block_sums(4, 4),
            lambda p: p.reduced(1),
            lambda p: p.reduced(2),
            lambda p: p.reduced(13),
            lambda p: p.rows(4, 8),
            lambda p: p.luma,
        ):
            assert ask(frame).dtype == ask(expected).dtype
            np.testing.assert_array_equal(ask(frame), ask(expected))


def test_features_are_computed_of_a_batch_at_once() -> None:
    n_calls = 0

    def feature(stacked, factor):
        nonlocal n_calls
        n_calls += 1
        return stacked * factor

    batch = DeviceBatch(torch.ones((5, 2, 3)))
    for plane in batch:
        assert plane.computed(feature, (2,)).tolist() == [[2.0] * 3] * 2
    assert n_calls == 1


def test_the_host_computes_where_the_memory_of_the_device_is_full() -> None:
    class Full:
        """Planes on a device that is out of memory."""

        def cpu(self):
            return torch.ones((5, 2, 3))

    def feature(stacked, factor):
        if isinstance(stacked, Full):
            raise torch.cuda.OutOfMemoryError
        return stacked * factor

    batch = DeviceBatch(Full())
    assert batch.computed(feature, (2,)).tolist() == [[[2.0] * 3] * 2] * 5


@pytest.mark.parametrize("kind", [FlashDetector, ImageAuditor, ImageMotionDetector])
def test_detectors_find_the_same(kind) -> None:
    stream = camera_stream(np.arange(N_FRAMES, dtype=np.int64) * 83_333_333, line_delay_s=5e-5)
    luma = planes()
    found = []
    for pictures in (on_device(luma), [Frame(k, plane) for k, plane in enumerate(luma)]):
        detector = kind(stream)
        for frame in pictures:
            detector.update(frame)
        found.append(detector.finish())
    assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("bf", ["0", "2"])
def test_batches_of_torchcodec_are_the_frames_of_the_cpu(encode, monkeypatch, bf) -> None:
    monkeypatch.setattr(torchcodec_planes, "_library", lambda: (torch, fake_torchcodec))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(TorchcodecDecoder, "_agreement", None)
    path = str(encode("a.mp4", options={"bf": bf, "g": "6"}, n_frames=40, size_px=(190, 150)))
    pts_ns = list_frames(path).pts_ns()
    for span_ns in (None, (pts_ns[12], pts_ns[30]), (pts_ns[39], 10**12)):
        files = FrameFiles(paths=(path,), span_ns=span_ns)
        frames = iter_luma(files, decoder="torchcodec")
        found = [(f.index, f.pts_s, f.reduced(2).tobytes(), f.luma.tobytes()) for f in frames]
        assert frames.tally.fallback is None
        assert found == [
            (f.index, f.pts_s, f.reduced(2).tobytes(), f.luma.tobytes()) for f in iter_luma(files)
        ]
