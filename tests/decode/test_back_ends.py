"""Back ends yield the CPU's result, or leave the video to it and report why.

NVDEC runs on a stand-in for PyNvVideoCodec, whose signatures are compared with the real package
if that is installed, and on a GPU if there is one; torchcodec runs if it is installed.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from syncaudit.decode import DECODERS, iter_luma
from syncaudit.decode import nvdec as nvdec_module
from syncaudit.decode.back_end import Agreement, DevicePlane
from syncaudit.decode.container import list_frames
from syncaudit.decode.nvdec import BATCH, NvdecDecoder
from syncaudit.decode.samples import SAMPLES
from syncaudit.decode.torchcodec_planes import TorchcodecDecoder
from syncaudit.errors import StreamReadError
from syncaudit.model import FrameFiles
from testkit import fake_nvvideocodec as fake
from testkit.fake_nvvideocodec import Faults

Encode = Callable[..., Path]
Frames = list[tuple[int, float | None, bytes, tuple[int, ...], bool, int]]

CODECS = [
    ("libx264", {"bf": "2", "g": "6"}),
    ("libx264", {"bf": "0"}),
    ("libx265", {"x265-params": "keyint=6:bframes=2:log-level=none"}),
]


@pytest.fixture
def nvdec(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace PyNvVideoCodec with the stand-in, and forget what was probed with it."""
    monkeypatch.setitem(sys.modules, "PyNvVideoCodec", fake)
    monkeypatch.setattr(NvdecDecoder, "_agreement", None)
    monkeypatch.setattr(NvdecDecoder, "_torch", None)
    monkeypatch.setattr(nvdec_module, "_torch_on_gpu", lambda: None)
    monkeypatch.setattr(NvdecDecoder, "_idle", nvdec_module._IdleSessions())
    nvdec_module._capabilities.cache_clear()
    Faults.clear()
    yield
    nvdec_module._capabilities.cache_clear()
    Faults.clear()


@pytest.fixture
def nvdec_device(nvdec: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let torch on the CPU take over the frames of the stand-in, as if on a GPU."""
    torch = fake.torch_on_gpu(pytest.importorskip("torch"))
    monkeypatch.setattr(nvdec_module, "_torch_on_gpu", lambda: torch)


@pytest.fixture(params=["nvdec", "nvdec_device", "nvdec_gpu", "torchcodec"])
def back_end(request: pytest.FixtureRequest) -> str:
    if request.param in ("nvdec", "nvdec_device"):
        request.getfixturevalue(request.param)
        return "nvdec"
    name = request.param.removesuffix("_gpu")
    why = DECODERS[name]().probe()
    if why is not None:
        pytest.skip(why)
    return name


def frames_of(
    path: Path, decoder: str, span_ns: tuple[int, int] | None = None
) -> tuple[Frames, str | None]:
    frames = iter_luma(FrameFiles(paths=(str(path),), span_ns=span_ns), decoder=decoder)
    found = [(f.index, f.pts_s, f.luma.tobytes(), f.luma.shape, f.is_key, f.white) for f in frames]
    assert frames.tally.n_decoded == len(found)
    return found, frames.tally.fallback


@pytest.mark.parametrize("codec", SAMPLES)
def test_samples_are_the_same(back_end: str, codec: str) -> None:
    assert DECODERS[back_end]().unavailable_reason() is None
    found, why = frames_of(SAMPLES[codec], back_end)
    if why == "nvdec: this GPU does not decode av1":  # as an H100
        pytest.skip(why)
    assert why is None
    expected, _ = frames_of(SAMPLES[codec], "cpu")
    if codec == "MJPEG":  # the one that leaves rounding open
        for one, other in zip(found, expected, strict=True):
            levels = [np.frombuffer(frame[2], np.uint8).astype(np.int16) for frame in (one, other)]
            assert np.abs(levels[0] - levels[1]).max() <= 1
    else:
        assert found == expected


@pytest.mark.parametrize(("codec", "options"), CODECS)
def test_videos_and_parts_of_them_are_the_same(
    back_end: str, encode: Encode, codec: str, options: dict[str, str]
) -> None:
    path = encode("a.mp4", codec, options=options, n_frames=40, size_px=(190, 150))
    assert frames_of(path, back_end) == (frames_of(path, "cpu")[0], None)
    listed = list_frames(str(path)).pts_ns()
    assert listed is not None
    pts_ns = listed.tolist()
    for first, stop in ((0, 5), (12, 30), (17, 39), (39, 40), (20, 20)):
        end_ns = pts_ns[stop] if stop < 40 else 10**12
        span_ns = (pts_ns[first] if first < stop else end_ns, end_ns)
        found, why = frames_of(path, back_end, span_ns)
        assert why is None
        assert found == frames_of(path, "cpu", span_ns)[0]
        assert len(found) == stop - first


@pytest.mark.parametrize("name", ["a.mp4", "a.mov", "a.mkv"])
@pytest.mark.parametrize("begin_ms", [0, 5000])
def test_times_of_a_variable_rate_are_the_same(
    back_end: str, encode: Encode, name: str, begin_ms: int
) -> None:
    gaps_ms = np.random.default_rng(3).integers(5, 90, 40)
    pts_ms = (begin_ms + np.cumsum(gaps_ms)).tolist()
    options = {"bf": "2", "g": "12"}
    path = encode(name, n_frames=40, options=options, size_px=(190, 150), pts_ms=pts_ms)
    expected, _ = frames_of(path, "cpu")
    assert len(expected) == 40
    assert frames_of(path, back_end) == (expected, None)


@pytest.mark.parametrize(
    ("name", "codec", "pix_fmt", "why"),
    [
        ("a.mp4", "libx264", "yuv422p", "yuv422p, not 8-bit 4:2:0"),
        ("a.mp4", "libx264", "yuv420p10le", "yuv420p10le, not 8-bit 4:2:0"),
        ("a.mp4", "mpeg4", "yuv420p", "no mpeg4 sample"),
        ("a.h264", "libx264", "yuv420p", "does not list its frames"),
    ],
)
def test_what_it_is_not_made_for_is_left_to_the_cpu(
    back_end: str, encode: Encode, name: str, codec: str, pix_fmt: str, why: str
) -> None:
    form = "h264" if name.endswith("h264") else None
    path = encode(name, codec, pix_fmt=pix_fmt, container_format=form)
    found, said = frames_of(path, back_end)
    assert found == frames_of(path, "cpu")[0]
    assert said is not None
    assert said.startswith(f"{back_end}: ")
    assert why in said


def test_damage_is_found_by_the_cpu(back_end: str, encode: Encode, tmp_path: Path) -> None:
    data = encode("a.mkv", options={"g": "1"}, n_frames=20).read_bytes()
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(data[: len(data) * 6 // 10])
    expected = iter_luma(FrameFiles(paths=(str(cut),)))
    n_expected = sum(1 for _ in expected)
    frames = iter_luma(FrameFiles(paths=(str(cut),)), decoder=back_end)
    assert sum(1 for _ in frames) == n_expected
    assert (frames.tally.n_errors, frames.tally.n_corrupt) == (
        expected.tally.n_errors,
        expected.tally.n_corrupt,
    )


def test_files_that_are_none_are_refused_as_by_the_cpu(back_end: str, tmp_path: Path) -> None:
    (tmp_path / "x.mp4").write_bytes(b"no video at all")
    for name in ("x.mp4", "gone.mp4"):
        files = FrameFiles(paths=(str(tmp_path / name),))
        with pytest.raises(StreamReadError, match=r"FFmpeg cannot open it|file not found"):
            iter_luma(files, decoder=back_end)


def test_leaving_early_releases_it(back_end: str, encode: Encode) -> None:
    path = encode("a.mp4")
    with iter_luma(FrameFiles(paths=(str(path),)), decoder=back_end) as frames:
        assert next(frames).index == 0
    with pytest.raises(StopIteration):
        next(frames)


def test_planes_outlive_the_next_frame(back_end: str) -> None:
    files = FrameFiles(paths=(str(SAMPLES["H.264"]),))
    kept = [frame.luma for frame in iter_luma(files, decoder=back_end)]
    expected = [frame.luma.copy() for frame in iter_luma(files)]
    for found, one in zip(kept, expected, strict=True):
        np.testing.assert_array_equal(found, one)


@pytest.mark.usefixtures("nvdec")
@pytest.mark.parametrize("fail_at", [0, BATCH + 3])
def test_a_driver_that_fails_is_replaced_at_that_frame(encode: Encode, fail_at: int) -> None:
    path = encode("a.mp4", n_frames=40)
    assert DECODERS["nvdec"]().unavailable_reason() is None
    Faults.fail_at = fail_at
    n_created = Faults.n_created
    found, why = frames_of(path, "nvdec")
    assert found == frames_of(path, "cpu")[0]
    assert why == "nvdec: the driver failed (cuvidDecodePicture returned error 999)"
    Faults.fail_at = None
    assert frames_of(path, "nvdec") == (found, None)
    assert Faults.n_created == n_created + 2  # the failed one is not used again


@pytest.mark.usefixtures("nvdec")
def test_frames_that_do_not_come_are_decoded_by_the_cpu(encode: Encode) -> None:
    path = encode("a.mp4", n_frames=40)
    assert DECODERS["nvdec"]().unavailable_reason() is None
    Faults.end_at = 0
    found, why = frames_of(path, "nvdec")
    assert found == frames_of(path, "cpu")[0]
    assert why == "nvdec: 0 of 40 frames were decoded"


@pytest.mark.usefixtures("nvdec")
@pytest.mark.parametrize(
    ("faults", "why"),
    [
        ({"level_error": {"h264": 1}}, "it does not decode as the CPU does (frame 0 of a sample"),
        ({"late_by": 1}, "frame 0 of a sample has another timestamp"),
        ({"unsupported": {"H264"}}, "the GPU does not decode H.264"),
        ({"pixel_format": fake.Pixel_Format.P016}, "its frames are output as Pixel_Format.P016"),
        ({"end_at": 0}, "0 of the 8 frames of a sample were decoded"),
        ({"is_absent": True}, "the GPU does not answer (cuInit failed: no CUDA-capable device"),
    ],
)
def test_a_gpu_that_does_not_decode_as_the_cpu_is_not_used(
    encode: Encode, faults: dict[str, object], why: str
) -> None:
    for name, value in faults.items():
        setattr(Faults, name, value)
    found, said = frames_of(encode("a.mp4"), "nvdec")
    assert why in str(DECODERS["nvdec"]().unavailable_reason())
    assert why in str(said)
    assert len(found) == 10


@pytest.mark.usefixtures("nvdec")
def test_codecs_that_this_gpu_lacks_are_left_to_the_cpu() -> None:
    Faults.unsupported = {"AV1"}  # as on A100 and H100
    assert DECODERS["nvdec"]().unavailable_reason() is None
    assert frames_of(SAMPLES["AV1"], "nvdec")[1] == "nvdec: this GPU does not decode av1"
    assert frames_of(SAMPLES["HEVC"], "nvdec")[1] is None


@pytest.mark.usefixtures("nvdec")
def test_jpeg_may_differ_by_one_level_and_no_more() -> None:
    Faults.level_error = {"mjpeg": 1, "vp9": 1}
    agreement = NvdecDecoder.agreement()
    assert (agreement.unavailable_reason("mjpeg"), agreement.unavailable_reason("hevc")) == (
        None,
        None,
    )
    assert agreement.unavailable_reason("vp9") == "frame 0 of a sample has other pixels"
    Faults.level_error = {"mjpeg": 2}
    NvdecDecoder._agreement = None
    assert (
        NvdecDecoder.agreement().unavailable_reason("mjpeg")
        == "frame 0 of a sample has other pixels"
    )


@pytest.mark.usefixtures("nvdec")
def test_images_too_small_for_the_engine_are_left_to_the_cpu(encode: Encode) -> None:
    options = {"x265-params": "log-level=none"}
    _, why = frames_of(encode("a.mp4", "libx265", options=options), "nvdec")
    assert why == "nvdec: this GPU decodes hevc from 128 x 128 to 4096 x 4096 pixels, not 64 x 48"


@pytest.mark.usefixtures("nvdec")
def test_a_decoder_is_reused_for_videos_coded_alike_by_one_thread_at_a_time(
    encode: Encode,
) -> None:
    paths = [encode("a.mp4"), encode("b.mp4", n_frames=20), encode("c.mp4", size_px=(64, 64))]
    DECODERS["nvdec"]().unavailable_reason()
    n_samples = Faults.n_created
    for _ in range(3):
        assert [frames_of(path, "nvdec")[1] for path in paths] == [None] * 3
    assert Faults.n_created == n_samples + 2
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: frames_of(paths[0], "nvdec"), range(20)))
    assert found == [(frames_of(paths[0], "cpu")[0], None)] * 20
    assert Faults.n_created <= n_samples + 2 + 3


@pytest.mark.usefixtures("nvdec")
def test_no_more_decoders_are_kept_than_may_wait(
    encode: Encode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvdec_module, "_MAX_IDLE", 2)
    paths = [encode(f"{width}.mp4", size_px=(width, 64)) for width in (64, 96, 128)]
    DECODERS["nvdec"]().unavailable_reason()
    for path in (*paths, paths[2], paths[1]):
        frames_of(path, "nvdec")
    n_created = Faults.n_created
    frames_of(paths[0], "nvdec")
    assert Faults.n_created == n_created + 1


@pytest.mark.usefixtures("nvdec")
def test_the_gpu_is_asked_once_for_each_codec(encode: Encode) -> None:
    path = encode("a.mp4")
    DECODERS["nvdec"]().unavailable_reason()
    n_asked = Faults.n_asked
    for _ in range(3):
        frames_of(path, "nvdec")
    assert n_asked == Faults.n_asked == len(SAMPLES)


@pytest.mark.usefixtures("nvdec_device")
def test_features_are_computed_where_the_images_are(encode: Encode) -> None:
    assert NvdecDecoder.keeps_on_device()
    path = encode("a.mp4", n_frames=40, size_px=(190, 150))
    frames = iter_luma(FrameFiles(paths=(str(path),)), decoder="nvdec")
    # Kept until the end: by then the decoder has overwritten all of its frames.
    pictures = list(frames)
    assert frames.tally.fallback is None
    for image, expected in zip(pictures, iter_luma(FrameFiles(paths=(str(path),))), strict=True):
        assert isinstance(image._plane, DevicePlane)
        np.testing.assert_array_equal(image.reduced(2), expected.reduced(2))
        np.testing.assert_array_equal(image.block_sums(16), expected.block_sums(16))
        np.testing.assert_array_equal(image.luma, expected.luma)


@pytest.mark.usefixtures("nvdec_device")
@pytest.mark.parametrize(
    "faults", [{"dlpack_error": RuntimeError("no DLPack")}, {"device_level_error": 1}]
)
def test_images_are_copied_where_torch_cannot_take_them_over(
    encode: Encode, faults: dict[str, object]
) -> None:
    for name, value in faults.items():
        setattr(Faults, name, value)
    path = encode("a.mp4", n_frames=40)
    found, why = frames_of(path, "nvdec")
    assert why is None
    assert found == frames_of(path, "cpu")[0]
    assert not NvdecDecoder.keeps_on_device()


def test_threads_that_ask_at_once_compare_once(monkeypatch: pytest.MonkeyPatch) -> None:
    n_compared = 0

    def compare(cls: type[NvdecDecoder]) -> Agreement:
        nonlocal n_compared
        n_compared += 1
        time.sleep(0.05)
        return Agreement(general="none")

    monkeypatch.setattr(NvdecDecoder, "_agreement", None)
    monkeypatch.setattr(NvdecDecoder, "compare", classmethod(compare))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: NvdecDecoder().unavailable_reason(), range(8)))
    assert (n_compared, set(found)) == (1, {"none"})


def test_a_package_that_is_missing_says_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, encode: Encode
) -> None:
    monkeypatch.setitem(sys.modules, "PyNvVideoCodec", None)
    monkeypatch.setitem(sys.modules, "torchcodec", None)
    for decoder in (NvdecDecoder, TorchcodecDecoder):
        monkeypatch.setattr(decoder, "_agreement", None)
        why = decoder().unavailable_reason()
        assert f"pip install 'syncaudit[{decoder.name}]'" in str(why)
        assert frames_of(encode("a.mp4"), decoder.name)[1] == f"{decoder.name}: {why}"


def test_the_stand_in_has_the_signatures_of_the_real_package() -> None:
    try:
        import PyNvVideoCodec as real  # noqa: N813
    except Exception as error:  # noqa: BLE001  # without a driver, one of its own
        pytest.skip(f"PyNvVideoCodec cannot be imported: {error}".splitlines()[0])
    for name in ("CreateDecoder", "GetDecoderCaps"):
        for argument in inspect.signature(getattr(fake, name)).parameters:
            assert f"{argument}: " in getattr(real, name).__doc__
    for kind in ("PacketData", "DecodedFrame"):
        own = {name for name in vars(getattr(fake, kind)) if not name.startswith("_")}
        assert own - {"overwrite"} <= set(dir(getattr(real, kind)))
