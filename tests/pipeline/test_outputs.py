"""Real verdicts in the files that programs read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import syncaudit
from syncaudit.batch import run_batch
from syncaudit.batch.tables import verdict_schema, write_parquet
from syncaudit.datasets import clip_to_row
from syncaudit.model import Clip, ClipVerdict
from syncaudit.policy import load_policy
from syncaudit.simulate import read_truth
from testkit.json_lines import read_json_lines, read_verdicts
from testkit.places import SAMPLE_DATA
from testkit.sample_audits import audited_sample

EXPECTED = json.loads((SAMPLE_DATA / "expected_verdicts.json").read_text())


def filled(value: object, like: object) -> object:
    """Return a Parquet value in its JSON form: maps as objects, absent optional keys dropped."""
    if isinstance(like, dict):
        if isinstance(value, str):  # the record
            value = json.loads(value)
        pairs = dict(value) if isinstance(value, list) else value
        assert isinstance(pairs, dict)
        assert {key for key, item in pairs.items() if item is not None} <= like.keys()
        return {key: filled(pairs[key], item) for key, item in like.items()}
    if isinstance(like, list):
        assert isinstance(value, list)
        return [filled(a, b) for a, b in zip(value, like, strict=True)]
    return value


def test_parquet_holds_what_json_holds(healthy: ClipVerdict, tmp_path: Path) -> None:
    first, *others = healthy.pairs
    stepped = replace(first, step_s=0.06, step_std_s=0.001, step_at_ns=first.at_ns)
    step = replace(healthy, pairs=(stepped, *others), about={"vehicle": "7"})
    verdicts = [{**v.to_json(), "fingerprint": "f"} for v in (healthy, step)]
    write_parquet(verdicts, tmp_path / "v.parquet")
    table = pq.read_table(tmp_path / "v.parquet")
    assert table.schema.equals(verdict_schema())
    assert [filled(a, b) for a, b in zip(table.to_pylist(), verdicts, strict=True)] == verdicts


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory, original: Path) -> list[Clip]:
    """Return three clips that share videos: good, without video, with a damaged table."""
    folder = tmp_path_factory.mktemp("three")
    row = json.loads((original / "manifest.jsonl").read_text())
    for source in row["sources"].values():
        for key in ("uri", "timestamps"):
            if key in source:
                source[key] = str(original / source[key])
    few = {name: row["sources"][name] for name in ("cam_rear", "imu")}
    no_video = json.loads(json.dumps(row | {"clip_id": "no_video", "sources": few}))
    no_video["sources"]["cam_rear"]["uri"] = "nowhere.mp4"
    damaged = json.loads(json.dumps(row | {"clip_id": "damaged", "sources": few}))
    (folder / "imu.csv").write_text("timestamp_ns,gyro_x\n1,two\n")
    damaged["sources"]["imu"]["uri"] = "imu.csv"
    lines = [json.dumps(r) for r in (row, no_video, damaged)]
    (folder / "manifest.jsonl").write_text("\n".join(lines) + "\n")
    return syncaudit.load_manifest(str(folder / "manifest.jsonl"))


def test_workers_change_nothing(clips: list[Clip], tmp_path: Path) -> None:
    found = []
    for workers in (0, 2):
        out = tmp_path / f"out{workers}"
        summary = run_batch(clips, load_policy(), out=out, workers=workers, to_row=clip_to_row)
        assert summary.counts == {"pass": 1, "reject": 2, "unverified": 0}
        found.append(read_verdicts(out))
        assert read_json_lines(out / "passed.jsonl")
        page = (out / "report.html").read_text()
        # The damaged clip has one camera, and no_video nothing to show.
        assert page.count("data:image/jpeg") == 1
    assert found[0] == found[1]
    # A clip that passed can be audited again from its present location.
    (again,) = syncaudit.load_manifest(str(tmp_path / "out0" / "passed.jsonl"))
    assert syncaudit.audit(again).verdict is syncaudit.Verdict.PASS


@pytest.mark.parametrize("clip_id", EXPECTED)
def test_sample_data_gets_the_verdicts_it_should(clip_id: str) -> None:
    verdict = audited_sample(clip_id)
    expected = EXPECTED[clip_id]
    found = [(str(reason.code), reason.source) for reason in verdict.reasons]
    assert str(verdict.verdict) == expected["verdict"]
    if expected["code"] is not None:
        assert found == [(expected["code"], expected["source"])]
    truth = read_truth(SAMPLE_DATA)[clip_id]
    reference = truth.sources.get(verdict.reference or "")
    for name, source in verdict.sources.items():
        if source.offset_s is None or source.timing is None or reference is None:
            continue
        known = truth.sources[name]
        if known.drift_ppm or known.steps or known.defect:
            continue
        apart_s = source.offset_s - (known.offset_s - reference.offset_s)
        # Three standard errors, and the bus latency of 0.1 ms that truth does not include.
        assert abs(apart_s) < 3.0 * (source.offset_std_s or 0.0) + 1e-4, name


def test_public_names_are_there_and_lazy() -> None:
    for name in syncaudit.__all__:
        assert getattr(syncaudit, name) is not None
    assert set(syncaudit.__all__) <= set(dir(syncaudit))
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        syncaudit.nope  # noqa: B018  # the access is the test
