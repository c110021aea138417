"""Damaged inputs of every kind: each must end in a verdict or a clean usage error."""

# ruff: noqa: ARG005  # damages share one signature

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import tests_on_path  # noqa: F401  # before testkit
from batch_base import TARGETS, Target, write_base
from batch_clips import write_rows
from batch_damage import BYTES, PARQUET, ROWS, TEXT, array_damage
from batch_kinds import BOXES, PICTURES, RULES, STATES, STORED, VIDEOS, wave_of_floats
from batch_runs import rows_of

from syncaudit.batch import run_batch
from syncaudit.batch.episodes import episode_lists
from syncaudit.batch.pool import Lost, map_isolated
from syncaudit.cli.inputs import load_rules
from syncaudit.datasets import clip_to_row, load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.errors import SyncAuditError
from syncaudit.pipeline import audit
from syncaudit.policy import load_policy

_TIMEOUT_S = 120.0
_TEXT_FILES = (".csv", ".log", ".asc", ".dbc", ".textgrid", ".json", ".srt", ".vtt", ".ctm")
# Damage that depends on the content of the file.
_OWN: Mapping[str, Mapping[str, Callable[[bytes, random.Random], bytes]]] = {
    "cam.mp4": {**BOXES, **VIDEOS},
    "joints.parquet": STATES,
    "images/002.png": PICTURES,
    "stills.parquet": STORED,
    "mic.wav": {f"floats {k}": wave_of_floats for k in range(6)},
}
_IMU = {"imu": {"kind": "imu", "uri": "imu.csv"}}


def fuzz(
    folder: Path, *, n_clips: int, n_rows: int, n_imports: int, workers: int, seed: int
) -> dict[str, Any]:
    """Audit damaged clips, load damaged manifest rows and import damaged data sets."""
    rng = random.Random(seed)  # noqa: S311  # damage, not secrets
    base = folder / "base"
    base.mkdir()
    write_base(base)
    return {
        "clips": _clips(folder, base, n_clips, workers, rng),
        "rows": _rows(folder, base, n_rows, workers),
        "imports": _imports(folder, n_imports, workers, seed),
        "rules": _rules(folder, workers),
    }


def _clips(
    folder: Path, base: Path, n_clips: int, workers: int, rng: random.Random
) -> dict[str, Any]:
    place = folder / "clips"
    place.mkdir()
    damages = {}
    for target in TARGETS:
        found = _damages(target.file, base)
        damages[target.file] = cycle(rng.sample(found, len(found)))
    about: dict[str, tuple[str, str]] = {}

    def rows() -> Iterator[Mapping[str, Any]]:
        for k, target in zip(range(n_clips), cycle(TARGETS), strict=False):
            name, damage = next(damages[target.file])
            clip = f"{k:04d}"
            _link(base, place / clip, target)
            data = damage((base / target.file).read_bytes(), rng)
            (place / clip / target.file).unlink(missing_ok=True)
            (place / clip / target.file).write_bytes(data)
            about[clip] = (target.file, name)
            sources = {
                source: {
                    key: f"{clip}/{value}" if key in ("uri", "timestamps", "dbc") else value
                    for key, value in spec.items()
                }
                for source, spec in {**_IMU, **target.sources}.items()
            }
            # Three clips share a recording, so that odd values are pooled as well.
            yield {"clip_id": clip, "recording_id": f"r{k // 3}", "sources": sources}

    manifest = write_rows(place / "manifest.jsonl", rows())
    run_batch(
        load_manifest(str(manifest)),
        load_policy(None),
        out=folder / "out",
        workers=workers,
        timeout_s=_TIMEOUT_S,
        to_row=clip_to_row,
    )
    table: dict[str, Counter[str]] = {}
    faults = []
    verdicts = rows_of(folder / "out")
    for row in verdicts:
        file, damage = about[row["clip_id"]]
        codes = {reason["code"] for reason in row["reasons"]}
        table.setdefault(Path(file).name, Counter()).update(codes or {row["verdict"]})
        text = " ".join(reason["message"] for reason in row["reasons"])
        if "timeout" in codes or "defect of syncaudit" in text or "without an answer" in text:
            faults.append({"clip": row["clip_id"], "file": file, "damage": damage, "said": text})
    log = folder / "out" / "errors.log"
    return {
        "inputs": n_clips,
        "verdicts": len(verdicts),
        "faults": faults,
        "log": log.read_text(encoding="utf-8") if log.exists() else "",
        "codes": table,
    }


def _damages(file: str, base: Path) -> list[tuple[str, Callable[..., bytes]]]:
    suffix = Path(file).suffix
    found = list(BYTES.items())
    if suffix in _TEXT_FILES:
        found += TEXT.items()
    if suffix == ".parquet":
        found += PARQUET.items()
    if suffix == ".npy":
        found += [(f"other array {k}", array_damage) for k in range(8)]
    found += _OWN.get(file, {}).items()
    others = ("cam.mp4", "imu.csv", "imu.parquet", "mic.wav", "can.blf", "words.textgrid")
    found += [
        (f"is {other}", lambda data, rng, other=other: (base / other).read_bytes())
        for other in others
        if other != file
    ]
    return found


def _link(base: Path, place: Path, target: Target) -> None:
    for name in {"imu.csv", target.file, *target.others}:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(base / name, place / name)


def _rows(folder: Path, base: Path, n_rows: int, workers: int) -> dict[str, Any]:
    place = folder / "rows"
    place.mkdir()
    os.link(base / "imu.csv", place / "imu.csv")
    row = {"clip_id": "a", "sources": dict(_IMU)}
    tasks = []
    for k, damage in zip(range(n_rows), cycle(ROWS), strict=False):
        tasks.append(place / f"{k:03d}.jsonl")
        tasks[-1].write_bytes(damage(row) + b"\n")
    return _tried(_load_and_audit, tasks, workers)


def _imports(folder: Path, n_imports: int, workers: int, seed: int) -> dict[str, Any]:
    tasks = [_Damaged(folder=folder / "imports" / f"{k:03d}", number=k, seed=seed)
             for k in range(n_imports)]  # fmt: skip
    return _tried(_import_and_audit, tasks, workers)


def _rules(folder: Path, workers: int) -> dict[str, Any]:
    """Import a folder with rules that are wrong in some way."""
    from testkit.data_sets.plain_folder import write_plain_folder

    source = write_plain_folder(folder / "plain", 1)
    tasks = []
    for k, (suffix, content) in enumerate(RULES):
        place = folder / f"rules{k}{suffix}"
        place.write_bytes(content)
        tasks.append((source, place))
    return _tried(_import_by, tasks, workers)


def _import_by(task: tuple[Path, Path]) -> list[str]:
    source, place = task
    out = place.with_suffix("") / "m.jsonl"
    try:
        import_dataset(str(source), out, format_name="folder", rules=load_rules(place))
    except SyncAuditError:
        return ["import refused"]
    except Exception as error:  # noqa: BLE001  # what is looked for
        return [f"DEFECT importing by {place.read_bytes()[:80]!r}: {error!r}"]
    return _load_and_audit(out)


def _tried(function: Callable[[Any], list[str]], tasks: list[Any], workers: int) -> dict[str, Any]:
    codes: Counter[str] = Counter()
    faults = []
    for index, value in map_isolated(function, tasks, workers=workers, timeout_s=_TIMEOUT_S):
        if isinstance(value, Lost):
            faults.append(f"{tasks[index]}: {value}")
        else:
            codes.update(value)
            faults += [f"{tasks[index]}: {each}" for each in value if each.startswith("DEFECT")]
    return {"inputs": len(tasks), "faults": faults, "codes": codes}


def _load_and_audit(manifest: Path) -> list[str]:
    """Return the reason codes of a manifest's clips, or that it was refused."""
    try:
        clips = load_manifest(str(manifest))
    except SyncAuditError:
        return ["usage error"]
    except Exception as error:  # noqa: BLE001  # what is looked for
        return [f"DEFECT loading: {error!r}"]
    try:
        json.dumps(episode_lists(clips, lambda _: "pass"), allow_nan=False)
        for clip in clips:
            json.dumps(clip_to_row(clip, relative_to=str(manifest.parent)), allow_nan=False)
    except Exception as error:  # noqa: BLE001
        return [f"DEFECT writing rows: {error!r}"]
    found = []
    for clip in clips:
        try:
            verdict = audit(clip)
            json.dumps(verdict.to_json(), allow_nan=False)
        except SyncAuditError:
            found.append("input error")
        except Exception as error:  # noqa: BLE001
            found.append(f"DEFECT auditing: {error!r}")
        else:
            found += {str(reason.code) for reason in verdict.reasons} or {str(verdict.verdict)}
    return found or ["no clip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Damaged:
    """A data set in which one file is damaged."""

    folder: Path
    number: int
    seed: int


def _import_and_audit(task: _Damaged) -> list[str]:
    """Write a data set, damage one of its files, import it and audit it."""
    from testkit.data_sets.examples import EXAMPLES

    rng = random.Random(f"{task.seed} {task.number}")  # noqa: S311
    names = sorted(EXAMPLES)
    name = names[task.number % len(names)]
    source = EXAMPLES[name].write(task.folder, 2)
    files = sorted(path for path in source.rglob("*") if path.is_file())
    files = [source] if source.is_file() else files
    victim = rng.choice(files)
    damages = dict(BYTES)
    if victim.suffix in (".json", ".jsonl", ".csv", ".yaml", ".txt", ".log"):
        damages |= TEXT
    if victim.suffix == ".parquet":
        damages |= PARQUET
    what = rng.choice(sorted(damages))
    victim.write_bytes(damages[what](victim.read_bytes(), rng))
    about = f"{name}: {victim.name} {what}"
    out = task.folder / "out" / "m.jsonl"
    try:
        import_dataset(str(source), out, format_name=name)
    except SyncAuditError:
        return ["import refused"]
    except Exception as error:  # noqa: BLE001  # what is looked for
        return [f"DEFECT importing {about}: {error!r}"]
    return [f"{code} ({about})" if "DEFECT" in code else code for code in _load_and_audit(out)]
