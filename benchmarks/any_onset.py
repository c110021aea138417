"""Clocks of a microphone, an accelerometer, a bus and a log by events that they share.

Every recording is drawn at random and shares no code with `syncaudit.simulate`: a lamp that clicks,
pops or beeps in some room, beside other sounds; a body that is pushed softly and rings, filtered
and sampled; a bus that sends a counter or the lamp's level every so often, stamped late; a log that
misses some of the events and has others. The tables list how many clocks ``calibrate`` and
``validate`` measured, and their errors.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import csv
import json
import sys
import wave
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from base_clips import OUT
from numpy.typing import NDArray
from scipy.signal import butter, fftconvolve, lfilter, sosfilt
from syncaudit_calibration import calibrate
from tables import print_table, write_json
from worlds import DrawnClock, numbers

from syncaudit import audit, load_manifest
from syncaudit.errors import SyncAuditError

Floats = NDArray[np.float64]
Row = dict[str, Any]

EPOCH_NS = 1_750_000_000_000_000_000
SOURCES = ("mic", "imu", "can", "trigger")
SOUNDS = ("relay", "pop", "beep", "armature", "clap")
FORCE_HZ = 20_000.0
# Delay of a low-pass filter at low frequencies, in radians of its corner.
FILTER_DELAY = {1: 1.0, 2: 1.414, 4: 2.613}
# Median of the absolute value of a normal variable: how late messages are stamped, in deviations.
HALF_NORMAL_MEDIAN = 0.6745


@dataclass(frozen=True, slots=True, kw_only=True)
class OnsetWorld:
    """What is drawn at random; times are true seconds from the start."""

    seed: int
    duration_s: float
    onset_s: Floats
    offset_s: dict[str, float]  # what the timestamps of each source lack of true time
    drift_ppm: dict[str, float]
    sound: str
    sound_hz: int
    snr_db: float
    reverberation_s: float
    other_sounds_hz: float
    force_hz: float
    corner: float  # of the anti-aliasing filter, of the sampling rate
    order: int
    force: float  # of the largest swing, in m/s^2
    noise: float
    modes_hz: tuple[float, ...]
    decay_s: float
    force_jitter_s: float
    messages_hz: float
    message_late_s: float  # deviation of a half-normal distribution
    is_level: bool
    has_trigger: bool
    missed_share: float

    def own_s(self, source: str, true_s: Floats | float) -> Floats:
        """Return the timestamps of a source, in seconds after the epoch."""
        return self._clock(source).stamps_s(true_s)

    def true_offset_s(self, source: str, reference: str, at_ns: int) -> float:
        """Return what to add to the timestamp `at_ns` of a source to get the reference's."""
        late_s = {"can": HALF_NORMAL_MEDIAN * self.message_late_s}
        own_s, reference_s = (late_s.get(name, 0.0) for name in (source, reference))
        sent_s = 1e-9 * (at_ns - EPOCH_NS) - own_s
        return self._clock(source).offset_to_s(self._clock(reference), sent_s) + reference_s - own_s

    def _clock(self, source: str) -> DrawnClock:
        return DrawnClock(self.offset_s[source], self.drift_ppm[source], 0.5 * self.duration_s)

    @property
    def filter_delay_s(self) -> float:
        """Return by how much the filter of the accelerometer delays slow motion."""
        return FILTER_DELAY[self.order] / (2.0 * np.pi * self.corner * self.force_hz)


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0-99", help="recordings drawn, like 0-99 or 7")
    parser.add_argument("--by", default="calibrate,audit", help="commands that measure")
    parser.add_argument("--out", type=Path, default=OUT / "any_onset.json")
    options = parser.parse_args()
    rows: list[Row] = []
    for seed in numbers(options.seeds):
        world = draw_world(seed)
        folder = OUT / "onset_world" / str(seed)
        render_world(world, folder)
        found = [row for by in options.by.split(",") for row in _measured(world, folder, by)]
        off = [
            f"{row['by']} {row['source']} {1e3 * row['error_s']:.3f} ± {1e3 * row['std_s']:.3f} ms"
            for row in found
            if row["error_s"] is not None and abs(row["error_s"]) > 3.0 * row["std_s"]
        ]
        print(f"  {seed} {world.sound}", *off, sep=", ", file=sys.stderr, flush=True)
        rows += found
    for by in options.by.split(","):
        _print(by, [row for row in rows if row["by"] == by])
    write_json(options.out, {"rows": rows})
    return 0


def draw_world(seed: int) -> OnsetWorld:
    """Return a recording drawn at random."""
    rng = np.random.default_rng([seed, 91])
    duration_s = float(rng.choice([30.0, 45.0, 60.0]))
    onset_s = np.cumsum(0.25 + rng.exponential(1.0, int(rng.integers(8, 60))))
    onset_s = 1.5 + onset_s * (duration_s - 3.0) / onset_s[-1]
    onset_s = onset_s[np.append(True, np.diff(onset_s) > 0.15)]
    return OnsetWorld(
        seed=seed,
        duration_s=duration_s,
        onset_s=onset_s,
        offset_s={name: float(rng.uniform(-0.4, 0.4)) for name in SOURCES},
        drift_ppm={name: float(rng.uniform(-50.0, 50.0)) for name in SOURCES},
        sound=str(rng.choice(SOUNDS)),
        sound_hz=int(rng.choice([16_000, 44_100, 48_000])),
        snr_db=float(rng.uniform(8.0, 40.0)),
        reverberation_s=float(rng.choice([0.0, 0.2, 0.5])),
        other_sounds_hz=float(rng.choice([0.0, 0.0, 0.1, 0.3])),
        force_hz=float(rng.choice([50.0, 100.0, 200.0, 400.0, 1000.0])),
        corner=float(rng.choice([0.15, 0.25, 0.4])),
        order=int(rng.choice([1, 2, 4])),
        force=float(np.exp(rng.uniform(np.log(2.0), np.log(40.0)))),
        noise=float(rng.choice([0.01, 0.03, 0.1])),
        modes_hz=tuple(rng.uniform(15.0, 150.0, 3).tolist()),
        decay_s=float(rng.uniform(0.01, 0.08)),
        force_jitter_s=float(rng.choice([0.0, 1e-4, 5e-4])),
        messages_hz=float(rng.choice([10.0, 20.0, 50.0, 100.0])),
        message_late_s=float(rng.choice([1e-4, 5e-4, 2e-3])),
        is_level=bool(rng.random() < 0.3),
        has_trigger=bool(rng.random() < 0.7),
        missed_share=float(rng.choice([0.0, 0.0, 0.05])),
    )


def render_world(world: OnsetWorld, folder: Path) -> None:
    """Write the files of a recording and its manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([world.seed, 92])
    start_s = float(world.own_s("mic", 0.0))
    _write_sound(world, folder / "mic.wav", rng)
    stamps_s, force = _sampled_force(world, rng)
    _write_table(folder / "imu.csv", "accel_x accel_y accel_z", stamps_s, force.round(5).tolist())
    sent_s = np.arange(
        rng.uniform(0.0, 1.0 / world.messages_hz), world.duration_s, 1.0 / world.messages_hz
    )
    if world.is_level:
        length_s = max(0.1, 1.5 / world.messages_hz)
        values = [
            int(np.any((world.onset_s <= t) & (t < world.onset_s + length_s))) for t in sent_s
        ]
    else:
        values = ((np.searchsorted(world.onset_s, sent_s, side="right") + 240) % 256).tolist()
    late_s = world.message_late_s * np.abs(rng.normal(size=sent_s.size))
    _write_table(folder / "can.csv", "Strobe", world.own_s("can", sent_s) + late_s, values)
    sources: dict[str, Row] = {
        "mic": {"kind": "audio", "uri": "mic.wav", "start_ns": EPOCH_NS + round(1e9 * start_s)},
        "imu": {"kind": "imu", "uri": "imu.csv"},
        "can": {"kind": "can", "uri": "can.csv", "signals": {"strobe": "Strobe"}},
    }
    if world.has_trigger:
        logged_s = world.onset_s[rng.random(world.onset_s.size) >= world.missed_share]
        n_false = round(world.missed_share * world.onset_s.size)
        logged_s = np.append(logged_s, rng.uniform(0.0, world.duration_s, n_false))
        own_s = world.own_s("trigger", np.sort(logged_s))
        _write_table(folder / "trigger.csv", "", own_s + rng.normal(0.0, 1e-5, own_s.size))
        sources["trigger"] = {"kind": "events", "uri": "trigger.csv"}
    row = {"clip_id": f"onsets{world.seed}", "sources": sources}
    (folder / "manifest.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")


def _write_table(path: Path, names: str, stamps_s: Floats, values: Iterable[Any] = ()) -> None:
    columns = names.split()
    rows = list(values) or [()] * stamps_s.size
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["timestamp_ns", *columns])
        for stamp_s, row in zip(np.maximum.accumulate(stamps_s), rows, strict=True):
            own = row if isinstance(row, (list, tuple)) else (row,)
            writer.writerow([EPOCH_NS + round(1e9 * float(stamp_s)), *own])


def _sound_of(kind: str, rate: int, rng: np.random.Generator, drawn: Row) -> Floats:
    """Return one sound; `drawn` holds what all sounds of one source have in common."""
    age_s = np.arange(int(0.4 * rate)) / rate
    hiss = rng.normal(size=age_s.size)
    since_s = age_s - drawn["strike_s"]
    if kind == "relay":
        sound = np.zeros(age_s.size)
        for late_s, share in ((0.0, 1.0), (drawn["strike_s"], 0.6), (1.7 * drawn["strike_s"], 0.3)):
            own_s = np.maximum(age_s - late_s, 0.0)
            sound += share * np.exp(-own_s / 0.002) * np.sin(2.0 * np.pi * drawn["ring_hz"] * own_s)
    elif kind == "pop":
        sound = hiss * -np.expm1(-age_s / 0.0003) * np.exp(-age_s / 0.006)
    elif kind == "beep":
        swell = np.clip(age_s / drawn["attack_s"], 0.0, 1.0)
        swell *= np.clip((drawn["length_s"] - age_s) / 0.005, 0.0, 1.0)
        sound = (0.5 - 0.5 * np.cos(np.pi * swell)) * np.sin(2.0 * np.pi * drawn["tone_hz"] * age_s)
    elif kind == "armature":
        sound = 0.6 * np.sin(2.0 * np.pi * 220.0 * age_s) * np.exp(-age_s / 0.02)
        sound += hiss * np.exp(-np.maximum(since_s, 0.0) / 0.003) * (since_s >= 0.0)
    else:
        sound = hiss * np.exp(-age_s / 0.004)
    return np.asarray(rng.uniform(0.6, 1.4) * sound)


def _write_sound(world: OnsetWorld, path: Path, rng: np.random.Generator) -> None:
    rate, n = world.sound_hz, int(world.duration_s * world.sound_hz)
    sound = np.zeros(n + rate)
    drawn = {
        "ring_hz": rng.uniform(2000.0, 6000.0),
        "strike_s": rng.uniform(0.0005, 0.003),
        "length_s": rng.uniform(0.03, 0.08),
        "attack_s": rng.uniform(0.001, 0.005),
        "tone_hz": rng.uniform(880.0, 4000.0),
    }

    def add(true_s: float, own: Floats) -> int:
        at = float(world.own_s("mic", true_s) - world.own_s("mic", 0.0)) * rate
        first, part = int(at), at % 1.0
        shifted = np.convolve(own, [1.0 - part, part])[: max(0, sound.size - first)]
        sound[first : first + shifted.size] += shifted
        return first

    starts = [add(float(t), _sound_of(world.sound, rate, rng, drawn)) for t in world.onset_s]
    n_others = rng.poisson(world.other_sounds_hz * (world.duration_s - 1.0))
    for true_s in rng.uniform(0.0, world.duration_s - 1.0, n_others).tolist():
        other = drawn | {
            "ring_hz": rng.uniform(300.0, 3000.0),
            "tone_hz": rng.uniform(200.0, 1500.0),
        }
        kind = str(rng.choice(["relay", "armature", "beep"]))
        add(true_s, rng.uniform(0.3, 2.0) * _sound_of(kind, rate, rng, other))
    if world.reverberation_s:
        age_s = np.arange(int(world.reverberation_s * rate)) / rate
        room = 0.05 * rng.normal(size=age_s.size) * np.exp(-6.9 * age_s / world.reverberation_s)
        room[age_s < 0.002] = 0.0
        room[0] = 1.0
        room[(rng.uniform(0.003, 0.03, 6) * rate).astype(np.int64)] += rng.uniform(-0.5, 0.5, 6)
        sound = fftconvolve(sound, room)[: sound.size]
    loudest = [np.abs(sound[first : first + round(0.02 * rate)]).max() for first in starts]
    noise = lfilter([1.0], [1.0, -0.9], rng.normal(size=n))
    sound = sound[:n] / np.median(loudest) + 10.0 ** (-world.snr_db / 20.0) * noise / noise.std()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((32767.0 * np.clip(0.35 * sound, -1.0, 1.0)).astype("<i2").tobytes())


def _sampled_force(world: OnsetWorld, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return timestamps and samples of a body that is pushed softly and rings, shape (n, 3)."""
    fine_s = np.arange(int(world.duration_s * FORCE_HZ)) / FORCE_HZ
    force = np.zeros((fine_s.size, 3))
    age_s = np.arange(int(0.5 * FORCE_HZ))[:, None] / FORCE_HZ
    ring = np.exp(-age_s / world.decay_s) * np.sin(2.0 * np.pi * np.array(world.modes_hz) * age_s)
    ring = ring @ rng.normal(size=(3, 3))
    for onset_s in world.onset_s:
        push = np.sin(np.linspace(0.0, np.pi, int(rng.uniform(0.001, 0.005) * FORCE_HZ)))
        knock = fftconvolve(ring, push[:, None], axes=0)[: age_s.size]
        first = int(np.ceil(onset_s * FORCE_HZ))
        knock = knock[: fine_s.size - first] * rng.uniform(0.5, 1.5) / np.abs(knock).max()
        force[first : first + len(knock)] += world.force * knock
    low_pass = butter(world.order, world.corner * world.force_hz, fs=FORCE_HZ, output="sos")
    force = sosfilt(low_pass, force, axis=0)
    at_s = np.arange(rng.uniform(0.01, 0.03), world.duration_s - 0.01, 1.0 / world.force_hz)
    samples = np.stack([np.interp(at_s, fine_s, column) for column in force.T], axis=1)
    samples += rng.normal((0.1, -0.2, 9.81), world.noise, samples.shape)
    return world.own_s("imu", at_s) + rng.normal(0.0, world.force_jitter_s, at_s.size), samples


def _measured(world: OnsetWorld, folder: Path, by: str) -> list[Row]:
    """Return a row per source: what the command measured, and the truth."""
    (clip,) = load_manifest(str(folder / "manifest.jsonl"))
    try:
        document: Row = (calibrate if by == "calibrate" else audit)(clip).to_json()
    except SyncAuditError:
        document = {"reference": None, "at_ns": None, "sources": {}}
    reference = document["reference"]
    rows = []
    for name in clip.sources:
        found = document["sources"].get(name, {})
        error_s = std_s = None
        if reference is not None and name != reference and found.get("offset_s") is not None:
            true_s = world.true_offset_s(name, reference, document["at_ns"])
            error_s, std_s = found["offset_s"] - true_s, found["offset_std_s"]
            # Audits compare courses, which filters delay by more than onsets.
            if by == "audit" and "imu" in (name, reference):
                delay_s = world.filter_delay_s if reference == "imu" else -world.filter_delay_s
                error_s -= float(np.clip(error_s, min(0.0, delay_s), max(0.0, delay_s)))
        rows.append(
            {
                "by": by,
                "seed": world.seed,
                "source": name,
                "reference": reference,
                "sound": world.sound,
                "error_s": error_s,
                "std_s": std_s,
            }
        )
    return rows


def _print(by: str, rows: list[Row]) -> None:
    table = []
    for source in SOURCES:
        others = [row for row in rows if row["source"] == source and row["reference"] != source]
        done = [row for row in others if row["error_s"] is not None]
        error = np.array([row["error_s"] for row in done])
        std = np.array([row["std_s"] for row in done])
        if done:
            z = np.abs(error / std)
            figures: tuple[Any, ...] = (
                f"{1e6 * np.median(np.abs(error)):.0f}",
                f"{1e6 * np.median(std):.0f}",
                f"{100 * np.mean(z < 1.96):.0f} %",
                f"{z.max():.1f}",
                int((z > 5.0).sum()),
            )
        else:
            figures = (None,) * 5
        table.append((source, f"{len(done)}/{len(others)}", *figures))
    print_table(
        f"{by}: sources other than the reference",
        ("source", "measured", "median us", "claimed us", "|z|<1.96", "largest", "|z|>5"),
        table,
    )


if __name__ == "__main__":
    sys.exit(main())
