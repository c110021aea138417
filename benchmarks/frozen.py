"""Check that repeated frames are distinguished from slow, still and coarsely encoded ones.

Scenes are drawn here, independently of the simulator, and encoded by PyAV: each codec with key
frames every 2, 12 and 250 frames, at three qualities. A freeze must be found at its place (within
two frames), a camera slower than its file by its rate (within 5 %), and nothing reported otherwise.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from base_clips import OUT
from numpy.typing import NDArray
from tables import print_table, write_json

from syncaudit.decode import iter_luma
from syncaudit.detectors import ImageAuditor
from syncaudit.model import CameraStream, FrameFiles, ImageAudit, ImageFault, SourceKind

WIDTH, HEIGHT, N_FRAMES, FPS = 320, 240, 180, 30
GOPS, CRFS = (2, 12, 250), (18, 28, 40)
SLACK, RATE_TOLERANCE = 2, 0.05
OPTIONS: Mapping[str, Callable[[int], dict[str, str]]] = {
    "libx264": lambda crf: {"crf": str(crf)},
    "libx265": lambda crf: {"crf": str(crf), "preset": "fast", "x265-params": "log-level=none"},
    "libsvtav1": lambda crf: {"crf": str(round(1.25 * crf)), "preset": "9"},
    "libvpx-vp9": lambda crf: {"crf": str(round(1.25 * crf)), "b:v": "0", "cpu-used": "5"},
}
Frame = NDArray[np.float32]
Order = Callable[[int, int], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the camera sees, and which of its images the file shows.

    Parameters
    ----------
    draw : callable
        Image at a time in frames.
    noise : float
        Sensor noise in levels, independent for every new image.
    shown : callable
        Time of the image that frame k shows, given where a freeze would begin.
    n_frozen : int
        Length of the freeze.
    rate_hz : float, optional
        Rate of new images, if it differs from that of the file.
    """

    draw: Callable[[float], Frame]
    noise: float = 1.0
    shown: Order = lambda k, _: float(k)
    n_frozen: int = 0
    rate_hz: float | None = None


def texture(shape: tuple[int, int], rng: np.random.Generator) -> Frame:
    """Return 1/f noise with edges, levels 8 to 245."""
    across, down = np.fft.rfftfreq(shape[1])[None], np.fft.fftfreq(shape[0])[:, None]
    frequency = np.hypot(down, across)
    frequency[0, 0] = 1.0
    spectrum = np.fft.rfft2(rng.normal(size=shape)) / frequency**1.2
    rough = np.fft.irfft2(spectrum, s=shape)
    picture = 125.0 + 42.0 * rough / rough.std()
    for _ in range(60):
        x, y = rng.integers(0, shape[1] - 40), rng.integers(0, shape[0] - 40)
        height, width = rng.integers(8, 60, 2)
        picture[y : y + height, x : x + width] += rng.normal(0.0, 35.0)
    return np.clip(picture, 8.0, 245.0).astype(np.float32)


def scenes(seed: int) -> Mapping[str, Scene]:
    """Return the scenes by name."""
    rng = np.random.default_rng(seed)
    wide = texture((HEIGHT + 40, 1600), rng)
    room, sleeve = (
        cv2.GaussianBlur(texture((HEIGHT, WIDTH), rng), (0, 0), width) for width in (1.5, 1.0)
    )
    phase = float(rng.uniform(0.0, 6.0))

    def pan(px: float) -> Callable[[float], Frame]:
        def draw(k: float) -> Frame:
            shift = np.array([[1.0, 0.0, -20.0 - px * k], [0.0, 1.0, -20.0]])
            return np.asarray(cv2.warpAffine(wide, shift, (WIDTH, HEIGHT)), np.float32)

        return draw

    def arm(speed: float) -> Callable[[float], Frame]:
        upper = np.zeros((HEIGHT, WIDTH), np.float32)
        upper[60:235, 140:180] = 1.0

        def draw(k: float) -> Frame:
            degrees = float(np.degrees(0.9 * np.sin(speed * k + phase)))
            turn = cv2.getRotationMatrix2D((160, 230), degrees, 1.0)
            mask, own = (cv2.warpAffine(p, turn, (WIDTH, HEIGHT)) for p in (upper, sleeve))
            return np.asarray(room * (1.0 - mask) + (own + 20.0) * mask, np.float32)

        return draw

    def still(_: float) -> Frame:
        return np.asarray(room, np.float32)

    def frozen(n: int, every: int = 1) -> Order:
        return lambda k, at: float((at - 1 if at <= k < at + n else k) // every * every)

    found: dict[str, Scene] = {
        "still, sensor noise": Scene(draw=still, noise=2.0),
        "still, no noise": Scene(draw=still, noise=0.0),
    }
    for px in (0.1, 0.3, 1.0, 3.0):
        found[f"pan {px:g} px"] = Scene(draw=pan(px))
        found[f"pan {px:g} px, no noise"] = Scene(draw=pan(px), noise=0.0)
    for name, speed in (("slow arm", 0.01), ("arm", 0.1)):
        found[name] = Scene(draw=arm(speed))
        found[f"{name}, no noise"] = Scene(draw=arm(speed), noise=0.0)
    for n in (5, 20, 100):
        found[f"pan 3 px, frozen {n}"] = Scene(draw=pan(3.0), shown=frozen(n), n_frozen=n)
    found["pan 1 px, frozen 20"] = Scene(draw=pan(1.0), shown=frozen(20), n_frozen=20)
    found["arm, frozen 20"] = Scene(draw=arm(0.1), shown=frozen(20), n_frozen=20)
    found["arm, frozen 100"] = Scene(draw=arm(0.1), shown=frozen(100), n_frozen=100)
    found["doubled, frozen 20"] = Scene(
        draw=pan(3.0), shown=frozen(20, 2), n_frozen=20, rate_hz=FPS / 2
    )
    for name, draw in (("pan 1 px", pan(1.0)), ("pan 3 px", pan(3.0)), ("arm", arm(0.1))):
        found[f"{name}, 15 in 30"] = Scene(draw=draw, shown=frozen(0, 2), rate_hz=FPS / 2)
    found["pan 3 px, 10 in 30"] = Scene(draw=pan(3.0), shown=frozen(0, 3), rate_hz=FPS / 3)
    for name, draw in (("pan 3 px", pan(3.0)), ("arm", arm(0.1))):
        found[f"{name}, 24 in 30"] = Scene(
            draw=draw, shown=lambda k, _: float(int(0.8 * k) / 0.8), rate_hz=24.0
        )
    return found


def pictures(scene: Scene, at: int, rng: np.random.Generator) -> Iterator[NDArray[np.uint8]]:
    """Yield the frames of a scene; repeated images are bit-identical."""
    before, picture = -1.0, np.empty(0, np.uint8)
    for k in range(N_FRAMES):
        time = scene.shown(k, at)
        if time != before:
            drawn = scene.draw(time) + scene.noise * rng.normal(size=(HEIGHT, WIDTH))
            picture, before = np.clip(np.rint(drawn), 0, 255).astype(np.uint8), time
        yield picture


def encode(frames: Sequence[NDArray[np.uint8]], path: Path, codec: str, gop: int, crf: int) -> None:
    """Write frames as video."""
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=FPS)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.gop_size = gop
        stream.options = {**OPTIONS[codec](crf), "g": str(gop)}
        grey = np.full((HEIGHT // 2, WIDTH), 128, np.uint8)
        for frame in frames:
            image = av.VideoFrame.from_ndarray(np.vstack([frame, grey]), format="yuv420p")
            container.mux(stream.encode(image))
        container.mux(stream.encode())


def audit(path: Path, most: int = 3000) -> ImageAudit:
    """Return the faults found in the frames of a video."""
    stream = CameraStream(
        name="cam",
        clock="cam",
        kind=SourceKind.CAMERA,
        time_ns=np.arange(most, dtype=np.int64) * (1_000_000_000 // FPS),
        files=FrameFiles(paths=(str(path),)),
    )
    auditor = ImageAuditor(stream)
    for frame in iter_luma(stream.files):
        if frame.index >= most:
            break
        auditor.update(frame)
    return auditor.finish()


def _row(name: str, scene: Scene, found: ImageAudit, at: int) -> dict[str, Any]:
    spells = found.of(ImageFault.FROZEN)
    placed = [
        spell
        for spell in spells
        if abs(spell.first - at) <= SLACK and abs(spell.frames - scene.n_frozen) <= SLACK
    ]
    rate_hz = None if found.new_share is None else found.new_share * FPS
    wanted_hz = scene.rate_hz or FPS
    return {
        "scene": name,
        "frozen": [(spell.first, spell.frames) for spell in spells],
        "is_placed": bool(placed) if scene.n_frozen else None,
        "false_frames": sum(spell.frames for spell in spells if spell not in placed),
        "rate_hz": rate_hz,
        "is_rate_right": scene.rate_hz is not None
        and rate_hz is not None
        and abs(rate_hz / wanted_hz - 1.0) <= RATE_TOLERANCE,
        "is_rate_wrong": rate_hz is not None and abs(rate_hz / wanted_hz - 1.0) > RATE_TOLERANCE,
    }


def _print(rows: Sequence[Mapping[str, Any]], known: Mapping[str, Scene]) -> None:
    table = []
    for name in dict.fromkeys(row["scene"] for row in rows):
        group = [row for row in rows if row["scene"] == name]
        scene = known.get(name, Scene(draw=lambda _: np.empty(0, np.float32)))
        table.append(
            (
                name,
                len(group),
                sum(row["is_placed"] for row in group) if scene.n_frozen else None,
                sum(row["false_frames"] > 0 for row in group),
                sum(row["is_rate_right"] for row in group) if scene.rate_hz else None,
                sum(row["is_rate_wrong"] for row in group),
            )
        )
    header = ("scene", "videos", "freeze found", "falsely frozen", "rate found", "wrong rate")
    print_table("Repeated images", header, table)


def main() -> int:
    """Encode every scene in every way and print what is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--codecs", default="libx264,libsvtav1", help=f"of {', '.join(OPTIONS)}")
    parser.add_argument("--videos", nargs="*", default=[], help="real ones, which never freeze")
    arguments = parser.parse_args()
    os.environ["SVT_LOG"] = "0"
    known, rows = scenes(arguments.seed), []
    rng = np.random.default_rng([arguments.seed, 1])
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "video.mp4"
        for name, scene in known.items():
            at = int(rng.integers(30, N_FRAMES - 30 - scene.n_frozen))
            at += at % 2 if scene.rate_hz else 0  # there, a freeze begins with a repeat
            frames = list(pictures(scene, at, rng))
            for codec in arguments.codecs.split(","):
                for gop in GOPS:
                    for crf in CRFS:
                        encode(frames, path, codec, gop, crf)
                        row = _row(name, scene, audit(path), at)
                        rows.append({**row, "codec": codec, "gop": gop, "crf": crf, "at": at})
    real = Scene(draw=lambda _: np.empty(0, np.float32))
    for video in map(Path, arguments.videos):
        row = _row(video.stem, real, audit(video), 0)
        rows.append({**row, "is_rate_wrong": False})  # left to a person to check
    _print(rows, known)
    for row in rows:
        is_real = row["scene"] not in known
        if row["is_placed"] is False or row["false_frames"] or row["is_rate_wrong"] or is_real:
            print("  ", {key: value for key, value in row.items() if not key.startswith("is_")})
    write_json(OUT / "frozen.json", {"rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
