"""Lights of any length found in practice."""

import dataclasses

import numpy as np
import pytest
from scipy.ndimage import uniform_filter1d
from syncaudit_calibration import calibrate_events

from syncaudit.estimators.events import band_height_px, instants_of, measure_flashes
from syncaudit.model.evidence.flashes import FlashEdges
from testkit.flash_footage import EPOCH_NS, camera, detected, errors_s, footage, half_light_s

EXPOSURE_S, LINE_S = 0.008, 2.5e-5


def irregular(length_s, *, duration_s=15.0, seed=3, gap_s=(0.15, 0.4)):
    rng = np.random.default_rng(seed)
    times_s = np.cumsum(length_s + rng.uniform(*gap_s, 200))
    return times_s[times_s < duration_s - length_s - 0.5]


def shaking(frame, k, middle_s):
    shift = round(0.7 * np.sin(2.1 * k)), round(0.7 * np.cos(1.3 * k))
    return np.roll(frame, shift, axis=(0, 1))


def seen(
    onsets_s,
    length_s,
    *,
    n=180,
    exposure_s=EXPOSURE_S,
    line_delay_s=LINE_S,
    paint=shaking,
    falloff=0.0,
):
    timing = {"line_delay_s": line_delay_s, "exposure_s": exposure_s}
    # The brightness of a light that outlasts the exposure does not depend on its length.
    brightness = 40.0 * max(1.0, length_s / exposure_s)
    case = {
        "n": n,
        "width_s": length_s,
        "brightness": brightness,
        "paint": paint,
        "falloff": falloff,
    }
    return detected(camera(n, **timing), footage(onsets_s, **case, **timing))


def instants_s(found, *, exposure_s=EXPOSURE_S, line_delay_s=LINE_S):
    return found.frame_s + found.row_px * line_delay_s + found.exposure_part * exposure_s


@pytest.mark.parametrize("length_s", [0.0003, 0.004, 0.0065])
def test_lights_shorter_than_the_exposure_are_dated_by_their_half(length_s):
    onsets_s = irregular(length_s)
    found = seen(onsets_s, length_s)
    assert isinstance(found, FlashEdges)
    off_s = instants_s(found)[:, None] - onsets_s - 0.5 * length_s
    off_s = off_s[np.arange(len(off_s)), np.abs(off_s).argmin(axis=1)]
    assert off_s.size >= 12
    std_s = found.row_std_px * LINE_S
    assert np.sqrt(np.average(off_s**2, weights=std_s**-2.0)) < (
        6e-5 if length_s < 0.005 else 2.5e-4
    )
    assert np.mean(np.abs(off_s) < 1.96 * found.row_std_px * LINE_S) > 0.9
    assert abs(found.half_light_s - 0.5 * length_s) < max(5e-5, 3.0 * found.half_light_std_s)


@pytest.mark.parametrize("length_s", [0.03, 0.2, 0.4])
def test_lights_longer_than_the_image_are_dated_on_and_off(length_s):
    exposure_s, line_delay_s = 0.002, 1.5e-5
    onsets_s = irregular(length_s, duration_s=28.0, gap_s=(0.2, 0.5))
    timing = {"exposure_s": exposure_s, "line_delay_s": line_delay_s, "n": 340}
    found = seen(onsets_s, length_s, **timing)
    at_s = instants_s(found, exposure_s=exposure_s, line_delay_s=line_delay_s)
    true_s = np.where(found.sense > 0, 0.0, length_s)
    off_s = at_s[:, None] - onsets_s - true_s[:, None]
    off_s = np.abs(off_s).min(axis=1)
    if found.half_s is not None:
        off_s = off_s[found.half_s == 0.0]
    assert off_s.size >= 3
    assert np.max(off_s) < 6e-5
    assert set(found.exposure_part.tolist()) == {0.0}


def test_pulses_that_light_a_frame_whole_lie_between_two_frames():
    exposure_s, line_delay_s, length_s = 0.002, 1.5e-5, 0.03
    onsets_s = irregular(length_s, duration_s=28.0, gap_s=(0.25, 0.75))
    found = seen(onsets_s, length_s, exposure_s=exposure_s, line_delay_s=line_delay_s, n=340)
    between = found.half_s > 0.0
    assert between.sum() >= 30  # of about 45 pulses, each with two changes
    true_s = np.where(found.sense > 0, 0.0, length_s)
    off_s = np.abs(found.frame_s[:, None] - onsets_s - true_s[:, None]).min(axis=1)
    assert np.all(off_s[between] < found.half_s[between])


def test_ramps_that_an_encoder_blurs_count_as_those_of_short_exposures():
    timing = {"exposure_s": 3e-4, "line_delay_s": 3e-5}  # 10 rows

    def blurred(frame, k, middle_s):
        return uniform_filter1d(frame, 9, axis=0)

    onsets_s = irregular(3e-4, gap_s=(0.1, 0.2))
    found = seen(onsets_s, 3e-4, n=180, paint=blurred, **timing)
    assert isinstance(found, FlashEdges)
    assert np.unique(found.frame_index).size >= 10
    assert np.max(np.abs(errors_s(found, onsets_s + 1.5e-4, **timing))) < 6e-5


def test_bands_that_the_image_cuts_are_timed():
    # Ramps of 160 of the 480 rows: hardly any band lies in the image with both of its edges.
    onsets_s = irregular(0.004)
    found = seen(onsets_s, 0.004)
    n_frames = np.unique(found.frame_index).size
    rows = 240 + (onsets_s[:, None] - np.arange(180) / 12.0) / LINE_S
    n_seen = np.count_nonzero(((rows > -240) & (rows < 560)).any(axis=1))
    assert n_frames > 0.7 * n_seen


@pytest.mark.parametrize("unstated", ["exposure_s", "line_delay_s"])
def test_edges_that_may_be_of_an_unstated_exposure_are_no_better_known(unstated):
    timing = {"exposure_s": 0.0124, "line_delay_s": 1.8e-5}
    onsets_s = irregular(0.002)
    case = {"n": 180, "width_s": 0.002, "brightness": 40.0, "paint": shaking}
    stream = camera(180, **timing | {unstated: None})
    found = detected(stream, footage(onsets_s, **case, **timing))
    assert found.sense is not None
    assert found.edge_shift_std_s >= 0.003
    found = seen(irregular(0.3), 0.3)
    assert found.edge_shift_std_s < 4e-4


@pytest.mark.parametrize("line_delay_s", [2.4e-5, 2.2e-5, 2e-5, 1.6e-5, 1.4e-5])
def test_bands_cut_by_the_image_are_as_high_as_the_exposure(line_delay_s):
    # Hardly any band shows both of its edges in the image, as if the light stayed on.
    timing = {"exposure_s": 0.0044, "line_delay_s": line_delay_s}
    length_s, height_px = 0.0036, 0.0044 / line_delay_s
    upper = np.linspace(480.0 - 0.9 * height_px, 0.9 * 480.0, 24)
    lower = np.linspace(0.1 * 480.0, 0.6 * height_px, 24)
    rows = np.where(np.arange(24) % 2, upper, lower - height_px)
    half_s = (4 + 6 * np.arange(24)) / 12.0
    half_s += (rows - 239.5) * timing["line_delay_s"] + 0.5 * timing["exposure_s"]
    onsets_s = half_s - 0.5 * length_s
    found = seen(onsets_s, length_s, n=150, **timing)
    assert found.sense is None
    z = errors_s(found, half_s, **timing) / (line_delay_s * found.row_std_px)
    assert z.size >= 24
    assert np.max(np.abs(z)) < 2.5
    assert abs(2.0 * found.half_light_s - length_s) < 4.0 * found.half_light_std_s < 3e-4


def test_tails_of_edges_above_the_image_widen_errors():
    # For half of the bands of a xenon tube, the image shows the tail but not the upper edge.
    timing = {"exposure_s": 0.0027, "line_delay_s": 3.7e-5}
    rows = np.where(np.arange(16) % 2, np.linspace(150.0, 350.0, 16), np.linspace(42.0, 60.0, 16))
    half_s = (4 + 6 * np.arange(16)) / 12.0
    half_s += (rows - 239.5) * timing["line_delay_s"] - 0.5 * timing["exposure_s"]
    light = {"width_s": 1e-4, "tail_s": 0.002}
    onsets_s = half_s - half_light_s(**light)
    found = detected(
        camera(102, **timing), footage(onsets_s, n=102, size=(480, 320), **light, **timing)
    )
    off_s = errors_s(found, half_s, **timing)
    is_cut = (found.exposure_part < 0.0) & (found.row_px + 239.5 < 80.0)
    assert is_cut.sum() >= 4
    # The part of the light that no row shows shifts all rows equally.
    assert 0.0 < found.rise_std_s < 1.5e-4
    z = off_s / np.hypot(found.row_std_px * timing["line_delay_s"], found.rise_std_s)
    assert np.max(np.abs(z)) < 2.0
    assert np.max(np.abs(off_s[~is_cut])) < 2e-4


def test_exposure_that_answers_the_light_does_no_harm():
    def dimmed(frame, k, middle_s):
        # The frame after a lit one is darker as a whole.
        lit = np.any(np.abs(onsets_s - (k - 1) / 12.0) < 0.012)
        return frame * (0.93 if lit else 1.0)

    onsets_s = irregular(0.002)
    found = seen(onsets_s, 0.002, paint=dimmed)
    off_s = instants_s(found)[:, None] - onsets_s - 0.001
    assert found.frame_s.size >= 12
    assert np.sqrt(np.mean(np.abs(off_s).min(axis=1) ** 2)) < 3e-5


def answered(onsets_s, length_s, *, target=105.0, light=70.0):
    """Return an auto-exposure that corrects a quarter of the difference from frame to frame."""
    gain = {"now": 1.0}

    def paint(frame, k, middle_s):
        used = gain["now"]
        lit = np.any((middle_s[240] > onsets_s) & (middle_s[240] < onsets_s + length_s))
        gain["now"] *= (target / (used * (target + light * lit))) ** 0.25
        return frame * used

    return paint


@pytest.mark.parametrize("length_s", [0.3, 0.7])
def test_lights_are_dated_where_exposure_brings_the_image_back(length_s):
    timing = {"exposure_s": 0.003, "line_delay_s": 6e-5}
    onsets_s = irregular(length_s, duration_s=28.0, gap_s=(0.4, 0.9))
    case = {"brightness": 70.0, "width_s": length_s, "paint": answered(onsets_s, length_s)}
    # Full light contributes for the whole exposure, so the brightness is that of a full exposure.
    case["brightness"] *= length_s / timing["exposure_s"]
    found = detected(camera(340, **timing), footage(onsets_s, n=340, **case, **timing))
    assert isinstance(found, FlashEdges)
    at_s = instants_s(found, **timing)
    true_s = onsets_s + np.where(found.sense > 0, 0.0, length_s)[:, None]
    off_s = np.abs(at_s[:, None] - true_s).min(axis=1)
    is_sharp = found.half_s == 0.0 if found.half_s is not None else np.ones(at_s.size, bool)
    assert is_sharp.sum() >= 5
    std_s = np.hypot(found.row_std_px * timing["line_delay_s"], found.edge_shift_std_s)[is_sharp]
    assert np.mean(off_s[is_sharp] < 3.0 * std_s) > 0.9
    assert np.median(off_s[is_sharp]) < 1.5e-4
    assert np.all(off_s[~is_sharp] < found.half_s[~is_sharp])
    assert at_s.size >= 0.8 * 2 * onsets_s.size


def test_exposure_that_answers_within_a_pulse_does_not_move_its_end():
    # The frame that shows the end of a pulse is darker than all dark frames around it.
    timing = {"exposure_s": 0.003, "line_delay_s": 2.9e-5}
    length_s, n, fps = 0.051, 1200, 50.0
    onsets_s = irregular(length_s, duration_s=n / fps, gap_s=(0.4, 0.9))
    case = {"brightness": 70.0 * length_s / timing["exposure_s"], "width_s": length_s}
    case["paint"] = answered(onsets_s, length_s)
    frames = footage(onsets_s, n=n, fps=fps, **case, **timing)
    found = detected(camera(n, fps=fps, **timing), frames)
    is_end = (found.sense < 0) & (found.half_s == 0.0)
    off_s = instants_s(found, **timing)[is_end, None] - onsets_s - length_s
    off_s = off_s[np.arange(off_s.shape[0]), np.abs(off_s).argmin(axis=1)]
    assert off_s.size >= 6
    assert np.abs(np.median(off_s)) < 1e-4
    assert np.sqrt(np.mean(off_s**2)) < 1.5e-4


def test_lights_that_change_between_frames_are_intervals():
    timing = {"exposure_s": 0.002, "line_delay_s": 1.5e-5}
    onsets_s = irregular(0.4, duration_s=28.0, gap_s=(0.2, 0.5))
    found = seen(onsets_s, 0.4, n=340, **timing)
    assert found.half_s is not None
    between = found.half_s > 0.0
    assert between.sum() > 3 * (~between).sum()
    true_s = onsets_s + np.where(found.sense > 0, 0.0, 0.4)[:, None]
    off_s = np.abs(instants_s(found, **timing)[:, None] - true_s).min(axis=1)
    assert np.all(off_s[between] < found.half_s[between])
    sharp, wide = instants_of(found), instants_of(found, with_intervals=True)
    assert sharp.n == np.count_nonzero(~between)
    assert wide.n == between.size


def test_lights_that_no_row_shows_are_intervals_too():
    timing = {"exposure_s": 0.0005, "line_delay_s": 2e-6}
    onsets_s = irregular(0.4, duration_s=12.0, gap_s=(0.2, 0.5))
    found = seen(onsets_s, 0.4, n=146, falloff=0.4, **timing)
    assert isinstance(found, FlashEdges)
    assert np.all(found.half_s > 0.0)
    assert found.half_s.size >= 10
    true_s = onsets_s + np.where(found.sense > 0, 0.0, 0.4)[:, None]
    off_s = np.abs(instants_s(found, **timing)[:, None] - true_s).min(axis=1)
    assert np.all(off_s < found.half_s)
    assert instants_of(found).n == 0


def test_ramps_shorter_than_any_exposure_are_those_of_pulses():
    # Unstated line delay, and no band with both edges in view: the readout fits within a period.
    timing = {"exposure_s": 0.03, "line_delay_s": 5e-5}
    onsets_s = irregular(0.003)
    stream = camera(180, exposure_s=0.03, line_delay_s=None)
    found = detected(stream, footage(onsets_s, n=180, width_s=0.003, **timing))
    assert found.sense is None
    off_s = errors_s(found, onsets_s + 0.0015, **timing)
    assert np.median(np.abs(off_s)) < 1e-4


@pytest.mark.parametrize("length_s", [0.004, 0.045, 0.2])
def test_where_the_light_ends_in_the_image_is_no_edge(length_s):
    timing = {"exposure_s": 0.01, "line_delay_s": 5e-5}
    onsets_s = irregular(length_s, duration_s=40.0, gap_s=(0.4, 0.8))
    case = {"n": 500, "width_s": length_s, "reach": 0.35, "brightness": 60.0}
    if length_s > timing["exposure_s"]:
        case["brightness"] *= length_s / timing["exposure_s"]
    found = detected(camera(500, **timing), footage(onsets_s, **case, **timing))
    assert isinstance(found, FlashEdges)
    sharp = np.ones(found.band.size, bool) if found.half_s is None else found.half_s == 0.0
    at_s = instants_s(found, **timing)[sharp]
    true_s = np.concatenate([onsets_s, onsets_s + length_s])
    if found.sense is None:
        true_s = onsets_s + 0.5 * length_s
    off_s = np.abs(at_s[:, None] - true_s).min(axis=1)
    assert off_s.size >= 6
    assert np.median(off_s) < 2e-4
    assert np.mean(off_s < 3.0 * found.row_std_px[sharp] * timing["line_delay_s"]) > 0.9
    # No flash counts as missed in rows that the light does not reach.
    assert found.view_px[0] == -239.5
    assert -120.0 < found.view_px[1] < 0.0


def test_stamps_of_the_start_of_a_frame_need_no_exposure_of_lights_that_stay():
    timing = {"exposure_s": EXPOSURE_S, "line_delay_s": 5e-5}
    onsets_s = irregular(0.2, duration_s=30.0)
    found = {}
    for name, fps, stated in (
        ("start", 19.0, {"line_delay_s": 5e-5, "exposure_s": None, "stamp_at": "start_of_frame"}),
        ("middle", 20.0, timing),
    ):
        n = round(30 * fps)
        middle_s = np.arange(n) / fps
        early_s = 0.5 * (EXPOSURE_S + 479 * 5e-5) if name == "start" else 0.0
        stream = camera(n, time_ns=EPOCH_NS + np.round((middle_s - early_s) * 1e9).astype(int))
        stream = dataclasses.replace(stream, name=name, **stated)
        light = {"width_s": 0.2, "brightness": 40.0 * 0.2 / EXPOSURE_S}
        found[name] = detected(stream, footage(onsets_s, n=n, fps=fps, **light, **timing))
    height_px, std_px = band_height_px(found["start"])
    assert abs(height_px - EXPOSURE_S / 5e-5) < 4.0 + 3.0 * std_px
    pair = measure_flashes(found["start"], found["middle"])
    assert pair.accepted
    assert abs(pair.offset_s) < 2.0 * pair.offset_std_s < 1e-3
    clock = calibrate_events(list(found.values()), reference="middle").sources["start"]
    assert abs(clock.offset_s) < 2.0 * clock.offset_std_s < 1e-3
    assert abs(clock.exposure_s - EXPOSURE_S) < 2.0 * clock.exposure_std_s + 4.0 * 5e-5


def switched(onsets_s, length_s, emitted, *, exposure_s, levels=40.0):
    """Return a paint with a lasting light; `emitted`: its light up to some age, in seconds."""

    def paint(frame, k, middle_s):
        ages_s = middle_s[:, None] - onsets_s
        ends = (np.clip(ages_s + sign * exposure_s / 2, 0.0, length_s) for sign in (1.0, -1.0))
        last, first = (emitted(end) for end in ends)
        light = (last - first).sum(axis=1) / exposure_s
        return frame + levels * light[:, None] * (0.3 + 0.7 * frame / 128.0)

    return paint


def of_switched(emitted, *, exposure_s=0.006, length_s=0.4, n=480):
    """Return what a camera shows of a lasting light, and how late each dated switch is."""
    onsets_s = irregular(length_s, duration_s=n / 12.0, gap_s=(0.3, 0.7), seed=5)
    timing = {"exposure_s": exposure_s, "line_delay_s": 6e-5, "n": n}
    paint = switched(onsets_s, length_s, emitted, exposure_s=exposure_s)
    found = detected(camera(**timing), footage([], paint=paint, **timing))
    kept = found.by_rows
    at_s = instants_s(found, exposure_s=exposure_s, line_delay_s=6e-5)[kept]
    true_s = onsets_s + np.where(found.sense[kept] > 0, 0.0, length_s)[:, None]
    off_s = at_s[:, None] - true_s
    return found, off_s[np.arange(len(off_s)), np.abs(off_s).argmin(axis=1)]


@pytest.mark.parametrize("sag_s", [0.04, 0.2])
def test_lamps_that_are_brighter_at_first_are_dated(sag_s):
    # 30 % brighter when they go on: what full light adds differs from one switch to the next.
    found, off_s = of_switched(lambda age_s: age_s + 0.3 * sag_s * -np.expm1(-age_s / sag_s))
    assert off_s.size >= 15
    assert np.sqrt(np.mean(off_s**2)) < 2e-4
    std_s = found.row_std_px[found.by_rows] * 6e-5
    assert np.mean(np.abs(off_s) < 1.96 * np.hypot(std_s, found.edge_shift_std_s)) > 0.85
