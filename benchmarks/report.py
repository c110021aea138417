"""Time, memory and size of ``report.html`` over synthetic verdict rows.

Rows are made as the audit writes them (about 6 kB each): six cameras, an IMU and a CAN bus, a third
of the clips rejected for offsets, drift and damaged files, recordings of 50 clips. They are written
to a file first; parsing alone is timed as well as the whole report, and the memory is the growth of
a fresh process caused by the report.
If Chromium and Playwright are available, the page is opened as well.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from base_clips import OUT
from tables import print_table, write_json

from syncaudit.batch.summary import MAX_RECORDINGS, Tally
from syncaudit.batch.verdict_lines import verdict_at
from syncaudit.model import ClipVerdict
from syncaudit.report import write_report

CAMERAS = ("front", "front_left", "front_right", "rear", "rear_left", "rear_right")
CLIPS_A_RECORDING = 50
START_NS = 1_767_225_600_000_000_000
TOLERANCES_S = {f"cam_{name}": 0.01 for name in CAMERAS} | {"imu": 0.005, "can": 0.02}


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000,100000", help="clips, separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=OUT / "report")
    parser.add_argument("--out", type=Path, default=OUT / "report.json")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = [_measure(int(n), options.seed, options.folder) for n in options.sizes.split(",")]
    print_table(
        "report.html over synthetic verdict rows",
        ("clips", "rows MB", "parsing s", "report s", "grows MB", "page MB", "opens s", "elements"),
        [tuple(result.values()) for result in results],
    )
    write_json(options.out, {"benchmark": "report", "seed": options.seed, "runs": results})
    return 0


def _measure(n: int, seed: int, folder: Path) -> dict[str, Any]:
    rows, page = folder / f"verdicts-{n}.jsonl", folder / f"report-{n}.html"
    tally = Tally()
    with rows.open("w", encoding="utf-8") as file:
        for row in synthetic_rows(n, seed):
            tally.add(ClipVerdict.from_row(row))
            file.write(json.dumps(row) + "\n")
    summary = _summary(n, tally)
    del tally
    # In a separate process: its peak is that of the report alone.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        figures = pool.apply(_write, (rows, summary, page))
    opened_s, elements = _open(page)
    return {
        "clips": n,
        "rows_mb": rows.stat().st_size / 1e6,
        **figures,
        "page_mb": page.stat().st_size / 1e6,
        "opens_s": opened_s,
        "elements": elements,
    }


def _write(rows: Path, summary: dict[str, Any], page: Path) -> dict[str, float]:
    """Parse the rows alone, then write the page; return seconds and the growth of memory."""
    began = time.perf_counter()
    with rows.open(encoding="utf-8") as file:
        for line in file:
            json.loads(line)
    parsed_s, before_mb = time.perf_counter() - began, _peak_mb()
    began = time.perf_counter()
    with rows.open(encoding="utf-8") as file:
        write_report(map(verdict_at, file), summary, page)
    spent_s = time.perf_counter() - began
    return {"parsing_s": parsed_s, "report_s": spent_s, "grown_mb": _peak_mb() - before_mb}


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def _open(page: Path) -> tuple[float | None, int | None]:
    """Return the seconds until the clip table appears, and the number of elements of the page."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None, None
    if chromium is None:
        return None, None
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        began = time.perf_counter()
        tab.goto(page.resolve().as_uri())
        tab.wait_for_selector("#clip-table tbody tr")
        opened_s = time.perf_counter() - began
        elements = tab.evaluate("document.querySelectorAll('*').length")
        browser.close()
    return opened_s, int(elements)


def synthetic_rows(n: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield rows of ``verdicts.jsonl`` of `n` made-up clips."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        yield _row(k, rng)


def _row(k: int, rng: np.random.Generator) -> dict[str, Any]:
    recording, place = divmod(k, CLIPS_A_RECORDING)
    late_s = 0.133 if recording % 7 == 3 else 0.0  # a camera with a separate pipeline
    drift = 40.0 * np.sin(recording)  # ppm, of the rear camera
    course_s = drift * 1e-6 * 20.0 * (place - CLIPS_A_RECORDING / 2)
    sources: dict[str, Any] = {}
    reasons: list[dict[str, Any]] = []
    for name in TOLERANCES_S:
        std_s = float(rng.uniform(2e-4, 8e-4))
        true_s = {"cam_rear": course_s, "cam_front_left": late_s}.get(name, 0.0)
        sources[name] = _source(name, true_s + std_s * float(rng.standard_normal()), std_s, rng)
        _judge(name, sources[name], reasons)
        sources[name]["recording"] = {
            "offset_s": true_s,
            "offset_std_s": 1e-4,
            "drift_ppm": drift if name == "cam_rear" else 0.0,
            "drift_std_ppm": 1.5,
        }
    fault = rng.random()
    if fault < 0.01:
        reasons.append(_reason("corrupt", "cam_rear_left", "cam_rear_left.mp4 breaks off", None))
        sources["cam_rear_left"] |= {"verdict": "reject", "observable": False, "offset_s": None}
    elif fault < 0.06:
        for source in sources.values():
            source |= {"verdict": "unverified", "observable": False, "offset_s": None}
        text = "no motion is visible to both"
        reasons = [_reason("unobservable", name, text, None) for name in ("cam_front", "imu")]
    verdicts = {source["verdict"] for source in sources.values()}
    verdict = next((v for v in ("reject", "unverified") if v in verdicts), "pass")
    return {
        "clip_id": f"drive{recording:05d}/clip_{k:07d}",
        "recording_id": f"drive{recording:05d}",
        "verdict": verdict,
        "reasons": reasons,
        "reference": "imu",
        "at_ns": START_NS + (20 * place + 10) * 1_000_000_000,
        "sources": sources,
        "pairs": [_pair(name, source) for name, source in sources.items() if name != "imu"],
        "warnings": [],
        "seconds": 1.9,
        "stages": {"read": 0.1, "stamps": 0.01, "decode": 0.5, "detect": 0.8, "estimate": 0.49},
        "record": {"at_ns": START_NS, "span_s": 20.0, "max_offset_s": 2.0},
    }


def _source(name: str, offset_s: float, std_s: float, rng: np.random.Generator) -> dict[str, Any]:
    kind = "camera" if name.startswith("cam") else name
    rate = {"camera": 12.0, "imu": 100.0, "can": 50.0}[kind]
    lost = int(rng.poisson(0.05))
    is_reference = name == "imu"
    return {
        "verdict": "pass",
        "kind": kind,
        "clock": name,
        "offset_s": 0.0 if is_reference else offset_s,
        "offset_std_s": 0.0 if is_reference else std_s,
        "drift_ppm": None,
        "drift_std_ppm": None,
        "observable": True,
        "timing": {
            "samples": int(20 * rate),
            "rate_hz": rate,
            "jitter_s": float(abs(rng.normal(4e-4, 1e-4))),
            "jitter_max_s": 2e-3,
            "buffering_s": float(rng.exponential(2e-3)) if kind == "camera" else None,
            "clock_fit": "hull",
            "gaps": int(lost > 0),
            "max_gap_s": (1 + lost) / rate,
            "duplicates": 0,
            "backwards": 0,
            "missing": lost,
            "doubled": int(rng.poisson(0.01)),
            "steps": [],
            "is_synthetic": name == "cam_rear_right" and bool(rng.random() < 0.1),
            "arrival": None,
        },
    }


def _judge(name: str, source: dict[str, Any], reasons: list[dict[str, Any]]) -> None:
    limit, offset_s = TOLERANCES_S[name], source["offset_s"]
    if abs(offset_s) > limit:
        source["verdict"] = "reject"
        side = "early" if offset_s > 0 else "late"
        text = f"{name} is {abs(offset_s) * 1e3:.1f} ± 0.5 ms {side}; limit {limit * 1e3:g} ms"
        reasons.append(_reason("offset", name, text, offset_s, limit))


def _reason(
    code: str, source: str, message: str, value: float | None, limit: float | None = None
) -> dict[str, Any]:
    return {"code": code, "source": source, "message": message, "value": value, "limit": limit}


def _pair(name: str, source: dict[str, Any]) -> dict[str, Any]:
    return {
        "source": name,
        "target": "imu",
        "method": "rotation",
        "offset_s": source["offset_s"],
        "offset_std_s": source["offset_std_s"],
        "accepted": source["observable"],
        "why": None if source["observable"] else "no motion is visible to both",
        "is_baseline_only": False,
        "diagnostics": {"rows": 238.0, "gain": 0.98, "explained": 0.99, "runner_up": 84.9},
    }


def _summary(n: int, tally: Tally) -> dict[str, Any]:
    recordings = [_recording(k) for k in range(min(n // CLIPS_A_RECORDING, MAX_RECORDINGS))]
    recordings.sort(key=lambda recording: -recording["reject"])
    return {
        "clips": {"total": n, "done": n, "reused": 0},
        "manifest": "synthetic.jsonl",
        "tolerances_s": TOLERANCES_S,
        "recordings": recordings,
        "stages_s": tally.stages_s,
        "wall_s": 1.9 * n / 64,
        "workers": 64,
    }


def _recording(k: int) -> dict[str, Any]:
    drift = 40.0 * float(np.sin(k))
    span_s = 20.0 * (CLIPS_A_RECORDING - 1)
    rejected = CLIPS_A_RECORDING if k % 7 == 3 else int(abs(np.sin(k)) * 24)
    clocks = {}
    for name in TOLERANCES_S:
        ppm = drift if name == "cam_rear" else 0.0
        offset_s = 0.133 if name == "cam_front_left" and k % 7 == 3 else 0.0
        clocks[name] = {
            "sources": [name],
            "at_ns": START_NS,
            "offset_s": offset_s,
            "offset_std_s": 1e-4,
            "offset_first_s": offset_s - ppm * 1e-6 * span_s / 2,
            "offset_last_s": offset_s + ppm * 1e-6 * span_s / 2,
            "span_s": span_s,
            "clips_measured": CLIPS_A_RECORDING,
            "drift_ppm": ppm,
            "drift_std_ppm": 1.5,
            "drift_ms_per_h": 3.6 * ppm,
            "drift_std_ms_per_h": 5.4,
            "wander_ms_per_root_h": 0.3,
            "steps": [],
        }
    return {
        "recording_id": f"drive{k:05d}",
        "clips": CLIPS_A_RECORDING,
        "pass": CLIPS_A_RECORDING - rejected,
        "reject": rejected,
        "unverified": 0,
        "reference": "imu",
        "clocks": clocks,
    }


if __name__ == "__main__":
    sys.exit(main())
