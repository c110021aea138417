"""Verdict rows, summaries and recordings in the documented format, for tests of the report page."""

import json
import re

from syncaudit.model import ClipVerdict, Verdict
from syncaudit.report import write_report
from testkit.fake_audits import AT_NS, make_clip, verdict_for

TOLERANCES_S = {"cam_rear": 0.01, "imu": 0.005}


def row(clip_id, verdict=Verdict.PASS, **options):
    return verdict_for(make_clip(clip_id), verdict, **options).to_json()


def measured(clip_id, verdict=Verdict.PASS, *, span_s=20.0, **options):
    """Return the row of a fully measured clip of length `span_s`."""
    record = {"at_ns": AT_NS, "span_s": span_s, "max_offset_s": 2.0}
    return row(clip_id, verdict, **options) | {"record": record}


def drifting(n, recording_id="drive", *, drift_s=0.001):
    """Return rows of one recording's clips, whose rear camera drifts by `drift_s` per clip."""
    rows = []
    for k in range(n):
        data = row(f"{recording_id}/{k}", Verdict.REJECT, offset_s=0.02 + drift_s * k)
        pooled = {"offset_s": 0.02 + drift_s * k, "offset_std_s": 1e-4}
        data["sources"]["cam_rear"]["recording"] = pooled | {"drift_ppm": 50, "drift_std_ppm": 1}
        rows.append(data | {"recording_id": recording_id, "at_ns": AT_NS + k * 20_000_000_000})
    return rows


def recording(recording_id="drive", *, clips=5, steps=()):
    course = {
        "at_ns": AT_NS,
        "offset_s": 0.022,
        "offset_std_s": 1e-4,
        "offset_first_s": 0.02,
        "offset_last_s": 0.024,
        "span_s": 80.0,
        "clips_measured": clips,
        "drift_ppm": 50.0,
        "drift_std_ppm": 1.0,
        "drift_ms_per_h": 180.0,
        "drift_std_ms_per_h": 3.6,
        "wander_ms_per_root_h": 0.31,
    }
    return {
        "recording_id": recording_id,
        "clips": clips,
        "pass": 0,
        "reject": clips,
        "unverified": 0,
        "reference": "imu",
        "clocks": {
            "imu": course | {"sources": ["imu"], "steps": []},
            "cam_rear": course | {"sources": ["cam_rear"], "steps": list(steps)},
        },
    }


def summary_of(n, **more):
    clips = {"total": n, "done": n, "reused": 0}
    versions = {"syncaudit": "0.1.0"}
    return {"clips": clips, "versions": versions, "tolerances_s": TOLERANCES_S} | more


def write(path, rows, *, pictures=None, **more):
    """Write the page of `rows` and return its text."""
    write_report(
        map(ClipVerdict.from_row, rows), summary_of(len(rows), **more), path, thumbnails=pictures
    )
    return path.read_text(encoding="utf-8")


def table_of(page):
    """Return the columns of the clip table."""
    return json.loads(re.search(r'id="clip-data">(.*?)</script>', page, re.DOTALL)[1])
