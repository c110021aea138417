"""How much memory the process of one clip may hold, and how much a process holds.

What counts is the private resident memory (``RssAnon`` of ``/proc``): what a process has really
taken and nobody else can use. Limits of the kernel on address space or data segment would count
what libraries reserve and never touch as well: 1.3 GiB after an audit that holds 0.15 GiB.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from syncaudit.errors import UsageError

__all__ = ["NO_LIMIT", "MemoryLimit", "held_bytes", "machine_bytes", "size_in_words"]

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)

# The libraries alone take some 100 MiB of every worker.
_LEAST_BYTES = 256 * 2**20
# Of the machine's memory; the rest is for the process that starts the workers and the system.
_AUTO_SHARE = 0.8
# Six cameras of a common clip are audited in 0.3 GiB: below that a share is no useful limit.
_AUTO_LEAST_BYTES = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimit:
    """How much memory the process of one clip may hold before it is stopped."""

    stated_bytes: int | None = None  # whatever else runs
    # instead: of the machine's memory, divided by the processes at work
    machine_share: float | None = None

    @classmethod
    def parse(cls, text: str) -> MemoryLimit:
        """Return the limit that a user means by ``auto``, ``none`` or a size such as ``4G``.

        Refused are all other words, too little for any clip, and what this system cannot hold to.
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
        """Return the limit of each of so many processes at work on this machine."""
        if self.machine_share is None:
            return self.stated_bytes
        return max(_AUTO_LEAST_BYTES, int(self.machine_share * machine_bytes() / max(processes, 1)))


NO_LIMIT = MemoryLimit()


def held_bytes(pid: int) -> int | None:
    """Return the private resident memory of a process; None where nobody tells."""
    try:
        pages = (_PROC / str(pid) / "statm").read_text(encoding="ascii").split()
        return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def machine_bytes() -> int:
    """Return the memory that this process may use: the machine's, or its container's."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        groups = (_PROC / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return total
    return min([total, *(limit for line in groups for limit in _cgroup_limits(line))])


def _cgroup_limits(line: str) -> list[int]:
    """Return the limits of a control group and all above it (versions 1 and 2)."""
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
        except (OSError, ValueError):  # not there (a container's own view), or "max"
            continue
    return limits


def size_in_words(size: int) -> str:
    """Return a number of bytes as people read it."""
    if size >= 2**30:
        return f"{size / 2**30:.1f} GiB"
    return f"{size / 2**20:.0f} MiB"
