"""Import RLDS and Open X-Embodiment: TFRecord files of episodes with a ``features.json``."""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from posixpath import join
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.formats.nested import NestedFormat
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.datasets.steps.episode import Episode, broken_clip, clip_of, rate_of_rules
from syncaudit.errors import ManifestError, MissingExtraError, one_line
from syncaudit.model import Clip

_FEATURES = "features.json"
_SHARD = re.compile(r"^(?:.*-)?([A-Za-z0-9_]+)\.tfrecord(?:-(\d+)-of-(\d+))?$")
_STEPS = "steps/"
# Lists of an Example.
_Value = list[bytes] | NDArray[np.float32]
# More than a protocol buffer can hold.
_MOST_BYTES = 1 << 31
_VARINT, _EIGHT_BYTES, _DELIMITED, _FOUR_BYTES = 0, 1, 2, 5
_WIDTHS = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}
_BYTES_LIST, _FLOAT_LIST = 1, 2


class RldsFormat(NestedFormat):
    """One clip per episode; image features are cameras, float vectors state and action.

    Steps have no timestamps: they are counted at the ``rate_hz`` of the rules, else only numbered.
    """

    name = "rlds"
    summary = "RLDS, Open X-Embodiment: features.json with *.tfrecord files"
    takes_rules = True
    _depth = 2  # data set, version
    _expected = f"{_FEATURES} and *.tfrecord files"

    def _is_one(self, source: Source, folder: str) -> bool:
        return source.has(join(folder, _FEATURES)) and bool(_shards(source, folder))

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the episodes, shards in the order of their names."""
        if find_spec("crc32c") is None:
            raise MissingExtraError("crc32c", extra="rlds", purpose=f"the format {self.name}")
        rate_hz = rate_of_rules(job.rules)
        for folder in self._folders(source):
            shapes = _shapes(source, folder, job)
            names = _shards(source, folder)
            _note_missing(folder, names, job)
            for name in names:
                yield from _episodes(source, name, shapes, rate_hz, job)


def _shards(source: Source, folder: str) -> list[str]:
    names = source.files("*.tfrecord*", folder)
    return [name for name in names if _SHARD.match(name.rpartition("/")[2])]


def _note_missing(folder: str, names: list[str], job: Import) -> None:
    """Note shards that are missing according to the names of others."""
    stated: dict[str, int] = {}
    there: Counter[str] = Counter()
    for name in names:
        found = _SHARD.match(name.rpartition("/")[2])
        if found is not None and found[3]:
            stated[found[1]] = int(found[3])
            there[found[1]] += 1
    for split, n_stated in stated.items():
        if there[split] < n_stated:
            job.note(f"{folder} {split}: {there[split]} of {n_stated} files are there".strip())


def _episodes(
    source: Source,
    name: str,
    shapes: Mapping[str, tuple[int, ...]],
    rate_hz: float | None,
    job: Import,
) -> Iterator[Clip]:
    place = source.uri_of(name).split("::")[0].split("/")
    found = _SHARD.match(place[-1])
    shard = f"{found[1]}-{found[2] or '00000'}" if found else ""
    prefix = "/".join([*place[-3:-1], shard])  # data set, version
    with source.open(name) as file:
        for number, content in enumerate(_iter_records(file)):
            clip_id = f"{prefix}/{number:05d}"
            try:
                if isinstance(content, str):
                    raise ValueError(content)
                arrays = _arrays(read_example(content), shapes)
            except (ValueError, LookupError) as error:
                text = f"record {number} of {place[-1]} cannot be read: {one_line(error)}"
                fault = [f"corrupt: {text}. Download the file again."]
                yield broken_clip(clip_id, fault, job, source)
                continue
            lengths = Counter(len(array) for array in arrays.values())
            n_steps = lengths.most_common(1)[0][0] if lengths else 0
            episode = Episode(clip_id=clip_id, arrays=arrays, rows=(0, n_steps), rate_hz=rate_hz)
            yield clip_of(episode, job, source)


def _arrays(values: Mapping[str, _Value], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """Return the features of the steps as arrays with one row per step."""
    arrays: dict[str, Any] = {}
    for name, value in values.items():
        if name not in shapes:
            continue
        if isinstance(value, list):
            array = np.empty(len(value), object)
            array[:] = value
        else:
            width = math.prod(shapes[name])
            n_rows = value.size // max(1, width)
            array = value[: n_rows * width].reshape(n_rows, *shapes[name])
        arrays[name.removeprefix(_STEPS)] = array
    return arrays


def _shapes(source: Source, folder: str, job: Import) -> dict[str, tuple[int, ...]]:
    """Return the shape per step of each feature that is read."""
    name = join(folder, _FEATURES)
    content = source.read_json(name)
    try:
        found = {key: _shape(feature) for key, feature in _leaves(content, "")}
    except (AttributeError, TypeError, KeyError, ValueError, RecursionError) as error:
        raise ManifestError(
            f"is not a description of features ({type(error).__name__}: {one_line(error)})",
            path=source.uri_of(name),
            hint="Download it again.",
        ) from error
    found = {key: shape for key, shape in found.items() if key.startswith(_STEPS)}
    if not found:
        raise ManifestError(
            "describes no 'steps', so this is a TensorFlow data set, but not RLDS",
            path=source.uri_of(name),
            hint="RLDS data sets hold one record per episode, with 'steps'.",
        )
    for key, shape in found.items():
        if isinstance(shape, str):
            job.note(f"ignored {key.removeprefix(_STEPS)}: {shape}")
    return {key: shape for key, shape in found.items() if not isinstance(shape, str)}


def _leaves(feature: Mapping[str, Any], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (name, description) of the features that hold values."""
    if "featuresDict" in feature:
        for key, child in feature["featuresDict"]["features"].items():
            yield from _leaves(child, f"{name}/{key}" if name else key)
    elif "sequence" in feature and name == _STEPS[:-1]:
        yield from _leaves(feature["sequence"]["feature"], name)
    else:
        yield name, feature


def _shape(feature: Mapping[str, Any]) -> tuple[int, ...] | str:
    """Return the shape of a feature, or why it is not read."""
    if "image" in feature:
        dtype = feature["image"].get("dtype", "uint8")
        return () if dtype == "uint8" else f"images of {dtype} are distances"
    if "tensor" not in feature:
        kinds = [key for key in feature if key not in ("pythonClassName", "description")]
        return f"{', '.join(kinds) or 'it'} is neither an image nor a vector"
    tensor = feature["tensor"]
    if tensor.get("encoding", "none") not in ("none", ""):
        return "a packed tensor"
    if tensor["dtype"] not in ("float32", "float64"):
        return f"{tensor['dtype']} is not a vector of motion"
    shape = tuple(int(length) for length in tensor["shape"].get("dimensions", ()))
    return shape if min(shape, default=0) >= 0 else "its shape is not fixed"


def _iter_records(file: BinaryIO) -> Iterator[bytes | str]:
    """Yield the content of every record of a TFRecord file, or a description of its fault.

    A file is a sequence of records: length (8 bytes, little endian), its checksum (4), content, its
    checksum (4). Checksums are CRC-32C, rotated and shifted.

    Damaged content affects only its own record; after a damaged length nothing more is read.
    """
    while head := file.read(12):
        length, checksum = struct.unpack("<QI", head) if len(head) == 12 else (0, -1)
        if _checksum(head[:8]) != checksum or length > _MOST_BYTES:
            yield "its length is damaged, so nothing after it can be found"
            return
        data = file.read(length + 4)
        if len(data) < length + 4:
            yield f"the file breaks off in it: {len(data)} of {length + 4} bytes are there"
            return
        content = data[:length]
        is_intact = struct.pack("<I", _checksum(content)) == data[length:]
        yield content if is_intact else "its checksum is wrong, so its bytes were changed"


def _checksum(data: bytes) -> int:
    from crc32c import crc32c

    plain = crc32c(data)
    return ((plain >> 15 | plain << 17) + 0xA282EAD8) & 0xFFFFFFFF


def read_example(content: bytes) -> dict[str, _Value]:
    """Return the lists of bytes and floats in an Example or SequenceExample by name.

    It is a protocol buffer of named lists: bytes, floats or integers
    (tensorflow/core/example/example.proto).

    Lists of integers, which hold flags and labels, are left out. ValueError if it is not one.
    """
    found: dict[str, _Value] = {}
    for number, features in _fields(memoryview(content)):
        for _, entry in _fields(features):
            parts = dict(_fields(entry))
            name = str(parts[1], "utf-8") if 1 in parts else ""
            # A Feature, or in a SequenceExample (field 2) a list of one Feature per step.
            each = [parts[2]] if number == 1 else [step for _, step in _fields(parts[2])]
            values = [_value(feature) for feature in each if feature]
            lists = [value for value in values if isinstance(value, list)]
            if lists:
                found[name] = [item for value in lists for item in value]
            elif floats := [value for value in values if isinstance(value, np.ndarray)]:
                found[name] = np.concatenate(floats)
    return found


def _value(feature: memoryview) -> _Value | None:
    for kind, values in _fields(feature):
        items = [item for _, item in _fields(values)]
        if kind == _BYTES_LIST:
            return [bytes(item) for item in items]
        if kind == _FLOAT_LIST:
            return np.frombuffer(b"".join(items), "<f4")
    return None


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield number and bytes of each field of a message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        wire = key & 7
        if wire == _DELIMITED:
            size, at = _varint(message, at)
        elif wire == _VARINT:
            size = _varint(message, at)[1] - at
        elif wire in _WIDTHS:
            size = _WIDTHS[wire]
        else:
            raise ValueError(f"wire type {wire} at byte {at} is not valid in an Example")
        if at + size > len(message):
            raise ValueError(f"a field at byte {at} is longer than what holds it")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError(f"the number that ends at byte {at} breaks off")
