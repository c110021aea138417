"""Statements of a manifest about a camera that its flashes contradict."""

import dataclasses

import pytest

from syncaudit.datasets import load_manifest
from syncaudit.model import Severity
from syncaudit.pipeline import examine
from testkit.places import SAMPLE_DATA


def audited(names, exposure_s):
    """Audit some sources of a clip with flashes, with another stated exposure of the camera."""
    clips = load_manifest(str(SAMPLE_DATA / "manifest.jsonl"))
    clip = next(clip for clip in clips if clip.clip_id == "flashes")
    sources = {name: clip.sources[name] for name in names}
    sources["cam_front"] = dataclasses.replace(sources["cam_front"], exposure_s=exposure_s)
    verdict = examine(dataclasses.replace(clip, sources=sources)).verdict
    told = [
        each
        for each in (*verdict.reasons, *verdict.warnings)
        if "contradict the flashes" in each.message
    ]
    return verdict, told


@pytest.mark.parametrize("exposure_s", [0.008, 0.016])
def test_a_stated_exposure_that_flashes_contradict_is_told(exposure_s):
    verdict, told = audited(("cam_front", "trigger"), exposure_s)
    assert [each.source for each in told] == ["cam_front"] * (exposure_s != 0.008)
    assert all(each.severity is Severity.WARNING for each in told)  # stamped at mid-exposure
    measured = next(pair for pair in verdict.pairs if pair.accepted)
    assert abs(measured.offset_s) < 3.0 * measured.offset_std_s < 2e-3


def test_bands_that_no_other_source_confirms_contradict_nothing():
    _, told = audited(("cam_front",), 0.016)
    assert told == []
