"""Statements of a manifest about a camera that its flashes contradict."""

import dataclasses

import numpy as np
import pytest

from syncaudit.model import ClipEvidence, Severity
from syncaudit.pipeline import examine
from syncaudit.pipeline.contradictions import contradicted_statements
from testkit.event_rig import camera, irregular_onsets
from testkit.measured_pairs import pair
from testkit.sample_audits import sample_clips


def audited(names, exposure_s):
    """Audit some sources of a clip with flashes, with another stated exposure of the camera."""
    clip = sample_clips()["flashes"]
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


@pytest.mark.parametrize("exposure_s", [0.008, 0.016])
def test_a_lone_camera_with_bands_of_one_height_is_told(exposure_s):
    _, told = audited(("cam_front",), exposure_s)
    assert len(told) == (exposure_s != 0.008)


def test_bands_of_any_height_contradict_nothing_unless_another_source_saw_them():
    rng = np.random.default_rng(0)
    seen = camera(rng, irregular_onsets(rng), exposure_s=0.004, line_delay_s=2.5e-5)
    stretched = np.exp(rng.normal(0.0, 0.5, seen.band.max() + 1))[seen.band]
    seen = dataclasses.replace(seen, row_px=seen.row_px * stretched, exposure_s=0.02)
    evidence = ClipEvidence(flashes={seen.source: seen})
    assert not [*contradicted_statements(evidence, [])]
    matched = pair(seen.source, "other", 0.0, method="flash")
    assert [*contradicted_statements(evidence, [matched])]
