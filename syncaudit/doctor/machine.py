"""Check cores, memory, container limits, and space for temporary files."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from syncaudit.doctor.symptom import Status, Symptom

_GIB = 2**30
# A worker takes about half a gibibyte; copies of remote videos go to the temporary folder.
_LOW_MEMORY = 1 * _GIB
_LOW_ROOM = 1 * _GIB
# Ray's object store allocates a share of memory there, and does not start with less than this.
_LOW_SHARED = 80 * 2**20


def probe_machine(root: Path = Path("/")) -> list[Symptom]:
    """Return the machine's resources, and the part available in a container.

    `root` is the folder with ``proc``, ``sys`` and ``dev``.
    """
    return [
        _cores(root),
        _memory(root),
        _room("temporary files", Path(tempfile.gettempdir()), _LOW_ROOM, "Set TMPDIR."),
        _room("shared memory", root / "dev" / "shm", _LOW_SHARED, "docker run --shm-size=2g"),
    ]


def _cores(root: Path) -> Symptom:
    total = os.cpu_count() or 1
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        usable = total
    detail = f"{usable} of {total} usable" if usable != total else f"{total}"
    quota = _quota_cores(root / "sys/fs/cgroup")
    if quota is not None and quota < usable:
        return Symptom(
            "cores",
            Status.OK,
            f"{detail}, but the container's quota is {quota:.3g}",
            cure=f"--workers {max(1, round(quota))}",
        )
    return Symptom("cores", Status.OK, detail)


def _quota_cores(cgroup: Path) -> float | None:
    """Return the container's CPU quota in cores, from cgroups version 2, else 1."""
    unified = _words(cgroup / "cpu.max")
    if len(unified) == 2:
        return _ratio(*unified)
    quota, period = (_words(cgroup / f"cpu/cpu.cfs_{name}_us") for name in ("quota", "period"))
    return _ratio(quota[0], period[0]) if quota and period else None


def _ratio(quota: str, period: str) -> float | None:
    if not (quota.isdecimal() and period.isdecimal() and int(period)):
        return None  # "max" or -1: no limit
    return int(quota) / int(period)


def _memory(root: Path) -> Symptom:
    figures = {
        words[0].rstrip(":"): int(words[1]) * 1024
        for line in _lines(root / "proc/meminfo")
        if len(words := line.split()) >= 2 and words[1].isdecimal()
    }
    total, free = figures.get("MemTotal"), figures.get("MemAvailable")
    if total is None or free is None:
        return Symptom("memory", Status.UNKNOWN, "/proc/meminfo does not state it")
    detail = f"{free / _GIB:.1f} of {total / _GIB:.1f} GiB free"
    limit = _memory_limit(root / "sys/fs/cgroup")
    if limit is not None and limit < total:
        detail += f", but the container's limit is {limit / _GIB:.1f} GiB"
        free = min(free, limit)
    if free < _LOW_MEMORY:
        return Symptom("memory", Status.FAULTY, detail, cure="--workers 1, or a machine with more")
    return Symptom("memory", Status.OK, detail)


def _memory_limit(cgroup: Path) -> int | None:
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        words = _words(cgroup / name)
        if words:
            return int(words[0]) if words[0].isdecimal() else None
    return None


def _room(name: str, folder: Path, low: int, cure: str) -> Symptom:
    try:
        usage = shutil.disk_usage(folder)
    except OSError as error:
        return Symptom(name, Status.UNKNOWN, f"{folder}: {error.strerror}")
    detail = f"{usage.free / _GIB:.2f} of {usage.total / _GIB:.2f} GiB free in {folder}"
    if not os.access(folder, os.W_OK):
        return Symptom(name, Status.FAULTY, f"{folder}: not writable", cure=cure)
    is_low = usage.free < low
    return Symptom(
        name, Status.FAULTY if is_low else Status.OK, detail, cure=cure if is_low else None
    )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _words(path: Path) -> list[str]:
    lines = _lines(path)
    return lines[0].split() if lines else []
