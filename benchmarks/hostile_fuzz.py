"""Valid inputs, damaged at random: every reader, every importer and whole clips.

A case is one damaged input in a separate process, called as the command line does but without its
workers. Faults are unexpected exceptions, more than `MOST_S`, and more memory than `MOST_BYTES`. A
process killed by a signal crashed in a C library: the command line isolates that in a worker, so it
is counted separately and not as a fault. A case can be reproduced from the seed and its number.
"""

from __future__ import annotations

import io
import json
import os
import random
import resource
import shutil
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tests_on_path  # noqa: F401  # before testkit

from syncaudit.batch.memory import held_bytes

_ROOT = Path(__file__).resolve().parents[1]

MOST_S = 60.0
MOST_BYTES = 2**30

# A value of every type, and numbers out of range.
VALUES = (
    None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 0.5, -0.0,
    1e308, float("nan"), float("inf"), "", "x", "a\nb", "\x1b[2Jx", "\u202ex", "\ud83d", "../..",
    "/dev/zero", "a" * 70_000, [], {}, [[]], {"a": {}}, [None], {"": None},
)  # fmt: skip
CELLS = (
    "", "nan", "1e400", "-0", "9223372036854775808", "-9223372036854775809", "0x1", "1,2", '"',
    "\0", "x", "1e308", "-1e308", "5e-324", "99999999999999999999", "\u00a01",
)  # fmt: skip

# (bytes of a valid input) -> damaged ones
_Damage = Callable[[bytes, random.Random], bytes]
# (empty folder, generator) -> what is damaged, and the function that reads it
_Job = Callable[[Path, random.Random], tuple[str, Callable[[], Any]]]


def _flipped(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _spliced(data: bytes, rng: random.Random) -> bytes:
    first, second, third = sorted(rng.randrange(len(data) + 1) for _ in range(3))
    return rng.choice((
        data[:first] + data[second:], data[:second] + data[first:],
        data[:first] + data[second:third] + data[first:second] + data[third:],
        data[:first] + rng.randbytes(second - first) + data[second:],
        data[:first] + bytes(min(4096, third - first)) + data[first:],
    ))  # fmt: skip


def _numbers(data: bytes, rng: random.Random) -> bytes:
    """Overwrite one to eight bytes with an extreme number: sizes and counts of binary files."""
    found = bytearray(data)
    width = rng.choice((1, 2, 4, 8))
    at = rng.randrange(max(1, len(found) - width))
    value = rng.choice((0, 1, 2 ** (8 * width - 1), 2 ** (8 * width - 1) - 1, 2 ** (8 * width) - 1))
    found[at : at + width] = value.to_bytes(width, rng.choice(("big", "little")))
    return bytes(found)


def _cells(data: bytes, rng: random.Random) -> bytes:
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.randrange(len(lines))
        cells = lines[at].split(",")
        cells[rng.randrange(len(cells))] = rng.choice(CELLS)
        lines[at] = ",".join(cells)
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _json(data: bytes, rng: random.Random) -> bytes:
    lines = data.decode().strip().split("\n")
    is_lines = len(lines) > 1 and all(line[:1] == "{" for line in lines)
    at = rng.randrange(len(lines)) if is_lines else 0
    content = json.loads(lines[at] if is_lines else data)
    place, key = rng.choice(list(_places(content)))
    if rng.random() < 0.2 and isinstance(place, dict):
        del place[key]
    else:
        place[key] = rng.choice(VALUES)
    text = json.dumps(content)
    return "\n".join([*lines[:at], text, *lines[at + 1 :]] if is_lines else [text]).encode()


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(content) if isinstance(content, dict) else range(len(content)):
        yield content, key
        if isinstance(content[key], dict | list) and content[key]:
            yield from _places(content[key])


def _columns(data: bytes, rng: random.Random) -> bytes:
    """Change a column of a Parquet table: its type, its cells, or whether it exists."""
    table = pq.read_table(pa.BufferReader(data))
    at = rng.randrange(table.num_columns)
    name = table.column_names[at]
    n = table.num_rows
    kinds = (
        pa.string(), pa.binary(), pa.bool_(), pa.int8(), pa.uint64(), pa.float16(), pa.date32(),
        pa.timestamp("s"), pa.duration("ns"), pa.list_(pa.float64()), pa.list_(pa.list_(pa.int8())),
        pa.struct([("a", pa.int64())]), pa.dictionary(pa.int32(), pa.string()), pa.decimal128(38),
        pa.null(),
    )  # fmt: skip
    cells: Any = rng.choice((
        pa.nulls(n, rng.choice(kinds)), pa.array([2**63 - 1] * n), pa.array([-(2**63)] * n),
        pa.array([float("nan")] * n), pa.array([1e308] * n), pa.array(["x"] * n),
        pa.array([[1.0] * (k % 3) for k in range(n)]), pa.array([{"a": None}] * n),
        pa.array([b"\xff"] * n),
    ))  # fmt: skip
    changed = rng.choice((
        lambda: table.set_column(at, name, cells), lambda: table.remove_column(at),
        lambda: table.append_column(name, cells), lambda: table.slice(0, rng.randrange(n + 1)),
        lambda: pa.concat_tables([table, table]),
        lambda: table.take(pa.array(rng.sample(range(n), n))),
    ))()  # fmt: skip
    sink = io.BytesIO()
    pq.write_table(changed, sink)
    return sink.getvalue()


_ANY: tuple[_Damage, ...] = (_flipped, _cut, _spliced, _numbers)
_SPECIAL: dict[str, _Damage] = {
    ".json": _json, ".jsonl": _json, ".parquet": _columns, ".csv": _cells, ".txt": _cells,
}  # fmt: skip


def _damaged(data: bytes, name: str, rng: random.Random) -> bytes:
    special = _SPECIAL.get(Path(name).suffix.lower())
    if special is not None and rng.random() < 0.7:
        try:
            return special(data, rng)
        except (ValueError, LookupError, TypeError, pa.ArrowException):
            pass  # if this damage is not possible, fall through to another
    return rng.choice(_ANY)(data, rng) if data else b"\0"


def _damage_file(folder: Path, rng: random.Random) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = rng.choice(files)
    path.write_bytes(_damaged(path.read_bytes(), path.name, rng))
    return str(path.relative_to(folder))


def _jobs(
    scratch: Path,
) -> dict[str, Callable[[Path, random.Random], tuple[str, Callable[[], Any]]]]:
    """Return, by name, functions that prepare a damaged input and return (description, reader)."""
    from syncaudit.datasets import load_manifest
    from syncaudit.datasets.importing import import_dataset
    from syncaudit.pipeline import audit
    from syncaudit.readers import read_source
    from testkit.data_sets.examples import EXAMPLES
    from testkit.reader_samples import write_samples

    jobs: dict[str, Any] = {}

    def reader(sample: Any) -> Any:
        def prepare(folder: Path, rng: random.Random) -> tuple[str, Callable[[], Any]]:
            sample.put(folder)
            path = folder / sample.file
            if path.is_file() and rng.random() < 0.8:
                path.write_bytes(_damaged(path.read_bytes(), path.name, rng))
                what = sample.file
            else:
                what = _damage_file(folder, rng)
            return what, lambda: read_source("it", sample.spec, str(folder))

        return prepare

    def importer(name: str, example: Any) -> Any:
        valid = scratch / f"valid-{name}"
        valid.mkdir()
        source = example.write(valid, 2)

        def prepare(folder: Path, rng: random.Random) -> tuple[str, Callable[[], Any]]:
            shutil.copytree(valid, folder, dirs_exist_ok=True, symlinks=True)
            what = _damage_file(folder, rng)
            place = str(folder / source.relative_to(valid))

            def act() -> None:
                out = folder.parent / "out" / "m.jsonl"
                import_dataset(place, out, format_name=name, force=True)
                for clip in load_manifest(str(out)):
                    audit(clip)

            return what, act

        return prepare

    def clip(name: str) -> Any:
        valid = _ROOT / "sample_data" / name

        def prepare(folder: Path, rng: random.Random) -> tuple[str, Callable[[], Any]]:
            shutil.copytree(valid, folder, dirs_exist_ok=True)
            names = ["manifest.jsonl"] * 3 + [p.name for p in valid.iterdir() if p.suffix == ".csv"]
            path = folder / rng.choice(names)
            path.write_bytes(_damaged(path.read_bytes(), path.name, rng))

            def act() -> None:
                for each in load_manifest(str(folder / "manifest.jsonl")):
                    audit(each, is_screen=rng.random() < 0.7)

            return path.name, act

        return prepare

    for name, sample in write_samples(scratch).items():
        jobs[f"reader {name}"] = reader(sample)
    for name, example in EXAMPLES.items():
        jobs[f"import {name}"] = importer(name, example)
    for name in ("good", "can_shifted", "clock_step"):
        jobs[f"clip {name}"] = clip(name)
    return jobs


def fuzz(minutes: float, seed: int, scratch: Path, only: str = "") -> int:
    """Damage inputs for a number of minutes; return how many faults were found."""
    jobs = {name: job for name, job in _jobs(scratch).items() if only in name}
    names = sorted(jobs)
    until = time.monotonic() + 60.0 * minutes
    n_cases, faults, most_s, most_bytes = 0, Counter[str](), 0.0, 0
    crashes = Counter[str]()
    while time.monotonic() < until:
        name = names[n_cases % len(names)]
        rng = random.Random(f"{seed} {n_cases} {name}")  # noqa: S311  # no secret
        place = scratch / "case"
        shutil.rmtree(place, ignore_errors=True)
        (place / "in").mkdir(parents=True)
        code, spent_s, held, said = _case(jobs[name], place, rng)
        most_s, most_bytes = max(most_s, spent_s), max(most_bytes, held)
        is_crash = code < 0 and code != -signal.SIGKILL
        if is_crash:
            crashes[signal.Signals(-code).name] += 1
            print(f"case {n_cases} {name} (seed {seed}): isolated {said.strip()}", flush=True)
        fault = said if code and not is_crash else ""
        fault = fault or (f"took {spent_s:.0f} s" if spent_s > MOST_S else "")
        fault = fault or (f"held {held >> 20} MiB" if held > MOST_BYTES else "")
        if fault:
            lines = fault.strip().splitlines()
            key = " | ".join(line.strip() for line in lines[-5:])[:600]
            faults[key] += 1
            if faults[key] == 1:
                print(f"case {n_cases} {name} (seed {seed}): {key}", flush=True)
        n_cases += 1
    print(
        f"{n_cases} damaged inputs of {len(names)} kinds, {sum(faults.values())} with faults of "
        f"{len(faults)} kinds, {crashes.total()} crashes of C libraries {dict(crashes)}; longest "
        f"{most_s:.1f} s, most memory {most_bytes >> 20} MiB"
    )
    return sum(faults.values())


def _case(job: Any, place: Path, rng: random.Random) -> tuple[int, float, int, str]:
    """Run one case in a child; return (exit code, seconds, peak memory in bytes, traceback)."""
    said = place / "said.txt"
    child = os.fork()
    if child == 0:
        _run(job, place, rng, said)
    began = time.monotonic()
    held = 0
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            spent_s = time.monotonic() - began
            code = os.waitstatus_to_exitcode(status)
            text = said.read_text("utf-8", "replace") if said.exists() else ""
            if not text and code:
                text = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return code, spent_s, held, text if code not in (0, -signal.SIGKILL) else ""
        held = max(held, held_bytes(child) or 0)
        if time.monotonic() - began > MOST_S + 1.0 or held > 2 * MOST_BYTES:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.005)


def _run(job: Any, place: Path, rng: random.Random, said: Path) -> None:
    from syncaudit.errors import SyncAuditError

    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**32, 2**32))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        what, act = job(place / "in", rng)
        try:
            act()
            code = 0
        except SyncAuditError:
            code = 0
        except BaseException:  # noqa: BLE001  # what is looked for
            said.write_text(f"{what}\n{traceback.format_exc()}")
    except BaseException:  # noqa: BLE001
        said.write_text(f"the benchmark failed\n{traceback.format_exc()}")
    finally:
        os._exit(code)
