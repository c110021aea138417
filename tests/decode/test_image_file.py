from __future__ import annotations

import struct
import zlib

import cv2
import numpy as np
import pytest

from syncaudit.decode.stored import image_error


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def test_image_that_claims_too_many_pixels_is_refused_in_words() -> None:
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 16, 2, 0, 0, 0)
    body = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(bytes(9)))
    content = b"\x89PNG\r\n\x1a\n" + body + _chunk(b"IEND", b"")
    with pytest.raises(cv2.error) as caught:
        cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_GRAYSCALE)
    assert "more than 256 million pixels" in image_error(caught.value)
