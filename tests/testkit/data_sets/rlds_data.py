"""RLDS data sets: TFRecord files written field by field according to TensorFlow's definitions."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from testkit.data_sets.stills import frame, jpeg

N_STEPS = 6
NAME = "toy_arm"


def write_rlds(folder: Path, n_clips: int) -> Path:
    """Write `n_clips` episodes of one split in one file."""
    root = folder / NAME
    version = root / "1.0.0"
    version.mkdir(parents=True)
    (version / "features.json").write_text(json.dumps(FEATURES))
    (version / "dataset_info.json").write_text(json.dumps({"name": NAME, "version": "1.0.0"}))
    write_records(shard_of(root), [example(features(number)) for number in range(n_clips)])
    return root


def shard_of(root: Path) -> Path:
    """Return the only record file of a data set."""
    return root / f"1.0.0/{NAME}-train.tfrecord-00000-of-00001"


def write_records(path: Path, contents: list[bytes]) -> None:
    """Write records with their checksums."""
    path.write_bytes(b"".join(map(record, contents)))


def record(content: bytes) -> bytes:
    """Return a record of a TFRecord file."""
    crc32c = pytest.importorskip("crc32c").crc32c

    def masked(data: bytes) -> bytes:
        plain = crc32c(data)
        return struct.pack("<I", ((plain >> 15 | plain << 17) + 0xA282EAD8) % 2**32)

    length = struct.pack("<Q", len(content))
    return length + masked(length) + content + masked(content)


def features(number: int) -> dict[str, Any]:
    """Return the features of an episode, with one item or several consecutive items per step."""
    steps = np.arange(N_STEPS)
    blank = jpeg(np.zeros((24, 32, 3), np.uint8))
    return {
        "steps/observation/image": [jpeg(frame(number + step)) for step in steps],
        "steps/observation/wrist": [blank] * N_STEPS,
        "steps/observation/state": np.sin(steps[:, None] * 0.3 + np.arange(7) + number),
        "steps/action": np.cos(steps[:, None] * 0.3 + np.arange(7) + number),
        "steps/reward": np.zeros(N_STEPS),
        "steps/language_embedding": np.zeros((N_STEPS, 512)),
        "steps/language_instruction": [b"put it there"] * N_STEPS,
    }


def example(named: dict[str, Any]) -> bytes:
    """Return a ``tf.train.Example``."""
    return _field(1, b"".join(_entry(name, _feature(value)) for name, value in named.items()))


def sequence_example(named: dict[str, Any]) -> bytes:
    """Return a ``tf.train.SequenceExample``: a list with one Feature per step."""
    lists = b"".join(
        _entry(name, b"".join(_field(1, _feature([item] if isinstance(item, bytes) else item))
                              for item in value))
        for name, value in named.items()
    )  # fmt: skip
    return _field(1, b"") + _field(2, lists)


def _entry(name: str, value: bytes) -> bytes:
    return _field(1, _field(1, name.encode()) + _field(2, value))


def _feature(value: Any) -> bytes:
    if isinstance(value, list):
        return _field(1, b"".join(_field(1, item) for item in value))
    return _field(2, _field(1, np.asarray(value, "<f4").tobytes()))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def _tensor(*shape: int) -> dict[str, Any]:
    dimensions = {"dimensions": [str(length) for length in shape]} if shape else {}
    return {"tensor": {"shape": dimensions, "dtype": "float32", "encoding": "none"}}


def _image(dtype: str = "uint8") -> dict[str, Any]:
    return {"image": {"dtype": dtype, "encodingFormat": "jpeg" if dtype == "uint8" else "png"}}


def _group(**features: Any) -> dict[str, Any]:
    return {"featuresDict": {"features": features}}


FEATURES = _group(
    steps={
        "sequence": {
            "feature": _group(
                observation=_group(
                    image=_image(), wrist=_image(), far=_image("uint16"), state=_tensor(7)
                ),
                action=_tensor(7),
                reward=_tensor(),
                language_embedding=_tensor(512),
                language_instruction={"text": {}},
            )
        }
    },
    episode_metadata=_group(file_path={"text": {}}),
)
