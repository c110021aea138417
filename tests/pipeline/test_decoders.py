"""Another decoder changes no verdict; row and summary report where the CPU took over."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from syncaudit.batch import run_batch
from syncaudit.decode import nvdec
from syncaudit.decode.nvdec import NvdecDecoder
from syncaudit.decode.samples import SAMPLES
from syncaudit.decode.torchcodec_planes import TorchcodecDecoder
from syncaudit.pipeline.evidence import CAMERAS_AT_ONCE
from syncaudit.policy import load_policy
from testkit import fake_nvvideocodec as fake

Figures = Callable[[Any], dict[str, Any]]


def test_torchcodec_gives_the_same_row(clip: Any, healthy: Any, figures: Figures) -> None:
    why = TorchcodecDecoder().probe()
    if why is not None:
        pytest.skip(why)
    verdict = clip.audit(decoder="torchcodec")
    assert verdict.record.fallbacks == {}
    assert figures(verdict) == figures(healthy)


@pytest.mark.parametrize("is_on_device", [False, True])
def test_nvdec_gives_the_same_row_and_makes_no_decoder_for_every_clip(
    clip: Any,
    healthy: Any,
    figures: Figures,
    monkeypatch: pytest.MonkeyPatch,
    is_on_device: bool,
) -> None:
    torch = pytest.importorskip("torch") if is_on_device else None
    on_gpu = fake.torch_on_gpu(torch) if is_on_device else None
    monkeypatch.setitem(sys.modules, "PyNvVideoCodec", fake)
    monkeypatch.setattr(NvdecDecoder, "_agreement", None)
    monkeypatch.setattr(NvdecDecoder, "_torch", None)
    monkeypatch.setattr(NvdecDecoder, "_idle", nvdec._IdleSessions())
    monkeypatch.setattr(nvdec, "_torch_on_gpu", lambda: on_gpu)
    nvdec._capabilities.cache_clear()
    fake.Faults.clear()
    for _ in range(6):
        verdict = clip.audit(decoder="nvdec")
        assert verdict.record.fallbacks == {}
        assert figures(verdict) == figures(healthy)
    assert fake.Faults.n_created <= len(SAMPLES) + CAMERAS_AT_ONCE
    assert all(name.startswith("camera") for name in fake.Faults.threads)
    nvdec._capabilities.cache_clear()


def test_the_cpu_takes_over_and_that_is_told(
    clip: Any, healthy: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PyNvVideoCodec", None)
    monkeypatch.setattr(NvdecDecoder, "_agreement", None)
    summary = run_batch(
        [clip.clip], load_policy(), out=tmp_path / "out", workers=0, settings={"decoder": "nvdec"}
    )
    (verdict,) = summary.verdicts()
    assert verdict.record is not None
    fallbacks = verdict.record.fallbacks
    assert sorted(fallbacks) == ["cam_front", "cam_rear"]
    assert all(why.startswith("nvdec: PyNvVideoCodec cannot be") for why in fallbacks.values())
    assert list(summary.to_json()["fallbacks"].values()) == [2]  # type: ignore[attr-defined]
    assert verdict.verdict is healthy.verdict
    # After judging again by another policy, the row still reports it.
    again = run_batch(
        [clip.clip],
        load_policy(None, profile="strict"),
        out=tmp_path / "out",
        workers=0,
        settings={"decoder": "nvdec"},
    )
    assert again.about["judged_again"] == 1
    assert sum(again.tally.fallbacks.values()) == 2
