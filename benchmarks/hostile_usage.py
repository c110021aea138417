"""Hostile policies, calibrations, rules and manifests, and unusable locations."""

# ruff: noqa: ARG005, E501  # tables of cases read best on a line

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Prepare = Callable[[Path], list[str]]
_ROW = {"clip_id": "a", "sources": {"imu": {"kind": "imu", "uri": "imu.csv"}}}
_IMU = "timestamp_ns,gyro_x\n" + "".join(f"{k * 10_000_000},{k % 7}\n" for k in range(99))
_ODD: tuple[Any, ...] = (None, True, -1, 10**30, 1e308, "x", [], {}, [[]])


def _clip(folder: Path) -> str:
    (folder / "imu.csv").write_text(_IMU)
    (folder / "m.jsonl").write_text(json.dumps(_ROW))
    return str(folder / "m.jsonl")


def _with(option: str, name: str, content: bytes | None) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        manifest = _clip(folder)
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)
        return [
            "validate",
            manifest,
            "--out",
            "{out}",
            "--workers",
            "0",
            option,
            str(folder / name),
        ]

    return prepare


def _calibrations() -> Iterator[tuple[str, Prepare]]:
    good = {"version": 1, "reference": "imu", "sources": {"imu": {"offset_s": 0.1}}}
    for key in ("version", "reference", "sources", "at_ns"):
        for value in _ODD:
            content = json.dumps(good | {key: value}).encode()
            yield f"{key} {value!r:.20}", _with("--calibration", "c.json", content)
    for key in ("offset_s", "drift_ppm", "at_ns"):
        for value in _ODD:
            sources = {"imu": {"offset_s": 0.1, key: value}}
            content = json.dumps(good | {"sources": sources}).encode()
            yield f"imu.{key} {value!r:.20}", _with("--calibration", "c.json", content)
    for content in (b"", b"{", b"[" * 99999, b"\xff", None, b"7", b'{"version": 1, "sources": {"b": '
                    b'{"offset_s": 1}}}'):  # fmt: skip
        yield f"file {content!r:.20}", _with("--calibration", "c.json", content)


def _texts() -> Iterator[tuple[str, Prepare]]:
    for content in (b"", b"{", b"[" * 99999, b"\xff", None, b"a.b.c = 1\n" * 9, b"max_offset_s = 1e999",
                    b"a = " + b"[" * 9999, b"." * 60000, b"profile = 7", b"max_offset_s = -1",
                    b"max_offset_s = 1e308", b"extends = \"/etc/passwd\""):  # fmt: skip
        yield f"policy {content!r:.20}", _with("--policy", "p.toml", content)
        yield f"rules {content!r:.20}", _with("--rules", "r.toml", content)


def _manifests() -> Iterator[tuple[str, Prepare]]:
    def of(content: bytes, name: str = "m.jsonl") -> Prepare:
        def prepare(folder: Path) -> list[str]:
            (folder / name).write_bytes(content)
            return ["validate", str(folder / name), "--out", "{out}", "--workers", "0"]

        return prepare

    for content in (b"", b"\0" * 9999, b"[" * 10**6, b"{" * 10**6, b'{"clip_id": ' * 10**5, b"PAR1",
                    b"1" * 10**6, b"\xff\xfe", b"null", b"PAR1" + bytes(999) + b"PAR1",
                    b'{"clip_id": "' + b"a" * 10**7 + b'", "sources": {}}'):  # fmt: skip
        yield f"jsonl {content[:12]!r} {len(content)}", of(content)
        yield f"parquet {content[:12]!r} {len(content)}", of(content, "m.parquet")
    for name in ("a\nb", "a\x1b[2Jb", "a\u202eb", "", " ", "../../x", "a" * 10**5, "\ud83d", "<b>"):
        yield f"clip id {name[:9]!r}", of(json.dumps(_ROW | {"clip_id": name}).encode())
        row = _ROW | {"sources": {name: _ROW["sources"]["imu"]}}
        yield f"source name {name[:9]!r}", of(json.dumps(row).encode())
        yield f"recording {name[:9]!r}", of(json.dumps(_ROW | {"recording_id": name}).encode())
    for key in ("start_ns", "end_ns", "reference", "origin", "sources"):
        for value in _ODD:
            yield f"{key} {value!r:.20}", of(json.dumps(_ROW | {key: value}).encode())
    origin = {"dataset": "a", "episode_index": 0, "total_episodes": 10**7}
    yield "ten million episodes", of(json.dumps(_ROW | {"origin": origin}).encode())


def _places() -> Iterator[tuple[str, Prepare]]:
    def to(out: str, *options: str) -> Prepare:
        return lambda folder: ["validate", _clip(folder), "--out", out, "--workers", "0", *options]

    for out in ("{out}/" + "x" * 300, "/proc/x", "/dev/null", "/dev/null/x",
                "ftp://127.0.0.1:9/x", "nosuch://x"):  # fmt: skip
        yield f"out {out[:20]!r}", to(out)
    for option in ("--junit", "--sarif"):
        for place in ("/proc/x", "/dev/null/x", "/", "{out}"):
            yield f"{option} {place}", to("{out}", option, place)

    def fifo(folder: Path) -> list[str]:
        os.mkfifo(folder / "m.jsonl")
        return ["validate", str(folder / "m.jsonl"), "--out", "{out}"]

    def cycle(folder: Path) -> list[str]:
        (folder / "a").symlink_to("b")
        (folder / "b").symlink_to("a")
        return ["validate", str(folder / "a"), "--out", "{out}"]

    yield "manifest is a fifo", fifo
    yield "manifest is a circle of links", cycle
    for name in ("/dev/zero", "/proc/self/mem", "/", "/dev/null", "/etc/shadow", "x" * 5000, "a\0b",
                 "http://127.0.0.1:9/m.jsonl", "reference://x", "::", "tar://a::b", "s3://"):  # fmt: skip
        yield (
            f"manifest {name[:20]!r}",
            lambda folder, name=name: ["validate", name, "--out", "{out}"],
        )
        yield f"data set {name[:20]!r}", lambda folder, name=name: [
            "manifest", "auto", name, "--out", "{out}/m.jsonl"
        ]  # fmt: skip


USAGE = {
    f"{part}: {name}": prepare
    for part, cases in (
        ("calibration", _calibrations()),
        ("toml", _texts()),
        ("manifest", _manifests()),
        ("place", _places()),
    )
    for name, prepare in cases
}
