"""Collect sound topics of audio_common_msgs, and write their sound to files.

``AudioInfo`` states rate and format, once, on a topic beside the sound topic. The stamp of an
``AudioDataStamped`` is taken as that of its first sample; an ``AudioData`` has only its arrival
time, which is after its last sample.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.datasets.bags.collected import Collected, Damage, Stamps
from syncaudit.datasets.bags.layout import lay_out
from syncaudit.datasets.bags.topics import Topic
from syncaudit.model.arrays import Ints

_INFO, _PLAIN = "audio_common_msgs/msg/AudioInfo", "audio_common_msgs/msg/AudioData"
_STAMPED = "audio_common_msgs/msg/AudioDataStamped"
SOUND_TYPES = frozenset({_INFO, _PLAIN, _STAMPED})
# GStreamer format names as audio_capture uses them: libsndfile's name, bytes per sample.
_SAMPLES = {
    "S8": ("PCM_S8", "FILE", 1), "U8": ("PCM_U8", "FILE", 1),
    "S16LE": ("PCM_16", "LITTLE", 2), "S16BE": ("PCM_16", "BIG", 2),
    "S24LE": ("PCM_24", "LITTLE", 3), "S32LE": ("PCM_32", "LITTLE", 4),
    "F32LE": ("FLOAT", "LITTLE", 4),
}  # fmt: skip
_BLOCK = 1 << 20
# Samples that MP3 encoders put in front of the sound, and decoders add: LAME's 576 and 529.
_MP3_PRIMING = 1105


@dataclass(frozen=True, slots=True, kw_only=True)
class _Format:
    """Contents of an ``AudioInfo``."""

    n_channels: int
    rate_hz: int
    samples: str  # ``S16LE``
    coding: str  # ``WAVE``, ``MP3``


class Sounds:
    """The sound topics of one recording, with their shared format information."""

    def __init__(self) -> None:
        self.formats: dict[str, _Format] = {}  # by the namespace of a topic

    def collector(
        self, topic: Topic, types: Mapping[str, Any], path: Path
    ) -> _InfoCollector | _SoundCollector:
        """Return the collector of a topic of `SOUND_TYPES`; `path` has no suffix."""
        if topic.type_name == _INFO:
            return _InfoCollector(topic, types, self)
        return _SoundCollector(topic, types, self, path)

    def format_of(self, topic: str) -> _Format | None:
        """Return the format of a topic's sound: from its namespace, else the only one there is."""
        only = next(iter(self.formats.values())) if len(self.formats) == 1 else None
        return self.formats.get(topic.rpartition("/")[0], only)


class _InfoCollector:
    """``AudioInfo``: not a source, but the format of other topics."""

    def __init__(self, topic: Topic, types: Mapping[str, Any], sounds: Sounds) -> None:
        self._topic, self._types, self._sounds = topic, types, sounds

    def add(self, receive_ns: int, publish_ns: int | None, data: bytes) -> None:  # noqa: ARG002
        """Take one message; an unreadable one is ignored."""
        try:
            layout = lay_out(data, self._types, _INFO, is_ros1=self._topic.encoding == "ros1")
            self._sounds.formats[self._topic.name.rpartition("/")[0]] = _Format(
                n_channels=layout.number(data, "channels"),
                rate_hz=layout.number(data, "sample_rate"),
                samples=layout.text(data, "sample_format").upper(),
                coding=layout.text(data, "coding_format").upper(),
            )
        except (ValueError, LookupError):
            return

    def finish(self) -> list[Collected]:
        """Return no source."""
        return []


class _SoundCollector:
    """Chunks of one topic, as they were sent."""

    def __init__(self, topic: Topic, types: Mapping[str, Any], sounds: Sounds, path: Path) -> None:
        self._topic, self._types, self._sounds, self._path = topic, types, sounds, path
        self._raw = path.with_name(path.name + ".raw").open("wb")
        self._stamps, self._damage = Stamps(), Damage()
        self._sizes = array("q")

    def add(self, receive_ns: int, publish_ns: int | None, data: bytes) -> None:
        """Take one chunk."""
        is_stamped = self._topic.type_name == _STAMPED
        try:
            layout = lay_out(
                data, self._types, self._topic.type_name, is_ros1=self._topic.encoding == "ros1"
            )
            stamp_ns = layout.time_ns(data, "header.stamp") if is_stamped else 0
            chunk = layout.raw(data, "audio.data" if is_stamped else "data")
        except (ValueError, LookupError) as error:
            self._damage.note(error)
            return
        self._raw.write(chunk)
        self._sizes.append(len(chunk))
        self._stamps.add(stamp_ns, receive_ns, publish_ns)

    def finish(self) -> list[Collected]:
        """Return the sound, or only the times of its chunks if its format is unknown."""
        self._raw.close()
        raw = Path(self._raw.name)
        columns, is_captured, findings = self._stamps.columns()
        if self._topic.type_name == _PLAIN:
            findings = ["manifest: its messages have no header, so receive timestamps are used: "
                        "they include every delay between microphone and recorder"]  # fmt: skip
        known = self._sounds.format_of(self._topic.name)
        kept = self._kept(raw, known)
        if kept is None:
            raw.unlink()
            findings.append(
                f"manifest: {_unknown(known)}, so only the times of its chunks are audited"
            )
        else:
            uri, ends = kept
            columns["sample"] = np.append(0, ends[:-1]) if is_captured else ends
        if known is not None and known.coding == "MP3":
            ms = 1e3 * _MP3_PRIMING / max(1, known.rate_hz)
            findings.append(
                "manifest: MP3 begins with samples that were never recorded, and the bag does not "
                f"state how many: the sound may lie up to {ms:.0f} ms late. Record as 'wave'"
            )
        return [
            Collected(
                topic=self._topic.name,
                kind="events" if kept is None else "audio",
                columns=columns,
                is_captured=is_captured,
                sound=None if kept is None else str(uri),
                findings=findings + self._damage.findings(self._topic.name),
            )
        ]

    def _kept(self, raw: Path, known: _Format | None) -> tuple[Path, Ints] | None:
        """Return the sound file, and the cumulative number of samples after each chunk."""
        if known is None:
            return None
        if known.coding == "MP3":
            uri = raw.replace(self._path.with_name(self._path.name + ".mp3"))
            return uri, _mp3_ends(uri, self._sizes)
        is_sound = 0 < known.n_channels <= 64 and 0 < known.rate_hz <= 1_000_000
        is_plain = known.samples in _SAMPLES and known.coding in ("WAVE", "WAV", "PCM", "")
        if not (is_sound and is_plain):
            return None
        uri = self._path.with_name(self._path.name + ".wav")
        _write_wav(raw, uri, known)
        raw.unlink()
        n_bytes = np.cumsum(self._sizes, dtype=np.int64)
        return uri, n_bytes // (_SAMPLES[known.samples][2] * known.n_channels)


def _unknown(known: _Format | None) -> str:
    if known is None:
        return "no AudioInfo states its rate and format (record the topic audio_info)"
    return f"its format ({known.coding}, {known.samples}, {known.rate_hz} Hz) is not known"


def _write_wav(raw: Path, target: Path, known: _Format) -> None:
    import soundfile

    subtype, endian, _ = _SAMPLES[known.samples]
    said = {"samplerate": known.rate_hz, "channels": known.n_channels}
    kept = "PCM_U8" if subtype == "PCM_S8" else subtype  # WAV has no signed bytes
    with (
        soundfile.SoundFile(
            raw, "r", format="RAW", subtype=subtype, endian=endian, **said
        ) as source,
        soundfile.SoundFile(target, "w", format="WAV", subtype=kept, **said) as sound,
    ):
        while len(block := source.read(_BLOCK, dtype="float64" if kept == "FLOAT" else "int32")):
            sound.write(block)


def _mp3_ends(path: Path, sizes: Sequence[int]) -> Ints:
    """Return the cumulative number of samples decoded after each chunk."""
    import av

    decoder = av.CodecContext.create("mp3", "r")
    n_samples, ends = 0, []
    with path.open("rb") as file:
        for size in sizes:
            try:
                for packet in decoder.parse(file.read(size)):
                    n_samples += sum(frame.samples for frame in decoder.decode(packet))
            except av.FFmpegError:
                pass  # the reader counts undecodable packets
            ends.append(n_samples)
    return np.array(ends, np.int64)
