"""Evidence of unrelated recordings, for `null.py`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray
from recordings import (
    REALDATA,
    drive_clip,
    gimbal_clip,
    gopro_samples,
    mocap_clip,
    phone_clip,
    two_imus_clip,
)
from recordings_of_others import RACEBOX_S, cabin_clip, humanoid_clips
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.detectors import find_band_energies, spoken_tier
from syncaudit.detectors.sound import find_loudness
from syncaudit.model import (
    Activity,
    AudioSpec,
    AudioStream,
    Clip,
    ClipEvidence,
    EventTrain,
    Quantity,
    RotationIncrements,
    SourceKind,
    Tier,
)
from syncaudit.pipeline import read_clip
from syncaudit.pipeline.evidence import find_evidence
from syncaudit.pipeline.stages import Stages
from syncaudit.readers.audio import read_audio
from syncaudit.simulate import EPOCH_NS, ImuConfig, MicrophoneConfig, RigConfig, simulate_clip
from syncaudit.simulate.robot import EpisodeConfig, record_episode, write_lerobot
from syncaudit.simulate.speech import Voice, speak
from syncaudit.simulate.speech_texts import SENTENCES
from syncaudit.speech.tiers.parsing import TIER_FORMATS

Floats = NDArray[np.float64]
WINDOW_S = 20.0
# The clip of the phone's camera is cut from the first seconds of its longer gyroscope log.
PHONE_CLIP_S = 10.0
# Length of the action camera's video; the car logger beside it ran on.
LONGEST_S = 144.0
QUANTITIES = {
    "gyro": Quantity.ANGULAR_RATE,
    "force": Quantity.SPECIFIC_FORCE,
    "bus": Quantity.YAW_RATE,
}
VARIANTS = ("", "+m1", "+m3", "+m4", "+m7", "+f1", "+f2", "+f4")


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """The evidence from one recording, moved to the epoch that all share.

    Attributes
    ----------
    name : str
    parts : mapping of str to object
        By kind: gyro, force, imu, bus, rotation, state, image, sound, loudness, phones, words,
        bands, events.
    twins : mapping of str to object
        Another sensor's view of the same: the true pairs alongside the unrelated ones.
    group : str
        Name shared by all evidence of the same recording.
    """

    name: str
    parts: Mapping[str, Any]
    twins: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""

    def is_related(self, other: Found) -> bool:
        """Return whether both come from one recording."""
        return self is other or (self.group != "" and self.group == other.group)


def drives(n: int, seed: int, wanted: set[str]) -> Iterator[Found]:
    """Yield simulated drives without their cameras."""
    if not wanted & {"gyro", "force", "imu", "bus", "loudness"}:
        return
    styles = ("city", "highway", "handheld", "straight_smooth")
    for k in range(n):
        config = RigConfig(
            style=styles[k % len(styles)],
            duration_s=float((10.0, 20.0, 30.0)[k % 3]),
            cameras={},
            imu=ImuConfig(rate_hz=float((50.0, 100.0, 200.0)[k % 3])),
            microphone=MicrophoneConfig(),
        )
        with tempfile.TemporaryDirectory() as folder:
            simulate_clip(config, folder, seed=1000 * seed + k)
            (clip,) = load_manifest(str(Path(folder) / "manifest.jsonl"))
            evidence = _evidence(clip)
        yield from _of_clip(f"drive {k} ({config.style})", evidence, wanted)


def drones(n: int, seed: int, wanted: set[str]) -> Iterator[Found]:
    """Yield motions independent of the simulator, seen by a gyroscope and an ideal camera."""
    if not wanted & {"gyro", "rotation", "events", "state"}:
        return
    makers = (_flight, _walk, _mostly_at_rest, _hand)
    for k in range(n):
        rng = np.random.default_rng([seed, 77, k])
        make = makers[k % len(makers)]
        span_s = float(rng.choice([8.0, 15.0, 30.0, 60.0]))
        rate = CubicSpline(*make(span_s, rng))
        name = f"{make.__name__.strip('_')} {k}"
        parts = {
            "gyro": _gyro(rate, span_s, rng),
            "rotation": _camera(rate, span_s, rng),
            "events": _events(span_s, rng),
            "state": _joints(rate, span_s, rng),
        }
        twins = {
            "gyro": _gyro(rate, span_s, rng),
            "rotation": _camera(rate, span_s, rng),
            "events": _seen_again(parts["events"], rng),
            "state": _joints(rate, span_s, rng),
        }
        yield Found(
            name=name,
            parts={kind: part for kind, part in parts.items() if kind in wanted},
            twins=twins,
        )


def robots(n: int, seed: int, wanted: set[str]) -> Iterator[Found]:
    """Yield simulated episodes of one robot cell: the same task, drawn anew each time."""
    if not wanted & {"state", "picture"}:
        return
    config = EpisodeConfig(size_px=(160, 120), fps=20.0)
    with tempfile.TemporaryDirectory() as folder:
        episodes = [record_episode(config, 1000 * seed + k) for k in range(n)]
        write_lerobot(Path(folder) / "set", episodes)
        for k, clip in enumerate(_imported(Path(folder) / "set", Path(folder) / "robots")):
            yield from _of_clip(f"robot {k}", _evidence(clip), wanted)


def voices(n: int, seed: int, wanted: set[str]) -> Iterator[Found]:
    """Yield words in random order, spoken by many voices in four languages."""
    if not wanted & {"phones", "words", "bands", "sound"}:
        return
    for k in range(n):
        rng = np.random.default_rng([seed, 99, k])
        language = tuple(SENTENCES)[k % len(SENTENCES)]
        vocabulary = sorted({w for text in SENTENCES[language] for w in re.findall(r"\w+", text)})
        text = " ".join(rng.choice(vocabulary, int(rng.choice([12, 25, 50]))).tolist())
        voice = Voice(
            language=language + str(rng.choice(VARIANTS)),
            words_per_minute=int(rng.integers(120, 240)),
            pitch=int(rng.integers(15, 85)),
        )
        said = speak(text, voice)
        hiss = rng.normal(0.0, 10 ** (rng.uniform(-75, -40) / 20), said.samples.size)
        sound = _sound(said.samples + hiss, said.rate_hz)
        yield _spoken(f"voice {k} ({language})", sound, said.phones, said.words, rng, wanted)


def real(_n: int, _seed: int, wanted: set[str]) -> Iterator[Found]:
    """Yield windows of the real recordings; nothing if they are absent."""
    if not REALDATA.is_dir():
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        makers: tuple[tuple[str, Callable[[], Clip]], ...] = (
            ("phone", lambda: phone_clip(folder / "phone")),
            ("two_imus", lambda: two_imus_clip(folder / "two")[0]),
            ("drive", drive_clip),
            ("gimbal", lambda: gimbal_clip(folder / "gimbal", fov_deg=70.0)),
            *(
                (
                    f"mocap {start_s:g} s",
                    lambda start_s=start_s: mocap_clip(
                        folder / f"mocap{start_s:g}", start_s=start_s, stop_s=start_s + WINDOW_S
                    ),
                )
                for start_s in np.arange(0.0, 100.0, WINDOW_S)
            ),
        )
        for title, make in makers:
            yield from _of_clip(title, _evidence(make()), wanted)
        yield from _long_loggers(wanted)
        if wanted & {"rotation"}:
            for cabin in _of_clip("cabin", _evidence(cabin_clip(folder / "cabin")), {"rotation"}):
                yield replace(cabin, group="action camera, 0")
            for k in range(1, 5):
                yield from _of_clip(f"fixed camera {k}", _evidence(_fixed(folder, k)), wanted)
        if wanted & {"state", "picture"}:
            for k, clip in enumerate(humanoid_clips(folder / "humanoid")):
                yield from _of_clip(f"humanoid {k}", _evidence(clip), wanted)
    yield from _real_speech(wanted)


def _imported(data: Path, folder: Path) -> list[Clip]:
    import_dataset(str(data), folder / "m.jsonl", format_name="lerobot")
    return list(load_manifest(str(folder / "m.jsonl")))


def _evidence(clip: Clip) -> ClipEvidence:
    streams = dict(read_clip(clip).streams)
    return find_evidence(streams, Stages(), is_thorough=True)


def _of_clip(name: str, evidence: ClipEvidence, wanted: set[str]) -> Iterator[Found]:
    """Yield the evidence of a clip, moved so that its first sample is at the common epoch."""
    parts: dict[str, Any] = {}
    twins: dict[str, Any] = {}
    for motion in evidence.motion.values():
        placed = {quantity: _placed(activity) for quantity, activity in motion.items()}
        if Quantity.ANGULAR_RATE in motion:
            _keep(parts, twins, "gyro", placed[Quantity.ANGULAR_RATE])
            _keep(parts, twins, "imu", placed)
        if Quantity.SPECIFIC_FORCE in motion:
            _keep(parts, twins, "force", placed[Quantity.SPECIFIC_FORCE])
        if Quantity.YAW_RATE in motion:
            _keep(parts, twins, "bus", placed)
        for quantity in (Quantity.STATE, Quantity.COMMAND):
            if quantity in motion:
                _keep(parts, twins, "state", placed[quantity])
    for rotation in evidence.rotations.values():
        _keep(parts, twins, "rotation", _placed(rotation))
    for frame in evidence.image_motions.values():
        _keep(parts, twins, "picture", _placed(frame))
    for loudness in evidence.loudness.values():
        _keep(parts, twins, "loudness", _placed(loudness))
    kept = {kind: part for kind, part in parts.items() if kind in wanted}
    if kept:
        yield Found(name=name, parts=kept, twins=twins)


def _keep(parts: dict[str, Any], twins: dict[str, Any], kind: str, part: Any) -> None:
    (twins if kind in parts else parts).setdefault(kind, part)


def _placed(part: Any) -> Any:
    """Move evidence so that its first instant is at the common epoch."""
    times_s = part.times_s if hasattr(part, "times_s") else part.start_s
    return replace(part, epoch_ns=EPOCH_NS - round(1e9 * float(times_s[0])))


# Motions, each (times, rates about three axes).


def _flight(span_s: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return slow drift with manoeuvres: bursts of a few decaying oscillations."""
    times_s = _grid(span_s)
    rates = 0.05 * _noise(times_s, 0.3, rng)
    for _ in range(int(rng.integers(2, 8))):
        at_s, turn_hz = rng.uniform(0.0, span_s), rng.uniform(0.3, 2.0)
        since_s = np.maximum(times_s - at_s, 0.0)
        burst = np.exp(-since_s / rng.uniform(0.3, 2.0)) * np.sin(2 * np.pi * turn_hz * since_s)
        rates += burst[:, None] * rng.normal(0.0, 1.0, 3)
    return times_s, rates


def _walk(span_s: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return steps at about 1.8 Hz with a wandering pace, and the sway between them."""
    times_s = _grid(span_s)
    pace_hz = rng.uniform(1.5, 2.1) * (1.0 + 0.02 * _noise(times_s, 2.0, rng)[:, 0])
    phase = 2 * np.pi * np.cumsum(pace_hz) * (times_s[1] - times_s[0])
    gait = sum(
        np.sin(order * phase[:, None] + rng.uniform(0, 2 * np.pi, 3)) * rng.normal(0.0, 0.3, 3)
        for order in (0.5, 1.0, 2.0)
    )
    return times_s, np.asarray(gait) + 0.1 * _noise(times_s, 0.5, rng)


def _mostly_at_rest(span_s: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return rest, except for one or two short handlings."""
    times_s = _grid(span_s)
    rates = 1e-4 * _noise(times_s, 0.2, rng)
    for _ in range(int(rng.integers(1, 3))):
        near = np.exp(-0.5 * ((times_s - rng.uniform(0.0, span_s)) / rng.uniform(0.5, 1.5)) ** 2)
        rates += near[:, None] * _noise(times_s, rng.uniform(0.1, 0.4), rng)
    return times_s, rates


def _hand(span_s: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return tremor on top of a slow wander."""
    times_s = _grid(span_s)
    return times_s, 0.3 * _noise(times_s, 0.4, rng) + 0.03 * _noise(times_s, 0.03, rng)


def _grid(span_s: float) -> Floats:
    return np.arange(-1.0, span_s + 1.0, 0.004)


def _noise(times_s: Floats, smooth_s: float, rng: np.random.Generator) -> Floats:
    drawn = rng.standard_normal((times_s.size, 3))
    smooth: Floats = gaussian_filter1d(drawn, smooth_s / (times_s[1] - times_s[0]), axis=0)
    return smooth / smooth.std(axis=0)


def _gyro(rate: CubicSpline, span_s: float, rng: np.random.Generator) -> Activity:
    times_s = np.arange(rng.uniform(0.0, 0.01), span_s, 1.0 / rng.uniform(80.0, 420.0))
    mounted = rate(times_s) @ Rotation.random(random_state=rng).as_matrix().T
    return Activity(
        source="gyro",
        quantity=Quantity.ANGULAR_RATE,
        epoch_ns=EPOCH_NS,
        times_s=times_s,
        values=mounted + rng.normal(0.0, 2e-3, mounted.shape),
    )


def _camera(rate: CubicSpline, span_s: float, rng: np.random.Generator) -> RotationIncrements:
    """Return what an ideal global shutter sees: small rotations accumulated per axis."""
    times_s = np.arange(rng.uniform(0.0, 0.1), span_s, 1.0 / float(rng.choice([10.0, 15.0, 30.0])))
    angles = np.diff(rate.antiderivative()(times_s), axis=0)
    mounted = angles @ Rotation.random(random_state=rng).as_matrix().T
    std_rad = np.radians(rng.uniform(0.02, 0.1))
    return RotationIncrements(
        source="camera",
        epoch_ns=EPOCH_NS,
        start_s=times_s[:-1],
        stop_s=times_s[1:],
        angles_rad=mounted + rng.normal(0.0, std_rad, angles.shape),
        std_rad=np.full(angles.shape, std_rad),
        row_moments_px=np.zeros((len(angles), 3, 3)),
        row_moves_px=np.zeros((len(angles), 3, 3)),
        height_px=480,
        line_delay_s=0.0,
        has_focal=True,
    )


def _joints(rate: CubicSpline, span_s: float, rng: np.random.Generator) -> Activity:
    times_s = np.arange(rng.uniform(0.0, 0.02), span_s, 1.0 / float(rng.choice([20.0, 30.0, 50.0])))
    angles = rate.antiderivative()(times_s)
    return Activity(
        source="joints",
        quantity=Quantity.STATE,
        epoch_ns=EPOCH_NS,
        times_s=times_s,
        values=angles + rng.normal(0.0, 1e-3, angles.shape),
    )


def _events(span_s: float, rng: np.random.Generator) -> EventTrain:
    n = int(rng.integers(6, 40))
    gaps_s = 0.2 + rng.exponential(span_s / n, n)
    times_s = np.cumsum(gaps_s)
    return _train(times_s[times_s < span_s], rng)


def _seen_again(train: EventTrain, rng: np.random.Generator) -> EventTrain:
    """Return the train as seen by another sensor: some events missed, some false."""
    seen = train.times_s[rng.random(train.times_s.size) < 0.8]
    last_s = float(train.times_s.max()) if train.times_s.size else 1.0
    made_up = rng.uniform(0.0, last_s, int(rng.integers(0, 4)))
    return _train(np.sort(np.concatenate([seen, made_up])), rng)


def _train(times_s: Floats, rng: np.random.Generator) -> EventTrain:
    return EventTrain(
        source="events",
        quantity=Quantity.TRIGGER,
        epoch_ns=EPOCH_NS,
        times_s=np.sort(times_s + rng.normal(0.0, 1e-4, times_s.size)),
        std_s=np.full(times_s.size, 1e-4),
    )


def _sound(samples: Floats, rate_hz: float, name: str = "mic") -> AudioStream:
    return AudioStream(
        name=name,
        clock=name,
        kind=SourceKind.AUDIO,
        time_ns=np.array([EPOCH_NS], np.int64),
        anchor_samples=np.zeros(1, np.int64),
        rate_hz=rate_hz,
        samples=samples.astype(np.float32),
    )


def _spoken(
    name: str,
    sound: AudioStream,
    phones: Tier,
    words: Tier,
    rng: np.random.Generator,
    wanted: set[str],
) -> Found:
    echo = 0.6 * sound.samples.astype(np.float64)
    echo[48:] += 0.2 * sound.samples[:-48]
    twin = echo + rng.normal(0.0, 0.003 + 0.03 * float(np.std(sound.samples)), echo.size)
    parts = {
        "phones": spoken_tier(phones, source="phones", audio=sound.name),
        "words": spoken_tier(words, source="words", audio=sound.name),
        "bands": find_band_energies(sound),
        "sound": sound,
        "loudness": find_loudness(sound),
    }
    return Found(
        name=name,
        parts={kind: part for kind, part in parts.items() if kind in wanted and part is not None},
        twins={"sound": _sound(twin, sound.rate_hz, "mic2")},
    )


def _real_speech(wanted: set[str]) -> Iterator[Found]:
    if not wanted & {"phones", "words", "bands", "sound"}:
        return
    folder = REALDATA / "speech"
    rng = np.random.default_rng(5)
    samples, rate = soundfile.read(folder / "acoustic_corpus.wav")
    span_s = 8.5
    for who in ("hand", "mfa"):
        path = folder / f"acoustic_corpus_{who}.TextGrid"
        words, phones = TIER_FORMATS[".textgrid"](str(path), path.read_text(encoding="utf-8")).tiers
        for start_s in np.arange(0.0, 26.0 - span_s, span_s):
            part = samples[round(start_s * rate) : round((start_s + span_s) * rate)]
            yield replace(
                _spoken(
                    f"read speech {start_s:g} s, {who}",
                    _sound(part, float(rate)),
                    _part(phones, start_s, start_s + span_s),
                    _part(words, start_s, start_s + span_s),
                    rng,
                    wanted,
                ),
                group=f"read speech {start_s:g} s",
            )
    for name, path in (
        ("an utterance", folder / "mary.wav"),
        ("a drone", REALDATA / "drone_gimbal" / "karma.mp4"),
    ):
        sound = read_audio("mic", AudioSpec(uri=str(path), start_ns=EPOCH_NS), "")
        found = {
            "sound": sound,
            "bands": find_band_energies(sound),
            "loudness": find_loudness(sound),
        }
        yield Found(
            name=name, parts={k: v for k, v in found.items() if k in wanted and v is not None}
        )


def _part(tier: Tier, start_s: float, stop_s: float) -> Tier:
    return Tier(
        name=tier.name,
        intervals=tuple(
            replace(i, start_s=i.start_s - start_s, stop_s=i.stop_s - start_s)
            for i in tier.intervals
            if i.start_s >= start_s and i.stop_s <= stop_s
        ),
    )


def _fixed(folder: Path, k: int) -> Clip:
    row = (
        f'{{"clip_id": "fixed{k}", "sources": {{"cam": {{"kind": "camera", '
        f'"uri": "{REALDATA / "fixed_cameras" / f"cam0{k}.mp4"}", "start_ns": {EPOCH_NS}}}}}}}\n'
    )
    path = folder / f"fixed{k}.jsonl"
    path.write_text(row, encoding="utf-8")
    (clip,) = load_manifest(str(path))
    return clip


def _long_loggers(wanted: set[str]) -> Iterator[Found]:
    """Yield windows of sensors that ran for minutes, with a car's logger beside a camera's."""
    path = REALDATA / "hero8_racebox"
    video = path / "gopro-hero8-black.mp4"
    log = np.genfromtxt(path / "racebox.csv", delimiter=",", names=True)
    log_s = log["Time"] - RACEBOX_S
    turned = np.radians(np.stack([log["GyroX"], log["GyroY"], log["GyroZ"]], axis=1))
    pushed = 9.80665 * np.stack([log["X"], log["Y"], log["Z"]], axis=1)
    if "gyro" in wanted:
        table = np.genfromtxt(REALDATA / "phone_gyro" / "imu_72s.csv", delimiter=",", names=True)
        times_s = 1e-9 * (table["timestamp_ns"] - table["timestamp_ns"][0])
        rates = np.stack([table[f"gyro_{axis}"] for axis in "xyz"], axis=1)
        later = times_s > PHONE_CLIP_S
        yield from _windows("phone, 72 s", "gyro", times_s[later], rates[later])
        yield from _windows("action camera", "gyro", *gopro_samples(video), (log_s, turned))
    if "force" in wanted:
        drone = REALDATA / "drone_gimbal" / "karma.mp4"
        yield from _windows("drone", "force", *gopro_samples(drone, "accel"), span_s=6.0)
        yield from _windows(
            "action camera", "force", *gopro_samples(video, "accel"), (log_s, pushed)
        )
    if "bus" in wanted:
        yield from _windows("action camera", "bus", log_s, turned[:, 2:])


def _windows(
    name: str,
    kind: str,
    times_s: Floats,
    values: Floats,
    beside: tuple[Floats, Floats] | None = None,
    *,
    span_s: float = WINDOW_S,
) -> Iterator[Found]:
    """Yield non-overlapping windows; those of one device at one time are related."""
    start_s = max(times_s[0], 0.0)
    stop_s = min(times_s[-1], LONGEST_S) - span_s
    for at_s in np.arange(start_s, stop_s, span_s):
        part: Any = _cut(kind, times_s, values, at_s, span_s)
        twins = {} if beside is None else {kind: _cut(kind, *beside, at_s, span_s)}
        yield Found(
            name=f"{name}, {at_s:.0f} s",
            parts={kind: {part.quantity: part} if kind == "bus" else part},
            twins=twins,
            group=f"{name}, {at_s // span_s:.0f}",
        )


def _cut(kind: str, times_s: Floats, values: Floats, start_s: float, span_s: float) -> Activity:
    keep = (times_s >= start_s) & (times_s < start_s + span_s)
    keep &= np.diff(times_s, prepend=-np.inf) > 0.0
    return Activity(
        source=kind,
        quantity=QUANTITIES[kind],
        epoch_ns=EPOCH_NS,
        times_s=times_s[keep] - start_s,
        values=values[keep],
    )
