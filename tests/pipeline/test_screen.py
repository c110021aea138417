"""A screen looks at timestamps alone: it finds the faults visible in them, and passes nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from syncaudit.batch import run_batch
from syncaudit.datasets import clip_to_row
from syncaudit.decode import container
from syncaudit.model import ReasonCode, Verdict
from syncaudit.pipeline import camera_evidence
from syncaudit.policy import load_policy


@pytest.fixture
def no_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a screen decodes nothing")

    monkeypatch.setattr(camera_evidence, "iter_luma", refuse)


@pytest.mark.usefixtures("no_decoding")
def test_good_stamps_do_not_pass(clip: Any, healthy: Any) -> None:
    assert healthy.verdict is Verdict.PASS
    verdict = clip.audit(is_screen=True)
    assert verdict.verdict is Verdict.UNVERIFIED
    (reason,) = verdict.reasons  # reported once, not for every source again
    assert "only the timestamps were examined" in reason.message
    assert verdict.pairs == ()
    timing = {name: source.timing for name, source in verdict.sources.items()}
    assert timing == {name: source.timing for name, source in healthy.sources.items()}


@pytest.mark.usefixtures("no_decoding")
@pytest.mark.parametrize("kept", [("cam_front",), ("imu",), ("cam_front", "imu")])
def test_sources_of_one_clock_do_not_pass_either(clip: Any, kept: tuple[str, ...]) -> None:
    row = clip.keep(*kept).row
    for source in row["sources"].values():
        source["clock"] = "one"
    verdict = clip.write(row).audit(is_screen=True)
    assert verdict.verdict is Verdict.UNVERIFIED


@pytest.mark.usefixtures("no_decoding")
def test_stamps_that_run_backwards_are_rejected(clip: Any) -> None:
    clip.restamp("cam_front.csv", lambda t: np.r_[t[:40], t[39] - 200_000_000, t[41:]])
    verdict = clip.audit(is_screen=True)
    assert verdict.verdict is Verdict.REJECT
    assert ReasonCode.BACKWARDS in {reason.code for reason in verdict.reasons}
    assert any("only the timestamps" in warning.message for warning in verdict.warnings)


@pytest.mark.usefixtures("no_decoding")
@pytest.mark.parametrize("seed", range(3))
def test_damaged_boxes_are_told_as_the_demuxer_tells_them(
    clip: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Oracle: the same screen with FFmpeg's demuxer instead of the sample tables."""
    clip.keep("cam_front")
    row = clip.row
    row["sources"]["cam_front"] = {"kind": "camera", "uri": "cam_front.mp4", "start_ns": 10**18}
    clip.write(row)
    whole = (clip.path / "cam_front.mp4").read_bytes()
    movie = whole.rindex(b"moov") - 4
    rng = np.random.default_rng(seed)
    n_compared = 0
    for _ in range(40):
        damaged = bytearray(whole)
        for place in rng.integers(movie, len(whole) - 4, rng.integers(1, 4)).tolist():
            odd = int(rng.choice([0, 1, 2**31, 2**32 - 1]))
            damaged[place : place + 4] = odd.to_bytes(4, "big")
        clip.overwrite("cam_front.mp4", bytes(damaged))
        by_tables = clip.audit(is_screen=True)
        with monkeypatch.context() as patch:
            patch.setattr(container, "read_sample_table", lambda *_: None)
            by_demuxer = clip.audit(is_screen=True)
        if any(reason.code is ReasonCode.UNREADABLE for reason in by_demuxer.reasons):
            continue  # damage elsewhere in the header, which decoding would find
        n_compared += 1
        assert by_tables.reasons == by_demuxer.reasons
        assert by_tables.warnings == by_demuxer.warnings
        assert by_tables.sources == by_demuxer.sources
    assert n_compared >= 10


@pytest.mark.usefixtures("no_decoding")
def test_another_policy_lets_no_screened_clip_pass(clip: Any, tmp_path: Any) -> None:
    lenient = replace(load_policy(), required_kinds=frozenset())
    verdicts = []
    for policy in (load_policy(), lenient):
        summary = run_batch(
            [clip.clip], policy, out=tmp_path / "out", workers=0, settings={"is_screen": True}
        )
        verdicts.append(summary.counts)
    assert summary.about["judged_again"] == 1
    assert verdicts == [{"pass": 0, "reject": 0, "unverified": 1}] * 2


def test_an_audit_after_a_screen_looks_at_the_images(clip: Any, tmp_path: Any) -> None:
    clips = [clip.clip]
    options: dict[str, Any] = {"out": tmp_path / "out", "workers": 0, "to_row": clip_to_row}
    run_batch(clips, load_policy(), settings={"is_screen": True}, **options)
    summary = run_batch(clips, load_policy(), **options)
    assert summary.reused == 0
    assert summary.counts == {"pass": 1, "reject": 0, "unverified": 0}
    row = json.loads((tmp_path / "out" / "verdicts.jsonl").read_text())
    assert "only the timestamps" not in json.dumps(row)


@pytest.mark.usefixtures("no_decoding")
def test_a_recording_of_screened_clips_passes_none(another: Any, tmp_path: Any) -> None:
    clips = [
        replace(another(name).keep("cam_front", "cam_rear").clip, clip_id=name, recording_id="a")
        for name in ("one", "two", "three")
    ]
    lenient = replace(load_policy(), required_kinds=frozenset())
    summary = run_batch(
        clips, lenient, out=tmp_path / "out", workers=0, settings={"is_screen": True}
    )
    assert summary.counts == {"pass": 0, "reject": 0, "unverified": 3}
    for verdict in summary.verdicts():
        assert any("only the timestamps" in reason.message for reason in verdict.reasons)
