"""Check that defective frames are located correctly and that clean clips are left alone.

Each seed is rendered once, in a style of its own; every defect is then injected into these frames,
which are re-encoded with every codec. The clean clips are the same frames without a defect, and
scenes that resemble one: parked with and without noise, night, tunnel, strobe and flash recordings.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from base_clips import OUT
from numpy.typing import NDArray
from tables import print_table, write_json

from syncaudit.datasets import load_manifest
from syncaudit.decode import iter_luma
from syncaudit.detectors import FlashDetector, ImageAuditor, RotationDetector
from syncaudit.model import CameraStream, FrameFiles, ImageAudit, ImageFault
from syncaudit.pipeline.evidence import find_evidence
from syncaudit.pipeline.reading import read_clip
from syncaudit.pipeline.stages import Stages
from syncaudit.simulate import (
    AmbientStep,
    BurstTrain,
    CameraConfig,
    FlashConfig,
    FrameFault,
    Headlight,
    ImuConfig,
    LightFault,
    RigConfig,
    SpacedTrain,
    SpoiltFrames,
    SquarePulse,
    simulate_clip,
)
from syncaudit.simulate.encode import encode_frames
from syncaudit.simulate.packet_faults import copy_packets, with_flipped_bytes
from syncaudit.simulate.scenarios import with_all_cameras

CAMERA = "cam_front"
DURATION_S = 12.0
STYLES = ("city", "highway", "city", "handheld")
CODECS = ("h264", "hevc", "mjpeg")
GOP = 24
Frames = list[NDArray[np.uint8]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One defect: its name, its location, and how it gets into a file."""

    fault: ImageFault
    first: int
    last: int
    frames: FrameFault = field(default_factory=FrameFault)
    packets: Callable[[int, bytes], bytes | None] | None = None
    codecs: tuple[str, ...] = CODECS
    slack: int = 2  # frames by which the ends may differ


def planted(n_frames: int, rng: np.random.Generator) -> Iterator[tuple[str, Planted]]:
    """Yield defects at random places of a clip."""

    def spell(shortest: int, longest: int) -> tuple[int, int]:
        n = int(rng.integers(shortest, longest))
        first = int(rng.integers(12, n_frames - n - 12))
        return first, first + n

    for name, shortest, longest in (("short", 2, 6), ("long", 12, 40)):
        first, stop = spell(shortest, longest)
        yield (
            f"frozen {name}",
            Planted(
                fault=ImageFault.FROZEN,
                first=first,
                last=stop - 1,
                frames=FrameFault(frozen=((first, stop),)),
            ),
        )
    first = int(rng.integers(n_frames // 2, n_frames - 24))
    yield (
        "frozen to the end",
        Planted(
            fault=ImageFault.FROZEN,
            first=first,
            last=n_frames - 1,
            frames=FrameFault(frozen=((first, n_frames),)),
        ),
    )
    for how, fault in (
        ("black", ImageFault.BLANK),
        ("zero", ImageFault.BLANK),
        ("grey", ImageFault.BLANK),
        ("white", ImageFault.WHITE),
        ("covered", ImageFault.COVERED),
        ("grey_blocks", ImageFault.GREY),
        ("half_grey", ImageFault.GREY),
        ("half_repeated", ImageFault.HALF),
    ):
        first, stop = spell(6, 30)
        frames = FrameFault(spoilt=(SpoiltFrames(how=how, first=first, stop=stop),))
        yield how, Planted(fault=fault, first=first, last=stop - 1, frames=frames)
    yield from _packets(n_frames, rng)


def _packets(n_frames: int, rng: np.random.Generator) -> Iterator[tuple[str, Planted]]:
    at = int(rng.integers(26, n_frames - 30))
    at += at % GOP == 0
    next_key = -(-at // GOP) * GOP

    def flipped(k: int, content: bytes) -> bytes:
        return with_flipped_bytes(content, rng) if k == at else content

    yield (
        "flipped bytes",
        Planted(
            fault=ImageFault.DAMAGED,
            first=at,
            last=next_key - 1,
            packets=flipped,
            codecs=("h264", "hevc"),
        ),
    )
    yield (
        "flipped bytes mjpeg",
        Planted(fault=ImageFault.DAMAGED, first=at, last=at, packets=flipped, codecs=("mjpeg",)),
    )

    def cut(k: int, content: bytes) -> bytes:
        return content[: len(content) // 2] if k == at else content

    yield (
        "packet cut",
        Planted(
            fault=ImageFault.UNDECODED, first=at, last=next_key - 1, packets=cut, codecs=("h264",)
        ),
    )
    yield (
        "packet cut hevc",
        Planted(
            fault=ImageFault.UNDECODED,
            first=at,
            last=next_key - 1,
            packets=cut,
            codecs=("hevc",),
        ),
    )
    yield (
        "packet cut mjpeg",
        Planted(fault=ImageFault.DAMAGED, first=at, last=at, packets=cut, codecs=("mjpeg",)),
    )


def _small(camera: CameraConfig, **changes: Any) -> CameraConfig:
    return replace(camera, gop=GOP, **changes)


def _rig(style: str, **changes: Any) -> RigConfig:
    base = with_all_cameras(
        RigConfig(style=style, duration_s=DURATION_S, imu=ImuConfig(rate_hz=100.0)),
        size_px=(428, 240),
        names=(CAMERA,),
    )
    return replace(base, **changes)


def clean_rigs() -> Mapping[str, RigConfig]:
    """Return scenes whose frames have no defect."""
    parked = _rig("parked", n_movers=0)
    noiseless = {"photon_noise": 0.0, "read_noise": 0.0, "gain_wobble": 0.0}
    night = LightFault(
        ambient_steps=(AmbientStep(at_s=-1.0, factor=0.04),),
        headlights=(Headlight(start_s=4.0, stop_s=6.0), Headlight(start_s=6.5, stop_s=8.0)),
    )
    tunnel = LightFault(
        ambient_steps=(
            AmbientStep(at_s=3.0, factor=0.05, ramp_s=0.1),
            AmbientStep(at_s=8.0, factor=60.0, ramp_s=0.05),
            AmbientStep(at_s=8.8, factor=1 / 3, ramp_s=0.6),
        )
    )
    burst = BurstTrain(n_pulses=5, span_s=1 / 12, mean_interval_s=0.9)
    strobe = SpacedTrain(mean_interval_s=0.07, spread=0.3)

    def lit(rig: RigConfig, train: object, brightness: float = 60.0) -> RigConfig:
        flash = FlashConfig(train=train, shape=SquarePulse(width_s=0.002), brightness=brightness)
        return replace(rig, flash=flash)

    return {
        "city": _rig("city"),
        "highway": _rig("highway"),
        "straight_smooth": _rig("straight_smooth"),
        "handheld": _rig("handheld"),
        "parked": parked,
        "parked noiseless": _each(parked, **noiseless),
        "city noiseless": _each(_rig("city"), **noiseless),
        "night": _each(_rig("city"), light=night),
        "parked night": _each(parked, light=night),
        "tunnel": _each(_rig("highway"), light=tunnel),
        "flashes": lit(parked, burst),
        "bright flashes": lit(parked, burst, 400.0),
        "strobe": lit(parked, strobe),
        "flashes while driving": lit(_rig("city"), burst),
        "coarse": _each(_rig("city"), crf=38),
        "parked coarse": _each(parked, crf=38),
    }


def _each(rig: RigConfig, **changes: Any) -> RigConfig:
    return replace(rig, cameras={n: _small(c, **changes) for n, c in rig.cameras.items()})


def audit(folder: Path) -> ImageAudit:
    """Return the defects found in the camera of a clip on disk."""
    (clip,) = load_manifest(str(folder / "manifest.jsonl"))
    return find_evidence(read_clip(clip).streams, Stages()).pictures[CAMERA]


def _pictures(folder: Path) -> Frames:
    paths = sorted((folder / CAMERA).glob("*.jpg"))
    return [np.asarray(cv2.imread(str(path), cv2.IMREAD_GRAYSCALE), np.uint8) for path in paths]


def _encode(frames: Frames, fault: FrameFault, path: Path, camera: CameraConfig) -> None:
    shown, _ = fault.apply(np.ones(len(frames), dtype=np.bool_))
    encode_frames(
        (fault.spoil(frames[index], k) for k, index in enumerate(shown.tolist())), path, camera
    )


def _section_planted(seeds: Sequence[int], work: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        rig = _each(_rig(STYLES[seed % len(STYLES)]), codec="images")
        folder = work / f"base{seed}"
        simulate_clip(rig, folder, seed=seed)
        frames = _pictures(folder)
        text = (folder / "manifest.jsonl").read_text()
        camera = rig.cameras[CAMERA]
        for name, defect in planted(len(frames), rng):
            for codec in defect.codecs:
                video = folder / f"{CAMERA}.mp4"
                whole = folder / "whole.mp4"
                _encode(frames, defect.frames, whole, replace(camera, codec=codec))
                if defect.packets is None:
                    whole.replace(video)
                else:
                    copy_packets(whole, video, defect.packets)
                (folder / "manifest.jsonl").write_text(
                    text.replace(f'"uri": "{CAMERA}"', f'"uri": "{CAMERA}.mp4"')
                )
                rows.append({"seed": seed, "defect": name, "codec": codec} | _met(folder, defect))
    return rows


def _met(folder: Path, defect: Planted) -> dict[str, Any]:
    found = audit(folder)
    # Encoding turns a covered lens into an image of uniform colour.
    alike = {defect.fault} | ({ImageFault.BLANK} if defect.fault == "covered" else set())
    own = [spell for fault in alike for spell in found.of(fault)]
    first = min((spell.first for spell in own), default=defect.last + 1)
    last = max((spell.last for spell in own), default=-1)
    is_met = first <= defect.last and last >= defect.first
    miss = None
    if is_met:
        end_miss = abs(last - defect.last)
        if defect.packets is not None and last <= defect.last:
            end_miss = 0  # encoders insert key frames at cuts too: the damage ends there
        miss = max(abs(first - defect.first), end_miss)
    return {
        "is_found": is_met,
        "miss": miss,
        "is_placed": miss is not None and miss <= defect.slack,
        "others": sum(n for fault, n in found.counts.items() if fault not in alike),
        "counts": dict(found.counts),
        "planted": (str(defect.fault), defect.first, defect.last),
    }


def _section_clean(seeds: Sequence[int], work: Path) -> list[dict[str, Any]]:
    rows = []
    for seed in seeds:
        for number, (name, rig) in enumerate(clean_rigs().items()):
            codec = CODECS[(seed + number) % len(CODECS)]
            folder = work / f"clean{seed}-{number}"
            simulate_clip(_each(rig, codec=codec), folder, seed=seed)
            found = audit(folder)
            rows.append({"seed": seed, "scene": name, "codec": codec, "counts": dict(found.counts)})
    return rows


def _section_cost(work: Path) -> list[tuple[str, float, float, float]]:
    """Return the CPU time per frame of decoding, and what the auditor and all detectors add."""
    rows = []
    for size in ((428, 240), (854, 480), (1280, 720)):
        rig = _each(with_all_cameras(_rig("city", duration_s=6.0), size_px=size), line_delay_s=2e-5)
        folder = work / f"cost{size[0]}"
        simulate_clip(rig, folder, seed=3)
        (clip,) = load_manifest(str(folder / "manifest.jsonl"))
        stream = read_clip(clip).streams[CAMERA]
        if not isinstance(stream, CameraStream):
            raise TypeError("no camera")
        times: dict[str, list[float]] = {"bare": [], "audit": [], "detectors": [], "both": []}
        for _ in range(7):
            for what, spent in times.items():
                spent.append(_cpu_s(stream, what) / stream.time_ns.size)
        bare, with_audit, detectors, both = (float(np.median(s)) for s in times.values())
        rows.append((f"{size[0]}x{size[1]}", 1e3 * bare, with_audit / bare, both / detectors))
    return rows


def _cpu_s(stream: CameraStream, what: str) -> float:
    began = time.process_time()
    seers: list[RotationDetector | FlashDetector | ImageAuditor] = []
    if what in ("detectors", "both"):
        seers += [RotationDetector(stream), FlashDetector(stream)]
    if what in ("audit", "both"):
        seers.append(ImageAuditor(stream))
    for frame in iter_luma(FrameFiles(paths=stream.files.paths)):
        for seer in seers:
            seer.update(frame)
    for seer in seers:
        seer.finish()
    return time.process_time() - began


def main() -> int:
    """Run all three sections and print their results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="rendered clips that get defects")
    parser.add_argument("--clean-seeds", type=int, default=2, help="seeds of each clean scene")
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--only", choices=("planted", "clean", "cost"))
    arguments = parser.parse_args()
    first = arguments.first_seed
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        if arguments.only in (None, "planted"):
            result["planted"] = _section_planted(range(first, first + arguments.seeds), work)
            _print_planted(result["planted"])
        if arguments.only in (None, "clean"):
            result["clean"] = _section_clean(range(first, first + arguments.clean_seeds), work)
            _print_clean(result["clean"])
        if arguments.only in (None, "cost"):
            result["cost"] = _section_cost(work)
            print_table(
                "C. CPU time of a frame, H.264",
                ("size", "decoding ms", "with audit / bare", "all / detectors"),
                result["cost"],
            )
    write_json(OUT / "defects.json", result)
    return 0


def _print_planted(rows: Sequence[Mapping[str, Any]]) -> None:
    names = dict.fromkeys((row["defect"], row["codec"]) for row in rows)
    table = []
    for name, codec in names:
        group = [row for row in rows if (row["defect"], row["codec"]) == (name, codec)]
        table.append(
            (
                f"{name}, {codec}",
                len(group),
                sum(row["is_found"] for row in group),
                sum(row["is_placed"] for row in group),
                sum(row["others"] > 0 for row in group),
            )
        )
    print_table(
        "A. Planted defects", ("defect", "clips", "found", "within 2 frames", "also others"), table
    )
    for row in rows:
        if not row["is_placed"] or row["others"]:
            print(
                f"  seed {row['seed']} {row['defect']} {row['codec']}: {row['planted']}, "
                f"off by {row['miss']}, found {row['counts']}"
            )


def _print_clean(rows: Sequence[Mapping[str, Any]]) -> None:
    wrong = [row for row in rows if row["counts"]]
    print_table("B. Clean clips", ("", "clips", "with findings"), [("all", len(rows), len(wrong))])
    for row in wrong:
        print(f"  seed {row['seed']} {row['scene']} {row['codec']}: {row['counts']}")


if __name__ == "__main__":
    sys.exit(main())
