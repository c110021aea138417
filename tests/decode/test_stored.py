"""Images in a column of a Parquet file are read one by one, including damaged ones."""

from __future__ import annotations

import subprocess
import sys

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncaudit.decode import iter_luma
from syncaudit.decode.stored import list_stored, stored_images
from syncaudit.errors import StreamReadError
from syncaudit.model import FrameFiles


def frame(level: int) -> bytes:
    return cv2.imencode(".png", np.full((4, 6), level, np.uint8))[1].tobytes()


def write(path, cells, *, kind=None, rows_per_group=7):
    kind = kind or pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table({"a.b": pa.array(range(len(cells))), "cam.x": pa.array(cells, kind)})
    pq.write_table(table, path, row_group_size=rows_per_group)
    return str(path)


def files(path, rows=None, column="cam.x"):
    return FrameFiles(paths=(str(path),), is_images=True, column=column, rows=rows)


@pytest.mark.parametrize("rows", [None, (0, 1), (6, 8), (3, 20), (13, 14), (7, 14), (19, 20)])
def test_rows_are_found_across_row_groups_and_batches(tmp_path, rows):
    cells = [{"bytes": b"%d" % k, "path": None} for k in range(20)]
    path = write(tmp_path / "p.parquet", cells)
    first, stop = rows or (0, 20)
    assert list(stored_images(files(path, rows))) == [b"%d" % k for k in range(first, stop)]
    assert list_stored(files(path, rows)).n_frames == stop - first


def test_plain_bytes_do_as_well(tmp_path):
    path = write(tmp_path / "p.parquet", [b"0", None, b"2"], kind=pa.large_binary())
    assert list(stored_images(files(path))) == [b"0", b"", b"2"]


def test_rows_without_a_image_keep_the_places_of_the_others(tmp_path):
    cells = [{"bytes": frame(k), "path": None} for k in range(6)]
    cells[2] = {"bytes": None, "path": "elsewhere.png"}
    cells[3] = None
    cells[4] = {"bytes": b"no image", "path": None}
    frames = iter_luma(files(write(tmp_path / "p.parquet", cells)))
    assert [(f.index, int(f.luma[0, 0])) for f in frames] == [(0, 0), (1, 1), (5, 5)]
    assert frames.tally.n_errors == 3
    assert "row 2: empty" in frames.tally.first_error


def test_a_range_beyond_the_end_holds_what_there_is(tmp_path):
    path = write(tmp_path / "p.parquet", [{"bytes": frame(k), "path": None} for k in range(5)])
    assert list_stored(files(path, (3, 9))).n_frames == 2
    assert len(list(stored_images(files(path, (3, 9))))) == 2
    assert list_stored(files(path, (7, 9))).n_frames == 0


@pytest.mark.parametrize("column", ["cam.y", "a.b", "cam"])
def test_a_column_without_images_is_told(tmp_path, column):
    path = write(tmp_path / "p.parquet", [{"bytes": b"x", "path": None}])
    with pytest.raises(StreamReadError, match=f"no column '{column}' of images"):
        list_stored(files(path, column=column))


@pytest.mark.parametrize(
    ("content", "message"), [(b"PAR1 and no more", "not an intact Parquet"), (None, "not found")]
)
def test_files_that_are_none_are_told(tmp_path, content, message):
    path = tmp_path / "p.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StreamReadError, match=message):
        list_stored(files(path))


def test_damage_within_the_file_ends_the_images(tmp_path):
    rng = np.random.default_rng(5)
    cells = [{"bytes": rng.bytes(50_000), "path": None} for _ in range(20)]
    path = tmp_path / "p.parquet"
    write(path, cells, rows_per_group=5)
    data = bytearray(path.read_bytes())
    data[600_000:600_400] = bytes(400)  # a page header or its content
    path.write_bytes(data)
    frames = iter_luma(files(path))
    list(frames)
    assert frames.tally.n_errors >= 1


def test_memory_holds_a_page_not_the_row_group(tmp_path):
    """One row group of 100 MB in pages of 8 images, 4 MB."""
    rng = np.random.default_rng(6)
    cells = [{"bytes": rng.bytes(500_000), "path": None} for _ in range(200)]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    path = tmp_path / "p.parquet"
    pq.write_table(
        pa.table({"cam.x": pa.array(cells, kind)}), path, use_dictionary=False, write_batch_size=8
    )
    code = (
        "import sys, pyarrow as pa\n"
        "from syncaudit.decode.stored import stored_images\n"
        "from syncaudit.model import FrameFiles\n"
        "files = FrameFiles(paths=(sys.argv[1],), is_images=True, column='cam.x')\n"
        "assert sum(map(len, stored_images(files))) == 100_000_000\n"
        "print(pa.default_memory_pool().max_memory())\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603  # our own code
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 30_000_000
