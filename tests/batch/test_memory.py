"""The meaning of a memory limit, and the memory of a machine or a container."""

import os

import pytest

from syncaudit.batch import memory
from syncaudit.batch.memory import MemoryLimit, held_bytes, machine_bytes, size_in_words
from syncaudit.errors import UsageError

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4G", 4 * GIB),
        ("4GiB", 4 * GIB),
        (" 1.5 gb", 1.5 * GIB),
        ("512M", GIB // 2),
        ("1t", 1024 * GIB),
        ("4294967296", 4 * GIB),
    ],
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert MemoryLimit.parse(text).bytes_each(7) == size


def test_none_is_no_limit():
    assert MemoryLimit.parse("none").bytes_each(1) is None


@pytest.mark.parametrize("text", ["", "lots", "-4G", "4 apples", "nan", "G"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(UsageError, match="auto, none or a size"):
        MemoryLimit.parse(text)


def test_less_than_a_worker_needs_is_refused():
    with pytest.raises(UsageError, match="must be 256 MiB or more, got '100M'"):
        MemoryLimit.parse("100M")


def test_auto_shares_the_machine(monkeypatch):
    monkeypatch.setattr(memory, "machine_bytes", lambda: 100 * GIB)
    limit = MemoryLimit.parse("auto")
    assert limit.bytes_each(1) == 80 * GIB
    assert limit.bytes_each(16) == 5 * GIB
    assert limit.bytes_each(1000) == GIB


def test_a_system_that_tells_nothing_sets_no_limit_by_itself(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_PROC", tmp_path)
    assert MemoryLimit.parse("auto").bytes_each(4) is None
    with pytest.raises(UsageError, match="does not report how much memory"):
        MemoryLimit.parse("4G")
    assert machine_bytes() > 0


def test_memory_that_is_only_reserved_does_not_count():
    import numpy as np

    before = held_bytes(os.getpid())
    assert before is not None
    block = np.empty(64 * 2**20, np.uint8)
    reserved = held_bytes(os.getpid())
    block[:] = 1
    taken = held_bytes(os.getpid())
    # Room for what the interpreter itself allocates meanwhile.
    assert reserved is not None
    assert abs(reserved - before) < 8 * 2**20
    assert taken is not None
    assert taken - before > 56 * 2**20


def test_nobody_tells_of_a_process_that_is_not_there():
    assert held_bytes(2**30) is None


@pytest.mark.parametrize(
    ("line", "files", "expected"),
    [
        ("0::/pod/box", {"pod/memory.max": "3000", "pod/box/memory.max": "max"}, 3000),
        ("0::/not/in/here", {"memory.max": "5000"}, 5000),
        ("4:memory:/job", {"memory/job/memory.limit_in_bytes": "7000"}, 7000),
    ],
)
def test_the_container_counts_where_it_is_smaller(monkeypatch, tmp_path, line, files, expected):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"9:name=systemd:/\n{line}\n")
    for name, text in files.items():
        place = tmp_path / "cgroup" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{text}\n")
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "cgroup")
    assert machine_bytes() == expected


def test_sizes_are_told_in_fitting_units():
    assert [size_in_words(n) for n in (GIB * 3 // 2, 300 * 2**20)] == ["1.5 GiB", "300 MiB"]
