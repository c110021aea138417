"""Another decoder changes no verdict; where the CPU took over, the row and the summary say so."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from syncaudit.batch import run_batch
from syncaudit.decode.nvdec import NvdecDecoder
from syncaudit.decode.torchcodec_planes import TorchcodecDecoder
from syncaudit.policy import load_policy


def figures(verdict: Any) -> dict[str, Any]:
    """Return the row without times and without who decoded."""
    row = verdict.to_json()
    record = {key: value for key, value in row["record"].items() if key != "fallbacks"}
    return {**row, "record": record, "seconds": None, "stages": None}


def test_torchcodec_gives_the_same_row(clip: Any, healthy: Any) -> None:
    why = TorchcodecDecoder().probe()
    if why is not None:
        pytest.skip(why)
    verdict = clip.audit(decoder="torchcodec")
    assert verdict.record.fallbacks == {}
    assert figures(verdict) == figures(healthy)


def test_the_cpu_takes_over_and_that_is_told(
    clip: Any, healthy: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PyNvVideoCodec", None)
    monkeypatch.setattr(NvdecDecoder, "_agreement", None)
    summary = run_batch(
        [clip.clip], load_policy(), out=tmp_path / "out", workers=0, settings={"decoder": "nvdec"}
    )
    (row,) = summary.rows()
    fallbacks = row["record"]["fallbacks"]
    assert sorted(fallbacks) == ["cam_front", "cam_rear"]
    assert all(why.startswith("nvdec: PyNvVideoCodec cannot be") for why in fallbacks.values())
    assert list(summary.to_json()["fallbacks"].values()) == [2]  # type: ignore[attr-defined]
    assert row["verdict"] == str(healthy.verdict)
    # Judged again by another policy, the row still tells.
    again = run_batch(
        [clip.clip],
        load_policy(None, profile="strict"),
        out=tmp_path / "out",
        workers=0,
        settings={"decoder": "nvdec"},
    )
    assert again.about["judged_again"] == 1
    assert sum(again.tally.fallbacks.values()) == 2
