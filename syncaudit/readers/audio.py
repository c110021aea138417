"""Read sound through libsndfile, else FFmpeg, and find what makes it useless for training.

Silence, clipping and dropouts are findings.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import SoundTrack, decode_sound, refuse_endless
from syncaudit.dsp.indices import runs_of
from syncaudit.errors import StreamReadError
from syncaudit.formatting import word_count
from syncaudit.model import AudioSpec, AudioStream, Finding, ReasonCode, Severity
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.columns import STAMPS
from syncaudit.readers.faults import assumed_start, empty_stream, stream_fields, warned
from syncaudit.readers.tables import read_table
from syncaudit.readers.uris import local_file, resolve

_BLOCK = 1 << 20
_LATE_S = 0.001  # a track that begins later than this gets a warning

# Silence: nothing above -80 dB of full scale.
SILENT_PEAK = 1e-4
# Samples in runs of three or more at the same extreme are clipped.
CLIP_RUN = 3
CLIP_SHARE, CLIP_DEFECT_SHARE = 1e-3, 0.05
# A dropout: exact zeros for this long between loud samples; pauses fade, dropouts are abrupt.
DROPOUT_S = 0.003
DROPOUT_LEVEL = 2e-3
DROPOUT_DEFECT_SHARE = 0.05


def read_audio(
    name: str, spec: AudioSpec, base_uri: str, *, scratch: Path | None = None
) -> AudioStream:
    """Read a sound file, or the first audio track of a video, as the mean of its channels.

    Timestamps come from `timestamps` (columns ``sample`` and ``timestamp_ns``), else from
    `start_ns`, to which `start_at` may add the track's own start. Without either they count from
    zero, with a doubt: only what refers to this audio (a transcript) can then be judged.
    """
    uri = resolve(spec.uri, base_uri)
    with local_file(uri, scratch) as path:
        sound, damage = _read_sound(path, uri)
    findings: list[Finding] = []
    if damage is not None:
        message = f"{uri}: {damage}. Copy or export it again."
        findings.append(Finding(code=ReasonCode.CORRUPT, message=message))
    if not len(sound.samples):
        findings += empty_stream(uri, "sound samples")
    n_bad = int(np.count_nonzero(~np.isfinite(sound.samples)))
    if n_bad:
        first = int(np.argmax(~np.isfinite(sound.samples)))
        findings.append(
            Finding(
                code=ReasonCode.NON_FINITE,
                message=f"{uri}: {n_bad} of {len(sound.samples)} samples are NaN or infinite, "
                f"the first is sample {first}. Export it again, for example as 16-bit integers.",
                value=float(n_bad),
                limit=0.0,
            )
        )
    findings += sound_defects(uri, sound.samples, sound.rate_hz)
    if sound.is_priming_unknown and spec.timestamps is None:
        findings.append(
            warned(
                ReasonCode.MANIFEST,
                f"{uri}: its codec puts samples in front of the sound, and this file does "
                f"not state how many (1024 are {1024e3 / sound.rate_hz:.0f} ms). If "
                "'start_ns' is the time of the first sound recorded, subtract them.",
            )
        )
    is_placed = spec.start_at == "presentation_zero"
    if abs(sound.start_s) > _LATE_S and spec.timestamps is None and not is_placed:
        findings.append(
            warned(
                ReasonCode.MANIFEST,
                f"{uri}: the audio track begins at presentation time {sound.start_s:.4f} "
                "s, but 'start_ns' is taken as the time of its first sample. If it is that of "
                "presentation time 0, set 'start_at' to 'presentation_zero'.",
                sound.start_s,
            )
        )
    time_ns, anchors, more = _stamps(uri, spec, base_uri, len(sound.samples))
    if is_placed and spec.timestamps is None:
        time_ns = time_ns + round(sound.start_s * 1e9)
    if sound.jumps and spec.timestamps is None:
        findings.append(_lost(uri, sound))
        time_ns, anchors = _anchors(int(time_ns[0]), sound)
    return AudioStream(
        **stream_fields(name, spec, uri, time_ns, (*findings, *more)),
        is_start_assumed=spec.timestamps is None
        and (spec.start_ns is None or spec.is_start_assumed),
        rate_hz=float(sound.rate_hz),
        samples=sound.samples,
        anchor_samples=anchors,
    )


def _lost(uri: str, sound: SoundTrack) -> Finding:
    sample, seconds = max(sound.jumps, key=lambda jump: abs(jump[1]))
    return warned(
        ReasonCode.GAP,
        f"{uri}: presentation time jumps {word_count(len(sound.jumps), 'time')} against the "
        f"sample count, most by {seconds * 1e3:.1f} ms at sample {sample}: sound was lost. What "
        "follows is placed by presentation time here; a program that counts samples would place "
        "it wrong.",
        seconds,
    )


def _anchors(start_ns: int, sound: SoundTrack) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return timestamps every tenth of a second, and on either side of every gap."""
    places = np.array([sample for sample, _ in sound.jumps], dtype=np.int64)
    regular = np.arange(0, len(sound.samples), max(1, round(0.1 * sound.rate_hz)), dtype=np.int64)
    anchors = np.unique(np.concatenate((regular, places, np.maximum(places - 1, 0))))
    leaps_s = np.concatenate(([0.0], np.cumsum([seconds for _, seconds in sound.jumps])))
    after = np.searchsorted(places, anchors, side="right")
    seconds = anchors / sound.rate_hz + leaps_s[after]
    return start_ns + np.rint(seconds * 1e9).astype(np.int64), anchors


def _stamps(
    uri: str, spec: AudioSpec, base_uri: str, n_samples: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[Finding, ...]]:
    """Return timestamps, the sample index of each, and findings."""
    zero = np.zeros(1, dtype=np.int64)
    if spec.timestamps is None:
        is_stated = spec.start_ns is not None and not spec.is_start_assumed
        doubt = () if is_stated else (assumed_start(uri),)
        return np.array([spec.start_ns or 0], dtype=np.int64), zero, doubt
    table_uri = resolve(spec.timestamps, base_uri)
    table = read_table(table_uri, text_columns=(STAMPS, "sample"))
    anchors = table.stamps("sample", purpose="sample that each timestamp belongs to")
    time_ns = table.stamps(unit=spec.units.get(STAMPS_KEY))
    findings = table.findings
    if not table.n_rows:
        findings += empty_stream(table_uri, "stamps")
    outside = (anchors < 0) | (anchors > n_samples)
    if outside.any():
        row = int(np.argmax(outside))
        findings += (
            Finding(
                code=ReasonCode.LENGTH_MISMATCH,
                message=f"{table_uri}: {table.where(row)} stamps sample {anchors[row]}, but {uri} "
                f"holds {n_samples} samples. Pair the table with its own sound file.",
                value=float(anchors[row]),
                limit=float(n_samples),
            ),
        )
    return time_ns, anchors, findings


def _read_sound(path: Path, uri: str) -> tuple[SoundTrack, str | None]:
    """Return the sound of a file, and how it is damaged."""
    import soundfile

    try:
        return _read_with_soundfile(path)
    except StreamReadError:
        raise
    except (soundfile.LibsndfileError, OSError, TypeError, ValueError, MemoryError) as error:
        refused = _without_path(error)
    try:
        track = decode_sound(str(path))
    except StreamReadError as error:
        raise StreamReadError(
            f"cannot be read as sound (libsndfile: {refused}; FFmpeg: {error.message})",
            code=error.code,
            path=uri,
            hint="Expected wav, flac, ogg, mp3 or a video with an audio track.",
        ) from error
    if track.rate_hz <= 0:
        raise StreamReadError("states no sampling rate", path=uri, hint="Export it as wav.")
    damage = f"{word_count(track.n_errors, 'packet')} cannot be decoded" if track.n_errors else None
    return track, damage


def _read_with_soundfile(path: Path) -> tuple[SoundTrack, str | None]:
    import soundfile

    blocks: list[NDArray[np.float32]] = []
    with soundfile.SoundFile(str(path)) as file:
        rate_hz, n_channels, n_declared = file.samplerate, file.channels, file.frames
        if rate_hz <= 0:
            raise ValueError("no sampling rate")
        damage: str | None = None
        n_samples = 0
        while True:
            # Block by block: a damaged header may declare more samples than fit in memory.
            try:
                block = file.read(_BLOCK, dtype="float32", always_2d=True)
            except soundfile.LibsndfileError as error:
                damage = f"it cannot be decoded to its end ({_without_path(error)})"
                with suppress(StreamReadError):  # FFmpeg keeps samples that libsndfile gives up
                    blocks = [decode_sound(str(path)).samples]
                break
            if not len(block):
                break
            n_samples += len(block)
            refuse_endless(str(path), n_samples)
            with np.errstate(all="ignore"):  # float samples may be inf or NaN, which is reported
                blocks.append(
                    block[:, 0].copy() if n_channels == 1 else block.mean(axis=1, dtype=np.float32)
                )
    samples = np.concatenate(blocks) if blocks else np.empty(0, np.float32)
    if damage is None and 0 < n_declared < 2**62 and len(samples) < n_declared:
        damage = f"its header declares {n_declared} samples, {len(samples)} are there"
    track = SoundTrack(rate_hz=rate_hz, samples=samples, n_errors=0, start_s=0.0)
    return track, damage or _cut_wav(path)


def _without_path(error: Exception) -> str:
    """Return the words of libsndfile alone: the path may be that of a local copy."""
    return str(getattr(error, "error_string", error)).strip().rstrip(".")


def _cut_wav(path: Path) -> str | None:
    """Describe the damage if a WAV is shorter than its header declares."""
    with path.open("rb") as file:
        head = file.read(12)
    declared = int.from_bytes(head[4:8], "little") + 8
    size = path.stat().st_size
    is_wav = head[:4] == b"RIFF" and head[8:12] == b"WAVE"
    # Streaming recorders leave 0 or all ones for "unknown".
    if not is_wav or declared <= 8 or declared >= 2**32 - 2**16 or size >= declared - 1:
        return None
    return f"it is cut off: {size} of {declared} bytes are there"


def sound_defects(uri: str, samples: NDArray[np.float32], rate_hz: float) -> list[Finding]:
    """Return findings on silence, clipping and dropouts in sound, shape (n,), full scale 1.

    Non-finite samples are ignored (they have a finding of their own).
    """
    if not samples.size or not rate_hz > 0.0:
        return []
    x = samples if np.isfinite(samples).all() else np.nan_to_num(samples, posinf=0.0, neginf=0.0)
    low, high = float(x.min()), float(x.max())
    if high - low < 2.0 * SILENT_PEAK:
        return [
            Finding(
                code=ReasonCode.EMPTY,
                message=f"{uri}: all {x.size / rate_hz:.1f} s are silent (they vary by "
                f"{high - low:.2g} of full scale). Check the microphone and its channel.",
                value=high - low,
                limit=2.0 * SILENT_PEAK,
            )
        ]
    return [*_clipping(uri, x, low, high), *_dropouts(uri, x, rate_hz)]


def _clipping(uri: str, x: NDArray[np.float32], low: float, high: float) -> list[Finding]:
    n_clipped = sum(_in_runs(x == extreme, CLIP_RUN) for extreme in (low, high) if extreme != 0.0)
    share = n_clipped / x.size
    if share < CLIP_SHARE:
        return []
    return [
        Finding(
            code=ReasonCode.CORRUPT,
            message=f"{uri}: {100.0 * share:.2g} % of the samples are clipped (at {low:.2f} and "
            f"{high:.2f} of full scale). Record with less gain.",
            value=share,
            limit=CLIP_DEFECT_SHARE,
            severity=Severity.DEFECT if share > CLIP_DEFECT_SHARE else Severity.WARNING,
        )
    ]


def _dropouts(uri: str, x: NDArray[np.float32], rate_hz: float) -> list[Finding]:
    starts, stops = runs_of(x == 0.0)
    is_long = stops - starts >= max(4, round(DROPOUT_S * rate_hz))
    reach = max(4, round(0.01 * rate_hz))
    found = [
        (start, stop)
        for start, stop in zip(starts[is_long].tolist(), stops[is_long].tolist(), strict=True)
        if _is_cut(x[max(0, start - reach) : start]) and _is_cut(x[stop : stop + reach][::-1])
    ]
    if not found:
        return []
    lost_s = sum(stop - start for start, stop in found) / rate_hz
    share = lost_s * rate_hz / x.size
    return [
        Finding(
            code=ReasonCode.CORRUPT,
            message=f"{uri}: {word_count(len(found), 'dropout')} (exact zeros within sound), "
            f"{lost_s * 1e3:.0f} ms in total, the first at {found[0][0] / rate_hz:.3f} s. "
            "The recorder lost buffers there.",
            value=share,
            limit=DROPOUT_DEFECT_SHARE,
            severity=Severity.DEFECT if share > DROPOUT_DEFECT_SHARE else Severity.WARNING,
        )
    ]


def _is_cut(before: NDArray[np.float32]) -> bool:
    """Return whether sound stops abruptly: the last samples are as loud as those before."""
    if before.size < 4:
        return False
    level = float(np.sqrt(np.mean(before.astype(np.float64) ** 2)))
    return level > DROPOUT_LEVEL and float(np.max(np.abs(before[-3:]))) > 0.3 * level


def _in_runs(flags: NDArray[np.bool_], shortest: int) -> int:
    """Count the flags in runs of at least `shortest`."""
    starts, stops = runs_of(flags)
    lengths = stops - starts
    return int(lengths[lengths >= shortest].sum())
