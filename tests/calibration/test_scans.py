"""Cameras mounted upside down or turned, whose images are not read from the top to the bottom."""

import json
from dataclasses import replace

import numpy as np
import pytest
from syncaudit_calibration import CalibrationError, calibrate
from syncaudit_calibration.calibrate_recording import calibrate_recording
from syncaudit_calibration.plots import find_band_images

from syncaudit.datasets import load_manifest
from syncaudit.estimators.events import find_scans
from syncaudit.estimators.events import scans as scans_module
from syncaudit.pipeline import evidence, find_flashes
from testkit.event_rig import camera, irregular_onsets, turned_rig
from testkit.flash_footage import footage, onsets, stored
from testkit.videos import exact_frame, write_video

EPOCH_NS = 1_767_225_600_000_000_000


def _scans(evidence, others=()):
    return find_scans(evidence, others, max_offset_s=30.0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "turned", [(), ("cam_1",), ("cam_0", "cam_2"), ("cam_0", "cam_1", "cam_2")]
)
def test_a_trigger_shows_which_cameras_are_upside_down(seed, turned):
    scans = _scans(turned_rig(seed, turned=turned, with_trigger=True))
    assert scans.found == dict.fromkeys(turned, "up")
    assert scans.unknown == scans.apart == ()


@pytest.mark.parametrize("turned", [(), ("cam_0", "cam_1", "cam_2")])
def test_equal_cameras_do_not_show_whether_they_all_are_upside_down(turned):
    scans = _scans(turned_rig(turned=turned))
    assert scans.found == {}
    assert set(scans.unknown) == {"cam_0", "cam_1", "cam_2"}


def test_one_camera_that_is_upside_down_contradicts_the_others():
    scans = _scans(turned_rig(turned=("cam_1",)))
    assert scans.found == {}
    assert scans.undecided == {"cam_1": "up"}
    assert set(scans.unknown) == {"cam_0", "cam_2"}


def test_one_statement_is_enough():
    rig = turned_rig(turned=("cam_1",))
    scans = _scans({**rig, "cam_0": replace(rig["cam_0"], scan="down")})
    assert scans.found == {"cam_1": "up"}
    assert scans.unknown == ()
    assert scans.undecided == {}


def test_cameras_of_different_rates_show_that_they_are_upside_down():
    scans = _scans(turned_rig(turned=("cam_0", "cam_1"), rates_hz=(12.0, 25.0)))
    assert scans.found == {"cam_0": "up", "cam_1": "up"}


@pytest.mark.parametrize(
    ("down", "refused", "up"),
    [
        # Just significant, in a recording of LEDs.
        (
            {(0, 1): 13.8, (0, 2): 49.6, (0, 3): 38.9, (2, 3): 9.7},
            {},
            {(0, 1): 25.1, (0, 2): 25.9, (0, 3): 40.1, (1, 3): 11.2, (2, 3): 25.1},
        ),
        # A dense strobe: what matches is refused here and accepted there for the order of pulses.
        ({(0, 1): 690.0, (2, 3): 690.0}, {(0, 2): 608.0}, {(0, 1): 690, (2, 3): 629, (0, 2): 499}),
    ],
)
def test_directions_are_not_decided_by_matches_that_hold_either_way(monkeypatch, down, refused, up):
    # What four cameras of one rate matched, all read downwards.
    weights = {
        frozenset((f"cam_{k}", scan) for k in pair): scans_module._Weight(
            accepted=is_accepted * weight, agreeing=weight
        )
        for scan, is_accepted, matched in (
            ("down", True, down),
            ("down", False, refused),
            ("up", True, up),
        )
        for pair, weight in matched.items()
    }
    monkeypatch.setattr(scans_module, "_weights", lambda *_: weights)
    scans = _scans(turned_rig(rates_hz=(10.0,) * 4))
    assert scans.found == scans.undecided == {}
    assert len(scans.unknown) == 4


def test_what_the_manifest_states_is_not_tried():
    rig = turned_rig(turned=("cam_0", "cam_1", "cam_2"))
    stated = {name: replace(item, scan="down") for name, item in rig.items()}
    scans = _scans(stated)
    assert scans.found == {}
    assert scans.unknown == scans.apart == ()


def test_sources_that_nothing_matches_are_apart_however_they_are_read():
    rng = np.random.default_rng(5)
    rig = turned_rig(with_trigger=True)
    alone = camera(rng, irregular_onsets(rng, 90), name="alone")
    scans = _scans({**rig, "alone": alone}, [replace(alone, scan="right")])
    assert scans.apart == ("alone",)
    assert scans.found == {}


def test_columns_are_lines_if_only_they_match():
    rig = turned_rig(with_trigger=True)
    portrait = replace(rig.pop("cam_1"), scan="left")
    wrong = [replace(portrait.mirrored(), scan="right"), replace(portrait.mirrored(), scan="up")]
    assert _scans(rig, [*wrong, portrait]).found == {"cam_1": "left"}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Return a clip of four cameras at 25, 30, 30 and 30 Hz that see the same flashes."""
    folder = tmp_path_factory.mktemp("turned")
    pulses_s = onsets(4, duration_s=5.0)
    sources = {}
    for k, (scan, fps) in enumerate((("down", 25), ("down", 30), ("up", 30), ("left", 30))):
        n, name = 5 * fps, f"cam_{k}"
        late_s = 0.003 * k
        frames = footage(pulses_s - late_s, n=n, fps=fps, seed=k, size=(320, 240))
        images = map(exact_frame, stored(frames, scan))
        write_video(folder / f"{name}.mp4", images, rate=fps, options={"crf": "18"})
        ns = EPOCH_NS + np.round(np.arange(n) / fps * 1e9).astype(np.int64)
        rows = "\n".join(["timestamp_ns", *map(str, ns)])
        (folder / f"{name}.csv").write_text(rows + "\n", encoding="utf-8")
        sources[name] = {
            "kind": "camera",
            "uri": f"{name}.mp4",
            "timestamps": f"{name}.csv",
            "line_delay_s": 5e-5,
            "exposure_s": 0.008,
        }
    row = {"clip_id": "turned", "recording_id": "turned", "sources": sources}
    (folder / "manifest.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (clip,) = load_manifest(str(folder / "manifest.jsonl"))
    return clip


@pytest.fixture(scope="module")
def calibrated(recording):
    """Return the calibration of all four cameras, and its inputs."""
    return calibrate_recording(recording)


def test_images_that_were_turned_after_readout_are_calibrated(calibrated):
    found = calibrated.calibration
    assert {name: source.scan for name, source in found.sources.items()} == {
        "cam_0": None,
        "cam_1": None,
        "cam_2": "up",
        "cam_3": "left",
    }
    for k in (1, 2, 3):
        source = found.sources[f"cam_{k}"]
        assert source.offset_s - 0.003 * k == pytest.approx(0.0, abs=4.0 * source.offset_std_s)
        assert source.offset_std_s < 1e-4
        assert source.to_json(0).get("scan") == source.scan
    stated = [warning for warning in found.warnings if '"scan"' in warning]
    assert len(stated) == 2
    assert "the images of cam_3 are not read from the first row to the last, but left" in stated[1]


def _with(recording, *names):
    return replace(recording, sources={name: recording.sources[name] for name in names})


def test_a_warning_names_cameras_whose_direction_of_reading_is_assumed(recording):
    slower = replace(recording.sources["cam_1"], line_delay_s=5e-5)
    twins = {"cam_1": slower, "cam_1b": slower}
    found = calibrate(replace(recording, sources=twins))
    assert any("cam_1, cam_1b: the flashes do not show" in warning for warning in found.warnings)


def test_two_cameras_of_which_either_may_be_upside_down_are_refused(recording):
    with pytest.raises(CalibrationError, match='state "scan"') as failure:
        calibrate(_with(recording, "cam_1", "cam_2"))
    assert len(failure.value.refused) == 1
    with pytest.raises(CalibrationError, match='state "scan"'):
        calibrate(_with(recording, "cam_1", "cam_2"), reference=next(iter(failure.value.refused)))
    stated = _with(recording, "cam_1", "cam_2")
    stated.sources["cam_1"] = replace(stated.sources["cam_1"], scan="down")
    assert calibrate(stated).sources["cam_2"].scan == "up"


def test_band_images_show_lines_in_the_order_of_reading(calibrated):
    for name in ("cam_1", "cam_2", "cam_3"):
        images = find_band_images(calibrated.streams[name], calibrated.evidence[name])
        assert images
        for image in images:
            for row, _, _ in image.edges:
                near = np.clip(np.arange(round(row) - 8, round(row) + 9), 0, image.gain.size - 1)
                # Half of the light at an edge, not darkness or all of it.
                assert 0.2 < image.gain[near].mean() / image.gain.max() < 0.8


def test_directions_that_lights_show_are_reported_as_well(recording, monkeypatch):
    """Lasting lights determine the direction before anything is matched."""
    real = find_flashes

    def shown(stream, stages):
        return real(stream if stream.name != "cam_2" else replace(stream, scan="up"), stages)

    monkeypatch.setattr(evidence, "find_flashes", shown)
    found = calibrate_recording(_with(recording, "cam_0", "cam_2"))
    assert found.streams["cam_2"].scan == found.calibration.sources["cam_2"].scan == "up"
    assert any("images of cam_2 are not read" in words for words in found.calibration.warnings)
