"""Limit the memory that the process of one clip may hold, and measure what a process holds.

The figure used is the private resident memory (``RssAnon`` of ``/proc``): memory that a process has
actually taken and no other process can use. Kernel limits on address space or data segment would
also count what libraries reserve and never touch: 1.3 GiB after an audit that holds 0.15 GiB.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from syncaudit.errors import UsageError

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)

# The libraries alone take about 100 MiB per worker.
_LEAST_BYTES = 256 * 2**20
# Share of the machine's memory; the rest is for the parent process and the system.
_AUTO_SHARE = 0.8
# Six cameras of a common clip are audited in 0.3 GiB: a smaller share is not a useful limit.
_AUTO_LEAST_BYTES = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimit:
    """Memory that the process of one clip may hold before it is stopped."""

    stated_bytes: int | None = None  # regardless of other processes
    # alternatively, a share of the machine's memory, divided by the active processes
    machine_share: float | None = None

    @classmethod
    def parse(cls, text: str) -> MemoryLimit:
        """Return the limit meant by ``auto``, ``none`` or a size such as ``4G``.

        All other words, limits too small for any clip, and limits that this system cannot enforce
        are refused.
        """
        word = text.strip().lower()
        if word == "none":
            return NO_LIMIT
        can_measure = held_bytes(os.getpid()) is not None
        if word == "auto":
            return cls(machine_share=_AUTO_SHARE) if can_measure else NO_LIMIT
        match = _SIZE.fullmatch(word)
        if match is None:
            raise UsageError(
                f"memory limit must be auto, none or a size, got '{text}'",
                hint="Write 4G or 512M.",
            )
        size = int(float(match[1]) * _UNITS[match[2]])
        if size < _LEAST_BYTES:
            raise UsageError(
                f"memory limit must be {size_in_words(_LEAST_BYTES)} or more, got '{text}'",
                hint="The libraries of a worker process take a part of it. Write 4G or 512M.",
            )
        if not can_measure:
            raise UsageError(
                "this system does not report how much memory a process uses",
                hint="Leave --memory-limit out and limit the whole run, e.g. in a container.",
            )
        return cls(stated_bytes=size)

    def bytes_each(self, processes: int) -> int | None:
        """Return the limit of each process when this many are active on this machine."""
        if self.machine_share is None:
            return self.stated_bytes
        return max(_AUTO_LEAST_BYTES, int(self.machine_share * machine_bytes() / max(processes, 1)))


NO_LIMIT = MemoryLimit()


def held_bytes(pid: int) -> int | None:
    """Return the private resident memory of a process; None if it is not available."""
    try:
        pages = (_PROC / str(pid) / "statm").read_text(encoding="ascii").split()
        return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def machine_bytes() -> int:
    """Return the memory available to this process: the machine's, or its container's."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        groups = (_PROC / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return total
    return min([total, *(limit for line in groups for limit in _cgroup_limits(line))])


def _cgroup_limits(line: str) -> list[int]:
    """Return the limits of a control group and all its ancestors (versions 1 and 2)."""
    _, controllers, path = line.split(":", 2)
    if controllers == "":
        root, name = _CGROUPS, "memory.max"
    elif "memory" in controllers.split(","):
        root, name = _CGROUPS / "memory", "memory.limit_in_bytes"
    else:
        return []
    place = root / path.lstrip("/")
    limits = []
    for folder in (place, *place.parents):
        try:
            limits.append(int((folder / name).read_text(encoding="ascii")))
        except (OSError, ValueError):  # missing (a container's own view), or "max"
            continue
    return limits


def size_in_words(size: int) -> str:
    """Format a number of bytes for people."""
    if size >= 2**30:
        return f"{size / 2**30:.1f} GiB"
    return f"{size / 2**20:.0f} MiB"
