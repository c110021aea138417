"""Compressed parts of bags: damaged, foreign, and far larger than any recording."""

from __future__ import annotations

import bz2
import io

import lz4.frame
import pytest
import zstandard

from syncaudit.datasets.bags import unpacking
from syncaudit.datasets.bags.layout import LayoutError, lay_out
from syncaudit.datasets.bags.unpacking import UnpackError, unpack, unpack_file

DATA = bytes(range(256)) * 40_000
PACKED = {
    "none": DATA,
    "zstd": zstandard.ZstdCompressor().compress(DATA),
    "lz4": lz4.frame.compress(DATA),
    "bz2": bz2.compress(DATA),
}


@pytest.mark.parametrize("kind", PACKED)
def test_what_was_packed_comes_out(kind):
    assert unpack(kind, PACKED[kind]) == DATA


@pytest.mark.parametrize("kind", ["zstd", "lz4", "bz2"])
def test_a_bomb_stops_at_the_limit(kind, monkeypatch):
    monkeypatch.setattr(unpacking, "UNPACKED_BYTES", 1 << 20)
    with pytest.raises(UnpackError, match="unpacks to more than 1 MiB"):
        unpack(kind, PACKED[kind])


@pytest.mark.parametrize("kind", ["lz4", "bz2"])
def test_what_is_cut_off_is_damaged(kind):
    with pytest.raises(UnpackError):
        unpack(kind, PACKED[kind][: len(PACKED[kind]) // 2])


def test_unknown_compressions_are_named():
    with pytest.raises(UnpackError, match="'rar' is unknown"):
        unpack("rar", b"abc")


def test_a_file_is_unpacked_as_far_as_recordings_go(tmp_path, monkeypatch):
    packed = tmp_path / "a.mcap.zst"
    packed.write_bytes(PACKED["zstd"])
    assert unpack_file("zstd", packed, tmp_path / "a.mcap") is None
    assert (tmp_path / "a.mcap").read_bytes() == DATA
    monkeypatch.setattr(unpacking, "UNPACKED_FILE_BYTES", 1 << 20)
    monkeypatch.setattr(unpacking, "UNPACKED_FOLD", 1)
    assert "more than 1 MiB" in str(unpack_file("zstd", packed, tmp_path / "b.mcap"))
    assert (tmp_path / "b.mcap").stat().st_size < 4 << 20
    with io.BytesIO(PACKED["zstd"]) as whole:
        packed.write_bytes(whole.read(200))
    assert unpack_file("zstd", packed, tmp_path / "c.mcap") in (
        None,
        "it can be unpacked to byte 0 only",
    )


BASE, NAME, ARRAY = 1, 2, 3


@pytest.mark.parametrize(
    ("types", "pattern"),
    [
        ({"a": ([], [("b", (NAME, "a"))])}, "contains itself"),
        (
            {
                "a": ([], [("b", (ARRAY, ((NAME, "c"), 4000)))]),
                "c": ([], [("d", (ARRAY, ((NAME, "e"), 4000)))]),
                "e": ([], []),
            },
            "more than 100000 fields|claims",
        ),
    ],
)
def test_types_without_end_are_no_layout(types, pattern):
    with pytest.raises(LayoutError, match=pattern):
        lay_out(bytes(99), types, "a", is_ros1=True)


def test_a_field_that_is_not_there_is_an_error_of_the_message():
    layout = lay_out(bytes(8), {"a": ([], [("b", (BASE, ("float64", 0)))])}, "a", is_ros1=True)
    with pytest.raises(LayoutError, match="no field c"):
        layout.raw(bytes(8), "c")


@pytest.mark.parametrize(
    "text", [b"[]", b"7", b'{"timestamp": {"sec": 1e400, "nsec": 0}, "data": "", "format": ""}']
)
def test_json_images_of_other_types_are_damage(text):
    from syncaudit.datasets.bags.collectors import _from_json

    with pytest.raises(LayoutError):
        _from_json(text)
