"""Measure how accurately two microphones are aligned: offsets, drifts, rejections, codecs, speed.

Truth is by construction (`sound_scenes`): real speech, plucked strings and noise, recorded by
devices with their own clocks, filters, noise and rooms. ``python benchmarks/sound.py`` prints the
tables of docs/sound.md and writes ``benchmarks/out/sound.json``; ``--seed`` draws other cases,
``--n`` more.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import one_thread  # noqa: F401  # before numpy
import sound_scenes as scenes
from sound_scenes import Take
from tables import print_table, write_json

from syncaudit.estimators.sound.measure import estimate_microphones
from syncaudit.model import AudioSpec, AudioStream, PairMeasurement
from syncaudit.readers import read_source

OUT = Path(__file__).resolve().parent / "out"
OFFSET_RANGE_S = 2.0
DRIFT_RANGE_PPM = 120.0
Source = Callable[[float, np.random.Generator], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A sound and the two devices that record it.

    Attributes
    ----------
    name : str
    source : callable
    seconds : float
    a, b : dict
        Fields of each `Take`.
    n : int
        Recordings, as a multiple of the requested number.
    in_room : bool
        Whether both are in one room, 0.5 to 2 m from the source.
    other_filters : bool
        Whether the band of each microphone is drawn at random.
    """

    name: str
    source: Source
    seconds: float = 20.0
    a: dict[str, Any] = field(default_factory=dict)
    b: dict[str, Any] = field(default_factory=dict)
    n: float = 1.0
    in_room: bool = False
    other_filters: bool = False


PHONE = {"rate_hz": 8_000, "band_hz": (300.0, 3400.0)}
CASES = (
    Case(name="speech 20 s", source=scenes.speech),
    Case(name="music 20 s", source=scenes.music),
    Case(name="noise 20 s", source=scenes.band_noise),
    Case(name="speech over noise 20 s", source=scenes.mixed),
    Case(name="speech 60 s", source=scenes.speech, seconds=60.0),
    Case(name="music 60 s", source=scenes.music, seconds=60.0, n=0.5),
    Case(name="48 against 44.1 kHz", source=scenes.speech, b={"rate_hz": 44_100}),
    Case(name="48 against 16 kHz", source=scenes.speech, b={"rate_hz": 16_000}),
    Case(
        name="16 against 8 kHz", source=scenes.speech, a={"rate_hz": 16_000}, b={"rate_hz": 8_000}
    ),
    Case(name="48 kHz against telephone, 60 s", source=scenes.speech, seconds=60.0, b=PHONE),
    Case(name="other filters", source=scenes.speech, other_filters=True, n=2.0),
    Case(name="room, speech", source=scenes.speech, in_room=True, n=4.0),
    Case(name="room, music", source=scenes.music, in_room=True, n=4.0),
    Case(
        name="room, speech, 0 dB, 60 s",
        source=scenes.speech,
        seconds=60.0,
        in_room=True,
        a={"snr_db": 0.0},
        b={"snr_db": 0.0},
    ),
    Case(
        name="0 dB, gain 1:100",
        source=scenes.mixed,
        a={"snr_db": 0.0},
        b={"snr_db": 0.0, "gain": 1e-3},
    ),
    Case(name="clipped at half a sigma", source=scenes.speech, b={"clip": 0.5}),
)


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=12, help="recordings a case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="no long recordings")
    options = parser.parse_args()
    result = {
        "seed": options.seed,
        "accuracy": accuracy(options.n, options.seed),
        "honesty": honesty(8 * options.n, options.seed),
        "steps": steps(options.seed),
        "refusals": refusals(options.n, options.seed),
        "codecs": codecs(options.seed),
    }
    if not options.quick:
        result["long"] = long_recordings(options.seed)
    write_json(OUT / "sound.json", result)


def accuracy(n: int, seed: int) -> list[dict[str, Any]]:
    """Return errors of all cases."""
    rows = []
    for place, case in enumerate(CASES):
        runs = [one(case, [seed, place, k]) for k in range(max(2, round(case.n * n)))]
        rows.append({"case": case.name, **summary(runs)})
    head = ["case", "n", "accepted", "rmse ms", "max ms", "z in 95 %", "rmse ppm", "max ppm", "s"]
    print_table("Two microphones", head, [cells(row) for row in rows])
    return rows


def honesty(n: int, seed: int) -> dict[str, Any]:
    """Return the coverage where noise dominates: identical microphones, faint and short sound."""
    runs = []
    for k in range(n):
        rng = np.random.default_rng([seed, 77, k])
        source = (scenes.speech, scenes.band_noise, scenes.mixed)[k % 3]
        a = {"rate_hz": 16_000, "snr_db": float(rng.uniform(-6.0, 3.0))}
        case = Case(name="", source=source, seconds=30.0 if k % 2 else 10.0, a=a, b=dict(a))
        runs.append(one(case, [seed, 78, k]))
    used = [run for run in runs if run["accepted"]]
    row = {"case": "random part alone", **summary(runs)}
    z = np.array([run["error_s"] / run["random_std_s"] for run in used])
    row["covered"] = float(np.mean(np.abs(z) < 1.96))
    print_table(
        "Are claimed errors honest (like microphones at -6 to 3 dB)?",
        ["case", "n", "accepted", "random z in 95 %", "drift z in 95 %"],
        [[row["case"], row["n"], row["accepted"], row["covered"], row["drift_covered"]]],
    )
    return row


def one(case: Case, seed: list[int]) -> dict[str, Any]:
    """Record, measure and compare one pair."""
    rng = np.random.default_rng(seed)
    master = case.source(case.seconds + 6.0, rng)
    offset_s = float(rng.uniform(-OFFSET_RANGE_S, OFFSET_RANGE_S))
    drift_ppm = float(rng.uniform(-DRIFT_RANGE_PPM, DRIFT_RANGE_PPM))
    a = Take(start_s=3.0, seconds=case.seconds, **case.a)
    b = Take(
        start_s=3.0 + offset_s + float(rng.uniform(-0.5, 0.5)),
        seconds=case.seconds,
        offset_s=offset_s,
        drift_ppm=drift_ppm,
        **case.b,
    )
    if case.other_filters:
        a, b = (replace(take, band_hz=drawn_band(rng)) for take in (a, b))
    rooms, way_s = drawn_rooms(rng) if case.in_room else ((None, None), 0.0)
    heard = [
        scenes.record(master, take, rng, room) for take, room in zip((a, b), rooms, strict=True)
    ]
    streams = [
        scenes.stream_of(x, take, name) for x, take, name in zip(heard, (a, b), "ab", strict=True)
    ]
    start = time.perf_counter()
    pair = estimate_microphones(*streams)
    run = {"accepted": pair.accepted, "why": pair.why, "seconds": time.perf_counter() - start}
    if pair.accepted:
        run |= errors(pair, offset_s + way_s, drift_ppm)
    return run


def errors(pair: PairMeasurement, offset_s: float, drift_ppm: float) -> dict[str, Any]:
    """Return the errors of a measurement."""
    at_s = (pair.at_ns - scenes.EPOCH_NS) * 1e-9
    error_s = (pair.offset_s or 0.0) - offset_s - drift_ppm * 1e-6 * at_s
    found = {
        "error_s": error_s,
        "z": error_s / (pair.offset_std_s or np.inf),
        "random_std_s": pair.diagnostics["random_std_s"],
    }
    if pair.drift_ppm is not None and pair.drift_std_ppm is not None:
        found["drift_error_ppm"] = pair.drift_ppm - drift_ppm
        found["drift_z"] = found["drift_error_ppm"] / pair.drift_std_ppm
    return found


def drawn_band(rng: np.random.Generator) -> tuple[float, float]:
    """Draw the band of a microphone."""
    return float(rng.uniform(40.0, 250.0)), float(rng.uniform(9_000.0, 20_000.0))


def drawn_rooms(
    rng: np.random.Generator,
) -> tuple[tuple[np.ndarray, np.ndarray], float]:
    """Return the responses at two places of a room, and the extra delay of the second path."""
    room = np.array([6.0, 4.5, 2.8]) + rng.uniform(-1.0, 1.0, 3)
    mouth = room * rng.uniform(0.2, 0.8, 3)
    places = []
    for _ in range(2):
        direction = rng.normal(size=3)
        way = direction / np.linalg.norm(direction) * rng.uniform(0.5, 2.0)
        places.append(np.clip(mouth + way, 0.2, room - 0.2))
    far = [float(np.linalg.norm(place - mouth)) for place in places]
    absorption = float(rng.uniform(0.2, 0.5))
    first, second = (scenes.impulse_response(room, mouth, place, absorption) for place in places)
    return (first, second), (far[1] - far[0]) / scenes.SOUND_M_PER_S


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of a case."""
    used = [run for run in runs if run["accepted"]]
    error_s = np.array([run["error_s"] for run in used])
    drifts = np.array([run["drift_error_ppm"] for run in used if "drift_error_ppm" in run])
    drift_z = np.array([run["drift_z"] for run in used if "drift_z" in run])
    return {
        "n": len(runs),
        "accepted": len(used),
        "rmse_s": rms(error_s),
        "max_s": largest(error_s),
        "covered": float(np.mean([abs(run["z"]) < 1.96 for run in used])) if used else None,
        "drift_rmse_ppm": rms(drifts),
        "drift_max_ppm": largest(drifts),
        "drift_covered": float(np.mean(np.abs(drift_z) < 1.96)) if drift_z.size else None,
        "seconds": float(np.mean([run["seconds"] for run in runs])),
        "refusals": sorted({run["why"] for run in runs if run["why"]}),
    }


def rms(x: np.ndarray) -> float | None:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(x**2))) if x.size else None


def largest(x: np.ndarray) -> float | None:
    """Return the largest magnitude."""
    return float(np.max(np.abs(x))) if x.size else None


def cells(row: dict[str, Any]) -> list[object]:
    """Return a summary as a line of the table."""
    ms = [None if row[key] is None else f"{1e3 * row[key]:.4f}" for key in ("rmse_s", "max_s")]
    return [
        row["case"],
        row["n"],
        row["accepted"],
        *ms,
        row["covered"],
        row["drift_rmse_ppm"],
        row["drift_max_ppm"],
        row["seconds"],
    ]


def steps(seed: int) -> list[dict[str, Any]]:
    """Return the results for lost buffers."""
    rows = []
    for place, (source, lost_s) in enumerate(
        (source, lost)
        for source in (scenes.speech, scenes.music)
        for lost in (0.2, 0.05, 0.0213, 0.01, 0.002)
    ):
        rng = np.random.default_rng([seed, 5, place])
        master = source(66.0, rng)
        at_s = float(rng.uniform(8.0, 52.0))
        a = Take(start_s=3.0, seconds=60.0)
        b = replace(a, offset_s=0.2, drift_ppm=20.0, lost_s=lost_s, lost_at_s=at_s)
        pair = estimate_microphones(
            *(
                scenes.stream_of(scenes.record(master, take, rng), take, take_name)
                for take, take_name in ((a, "a"), (b, "b"))
            )
        )
        mid_s = (pair.at_ns - scenes.EPOCH_NS) * 1e-9
        is_after = mid_s + 0.2 > 3.0 + at_s
        truth_s = 0.2 + 20e-6 * mid_s - lost_s * is_after
        step_at_s = None if pair.step_at_ns is None else (pair.step_at_ns - scenes.EPOCH_NS) * 1e-9
        rows.append(
            {
                "case": f"{source.__name__}, {1e3 * lost_s:g} ms lost",
                "accepted": pair.accepted,
                "why": pair.why,
                "error_s": (pair.offset_s or 0.0) - truth_s,
                "std_s": pair.offset_std_s,
                "step_error_s": None if pair.step_s is None else pair.step_s + lost_s,
                "step_at_error_s": None if step_at_s is None else step_at_s - (3.0 + at_s - 0.2),
            }
        )
    head = ["case", "accepted", "error ms", "std ms", "step error ms", "instant error s"]
    ms = ("error_s", "std_s", "step_error_s")
    print_table(
        "Lost buffers in 60 s",
        head,
        [
            [row["case"], row["accepted"]]
            + [None if row[key] is None else f"{1e3 * row[key]:.4f}" for key in ms]
            + [row["step_at_error_s"]]
            for row in rows
        ],
    )
    return rows


def refusals(n: int, seed: int) -> dict[str, Any]:
    """Return how many pairs that share nothing, or only a period, are accepted."""
    rows: dict[str, list[bool]] = {}
    for k in range(3 * n):
        rng = np.random.default_rng([seed, 9, k])
        a = Take(seconds=20.0, rate_hz=16_000)
        first = (scenes.first_half_speech, scenes.music, scenes.band_noise)[k % 3]
        second = (scenes.second_half_speech, scenes.music, scenes.band_noise)[k % 3]
        pair = _pair(first(22.0, rng), second(22.0, rng), a, rng)
        rows.setdefault(f"unrelated {second.__name__.removeprefix('second_half_')}", []).append(
            pair
        )
        t = np.arange(22 * scenes.MASTER_HZ) / scenes.MASTER_HZ
        tone = np.sin(2.0 * np.pi * float(rng.uniform(80.0, 3000.0)) * t)
        rows.setdefault("tone", []).append(_pair(tone, np.roll(tone, 999), a, rng))
        period = int(rng.uniform(0.1, 3.0) * scenes.MASTER_HZ)
        loop = np.resize(scenes.music(period / scenes.MASTER_HZ, rng), t.size)
        rows.setdefault("loop of 0.1 to 3 s", []).append(_pair(loop, np.roll(loop, 9999), a, rng))
    table = {name: {"n": len(got), "accepted": int(sum(got))} for name, got in rows.items()}
    print_table(
        "Pairs that must be refused",
        ["case", "n", "accepted"],
        [[name, row["n"], row["accepted"]] for name, row in table.items()],
    )
    return table


def _pair(x: np.ndarray, y: np.ndarray, take: Take, rng: np.random.Generator) -> bool:
    a, b = (
        scenes.stream_of(scenes.record(z, take, rng), take, name)
        for z, name in ((x, "a"), (y, "b"))
    )
    return estimate_microphones(a, b).accepted


FILES = (
    ("wav", "a.wav", "pcm_s16le", False),
    ("flac", "a.flac", "flac", False),
    ("mp3", "a.mp3", "libmp3lame", False),
    ("aac in m4a", "a.m4a", "aac", False),
    ("opus in ogg", "a.opus", "libopus", False),
    ("vorbis in ogg", "a.ogg", "vorbis", False),
    ("video mp4, aac", "v.mp4", "aac", True),
    ("video mov, aac", "v.mov", "aac", True),
    ("video mkv, aac", "v.mkv", "aac", True),
    ("video mkv, mp3", "m.mkv", "libmp3lame", True),
    ("video webm-like mkv, opus", "o.mkv", "libopus", True),
    ("bare aac (no priming stated)", "b.aac", "aac", False),
    ("mpeg-ts (no priming stated)", "b.ts", "aac", True),
    ("avi, mp3 (no priming stated)", "b.avi", "libmp3lame", True),
)


def codecs(seed: int) -> list[dict[str, Any]]:
    """Return where the reader places sound that was cut at a known point and encoded."""
    rows = []
    for place, (name, file, codec, with_video) in enumerate(FILES):
        rng = np.random.default_rng([seed, 4, place])
        master = scenes.mixed(40.0, rng)
        offset_s, drift_ppm = float(rng.uniform(-1.0, 1.0)), float(rng.uniform(20.0, 120.0))
        a = Take(start_s=3.0, seconds=30.0)
        b = replace(a, start_s=5.0, offset_s=offset_s, drift_ppm=drift_ppm, seconds=26.0)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            scenes.encode(
                path, codec, scenes.record(master, b, rng), b.rate_hz, with_video=with_video
            )
            start_ns = scenes.EPOCH_NS + round(b.start_s * 1e9)
            coded = read_source("b", AudioSpec(uri=str(path), start_ns=start_ns), "")
        assert isinstance(coded, AudioStream)
        pair = estimate_microphones(scenes.stream_of(scenes.record(master, a, rng), a, "a"), coded)
        found = errors(pair, offset_s, drift_ppm) if pair.accepted else {"error_s": None}
        rows.append(
            {
                "case": name,
                "accepted": pair.accepted,
                "warned": bool(coded.findings),
                **found,
            }
        )
    print_table(
        "Sample 0 of coded files (26 s)",
        ["file", "accepted", "error ms", "warned"],
        [
            [
                r["case"],
                r["accepted"],
                None if r["error_s"] is None else f"{1e3 * r['error_s']:.4f}",
                r["warned"],
            ]
            for r in rows
        ],
    )
    return rows


def long_recordings(seed: int) -> list[dict[str, Any]]:
    """Return accuracy and speed on long recordings with much drift."""
    rows = []
    for minutes, drift_ppm in ((1, 20.0), (5, -60.0), (30, 120.0)):
        rng = np.random.default_rng([seed, 6, minutes])
        master = scenes.speech(60.0 * minutes + 10.0, rng)
        a = Take(start_s=3.0, seconds=60.0 * minutes, rate_hz=16_000)
        b = replace(a, offset_s=1.2, drift_ppm=drift_ppm)
        streams = [
            scenes.stream_of(scenes.record(master, take, rng), take, name)
            for take, name in ((a, "a"), (b, "b"))
        ]
        start = time.perf_counter()
        pair = estimate_microphones(*streams)
        seconds = time.perf_counter() - start
        found = errors(pair, 1.2, drift_ppm) if pair.accepted else {}
        rows.append({"minutes": minutes, "drift_ppm": drift_ppm, "seconds": seconds, **found})
    print_table(
        "Long recordings at 16 kHz",
        ["minutes", "drift ppm", "error ms", "drift error ppm", "s"],
        [
            [
                str(r["minutes"]),
                r["drift_ppm"],
                f"{1e3 * r['error_s']:.4f}",
                r["drift_error_ppm"],
                r["seconds"],
            ]
            for r in rows
            if "error_s" in r
        ],
    )
    return rows


if __name__ == "__main__":
    main()
