"""Lights that switch on and off at known instants and stay so."""

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.detectors.flash.lighting import lasting_senses
from syncaudit.detectors.flash.shape import FrameEdges
from syncaudit.detectors.flash.shape_fit import Sample
from syncaudit.model.evidence.flashes import FlashEdges, FlashIntervals
from testkit.flash_footage import (
    camera,
    detected,
    errors_s,
    footage,
    onsets,
    stored,
)
from testkit.lamp_footage import LAMPS_S, WIDTH_S, N, instants_s, lamps

# Frames without encoding, ramps of 160 rows: noise of 1.5 levels, and the encoder loss that the fit
# assumes (a third of a level of 40 is a third of a row).
RAW_RMS_S = 30e-6
RAW_WORST_S = 40e-6
# A nonlinear tone curve is fitted along with the instants; left unfitted it costs 300 us.
BENT_WORST_S = 100e-6
# A share of an 8 ms exposure, from the levels of 32 cells.
SHARE_WORST_S = 150e-6
# Screens light up line by line and cause ramps of up to 600 rows: a hundredth of the light is 0.2
# ms.
SCREEN_RISE_S = 0.0153
RISE_WORST_S = 200e-6


def late_s(found, *, line_delay_s=5e-5):
    return errors_s(found, instants_s(), line_delay_s=line_delay_s, exposure_s=0.0)


def bent(frames, gamma=2.2):
    table = np.round(255.0 * (np.arange(256) / 255.0) ** (1.0 / gamma)).astype(np.uint8)
    return (table[frame] for frame in frames)


@pytest.mark.parametrize("is_stated", [True, False])
def test_ramps_date_lights_that_go_on_and_off(is_stated):
    stream = camera(N, exposure_s=0.008 if is_stated else None)
    found = detected(stream, footage([], n=N, paint=lamps()))
    assert isinstance(found, FlashEdges)
    errors = late_s(found)
    assert errors.size >= 3
    assert np.sqrt(np.mean(errors**2)) < RAW_RMS_S
    assert np.max(np.abs(errors)) < RAW_WORST_S
    assert np.all(found.exposure_part == 0.0)
    assert np.all(np.abs(errors) < 3.0 * found.row_std_px * 5e-5)


def test_edges_say_whether_light_goes_on_or_off():
    found = detected(camera(N), footage([], n=N, paint=lamps()))
    at_s = found.frame_s + found.row_px * 5e-5
    is_on = np.min(np.abs(at_s[:, None] - LAMPS_S), axis=1) < 1e-3
    assert set(found.sense.tolist()) == {-1, 1}
    assert np.array_equal(found.sense > 0, is_on)
    assert found.half_light_s == 0.0


def test_lights_that_stay_show_in_which_direction_images_are_read():
    frames = list(footage([], n=N, paint=lamps()))
    cases = ((None, "down"), ("up", "up"), ("right", "right"), (None, "up"), ("down", "up"))
    for stated, seen in (*cases, ("right", "left")):
        assert detected(camera(N, scan=stated), stored(frames, seen)).scan == seen


def test_pulses_that_light_two_frames_are_no_light_that_stays():
    levels = np.full((40, 8, 4), 100.0, dtype=np.float32)
    levels[10:20] += 20.0  # a lamp
    levels[25:28] += 20.0  # pulses: it seems to go on; its end is not seen
    levels[33:36] += 20.0  # pulses: it seems to go off
    at = np.array([9, 20, 24, 36])
    assert lasting_senses(levels, at) == [1, -1, 0, 0]


def test_bent_tone_curve_does_not_move_instants():
    found = detected(camera(N), bent(footage([], n=N, paint=lamps())))
    errors = late_s(found)
    assert errors.size >= 3
    assert np.max(np.abs(errors)) < BENT_WORST_S


def test_of_pulses_beside_a_lamp_one_kind_is_timed():
    pulses_s = onsets(2, duration_s=N / 12.0)
    apart = np.min(np.abs(pulses_s[:, None] - instants_s()), axis=1) > 0.4
    found = detected(camera(N), footage(pulses_s[apart], n=N, paint=lamps()))
    at_s = found.frame_s + found.row_px * 5e-5 + found.exposure_part * 0.008
    true_s = instants_s() if found.sense is not None else pulses_s + 0.001
    # A single ramp shape is learnt: light of another shape is left out.
    assert at_s.size >= 6
    assert np.max(np.min(np.abs(at_s[:, None] - true_s), axis=1)) < 2 * RAW_WORST_S


@pytest.mark.parametrize("exposure_s", [0.001, 0.008, 0.015])
def test_screens_are_dated_by_the_middle_of_their_rise(exposure_s):
    paint = lamps(exposure_s=exposure_s, rise_s=SCREEN_RISE_S)
    found = detected(camera(N, exposure_s=exposure_s), footage([], n=N, paint=paint))
    assert isinstance(found, FlashEdges)
    assert set(found.sense.tolist()) == {-1, 1}
    errors = late_s(found)
    assert errors.size >= 6
    assert np.max(np.abs(errors)) < RISE_WORST_S
    assert np.all(np.abs(errors) < 3.0 * found.row_std_px * 5e-5)
    assert abs(found.rise_std_s - 0.05 * SCREEN_RISE_S) < 1e-4


def test_rises_are_not_dated_where_no_row_shows_the_falls():
    # The light goes off between two frames: the effect of the tone curve on rises is then unknown.
    paint = lamps(exposure_s=0.001, rise_s=SCREEN_RISE_S, width_s=10 / 12.0 + 0.04)
    assert detected(camera(N, exposure_s=0.001), footage([], n=N, paint=paint)) is None


@pytest.mark.parametrize("rise_s", [0.05, 0.3])
@pytest.mark.parametrize("exposure_s", [0.008, None])
def test_light_that_changes_slowly_is_no_lamp(rise_s, exposure_s):
    stream = camera(N, exposure_s=exposure_s)
    assert detected(stream, footage([], n=N, paint=lamps(rise_s=rise_s))) is None


def gain_steps(image, k, _middle_s):
    return image * (1.3 if k // 9 % 2 else 1.0)


def cuts(image, k, _middle_s):
    return np.flipud(image) if k // 9 % 2 else image


def sweeping(image, k, _middle_s):
    x = (9 * k) % 400 - 40
    image[150:330, max(x, 0) : max(x + 120, 0)] += 120.0
    return image


@pytest.mark.parametrize("paint", [gain_steps, cuts, sweeping])
def test_what_lasts_but_is_no_lamp_gives_no_edges(paint):
    found = detected(camera(90), footage([], n=90, paint=paint))
    assert not isinstance(found, FlashEdges)


def test_ambient_that_jumps_for_all_rows_is_an_event():
    def paint(image, _k, middle_s):
        n_on = sum(np.clip((middle_s - at_s) / 0.008 + 0.5, 0.0, 1.0) for at_s in LAMPS_S)
        n_off = sum(np.clip((middle_s - at_s) / 0.008 + 0.5, 0, 1) for at_s in LAMPS_S + WIDTH_S)
        return image * (0.6 + 0.4 * (n_on - n_off)[:, None].astype(np.float32))

    found = detected(camera(N), footage([], n=N, paint=paint))
    assert np.max(np.abs(late_s(found))) < RAW_WORST_S


def test_two_steps_are_not_enough_to_be_believed():
    found = detected(camera(25), footage([], n=25, paint=lamps()))
    assert found is None


@pytest.mark.parametrize("gamma", [1.0, 2.2])
def test_global_shutter_dates_light_by_the_share_of_its_exposure(gamma):
    stream = camera(PHASE_N, line_delay_s=0.0)
    phase = {"n": PHASE_N, "line_delay_s": 0.0}
    found = detected(stream, bent(footage([], **phase, paint=lamps_in_phase), gamma))
    assert isinstance(found, FlashIntervals)
    middle_s, width_s = 0.5 * (found.start_s + found.stop_s), found.stop_s - found.start_s
    is_dated = width_s < 1e-3
    true_s = np.array([IN_PHASE_S[np.abs(IN_PHASE_S - t).argmin()] for t in middle_s])
    errors = (middle_s - true_s)[is_dated]
    assert errors.size >= 5
    assert np.max(np.abs(errors)) < SHARE_WORST_S
    assert np.all(np.abs(errors) < 3.0 * found.std_s[is_dated])
    slack_s = 3.0 * found.std_s
    assert np.all(found.start_s - slack_s <= true_s)
    assert np.all(true_s <= found.stop_s + slack_s)
    assert found.start_s.size == IN_PHASE_S.size
    assert set(found.sense.tolist()) == {-1, 1}


# Every eighth change falls within an exposure, each at a different place in it.
IN_PHASE_S = np.array(
    [(6 + 5 * i) / 12.0 + (0.0007 * (i - 20) / 4 if i % 8 == 1 else 0.03) for i in range(44)]
)
PHASE_N = 230


def lamps_in_phase(image, _k, middle_s):
    at_s = float(middle_s[0])
    shares = np.clip((at_s - IN_PHASE_S) / 0.008 + 0.5, 0.0, 1.0)
    light = float(shares[::2].sum() - shares[1::2].sum())
    # Brighter to one side: cells that change by different amounts constrain the tone curve.
    side = np.linspace(0.4, 1.0, image.shape[1], dtype=np.float32)
    return image + 50.0 * light * side * (0.3 + 0.7 * image / 128.0)


def unlit(image, k, middle_s):
    """Paint lamps in phase on all but a sixteenth of the image, which is a screen that stays on."""
    lit = lamps_in_phase(image, k, middle_s)
    lit[:120, :40] = 110.0
    return lit


def test_what_no_light_reaches_tells_no_tone_curve():
    stream = camera(PHASE_N, line_delay_s=0.0)
    frames = footage([], n=PHASE_N, line_delay_s=0.0, paint=unlit)
    found = detected(stream, bent(frames))
    middle_s, width_s = 0.5 * (found.start_s + found.stop_s), found.stop_s - found.start_s
    errors = np.min(np.abs(middle_s[:, None] - IN_PHASE_S), axis=1)[width_s < 1e-3]
    assert errors.size >= 5
    assert np.max(errors) < SHARE_WORST_S


def test_slow_lights_are_not_dated_by_shares():
    # A screen's light rises over two exposures: many frames are partly lit.
    changes_s = np.array([(6 + 5 * i) / 12.0 + 0.001 * (i - 10.5) for i in range(22)])

    def paint(image, _k, middle_s):
        shares = np.clip((float(middle_s[0]) - changes_s) / (0.008 + SCREEN_RISE_S) + 0.5, 0, 1)
        light = 50.0 * float(shares[::2].sum() - shares[1::2].sum())
        side = np.linspace(0.4, 1.0, image.shape[1], dtype=np.float32)
        return image + light * side * (0.3 + 0.7 * image / 128.0)

    stream = camera(N, line_delay_s=0.0)
    found = detected(stream, footage([], n=N, line_delay_s=0.0, paint=paint))
    slack_s = 3.0 * found.std_s
    assert found.start_s.size == changes_s.size
    assert np.all((found.start_s - slack_s <= changes_s) & (changes_s <= found.stop_s + slack_s))


def test_exposures_that_answer_lights_leave_intervals():
    gain = 1.0

    def answered(image, k, middle_s):
        nonlocal gain
        lit = lamps_in_phase(image, k, middle_s)
        shown = lit * gain
        gain *= (float(image.mean()) / float(shown.mean())) ** 0.25
        return shown

    frames = footage([], n=PHASE_N, line_delay_s=0.0, paint=answered)
    found = detected(camera(PHASE_N, line_delay_s=0.0), frames)
    assert found.start_s.size == IN_PHASE_S.size
    slack_s = 3.0 * found.std_s
    is_within = (found.start_s - slack_s <= IN_PHASE_S) & (found.stop_s + slack_s >= IN_PHASE_S)
    assert np.all(is_within)
    assert np.array_equal(found.sense, np.resize([1, -1], IN_PHASE_S.size))


def test_global_gain_steps_are_no_light():
    frames = footage([], n=90, line_delay_s=0.0, paint=gain_steps)
    assert detected(camera(90, line_delay_s=0.0), frames) is None


def test_shapes_are_learnt_from_lights_going_on_and_off_alike():
    one = FrameEdges(rows=(5.0,), signs=(1,), is_lit=False)
    edges = [replace(one, is_off=k % 2 == 1) for k in range(36)]
    nothing = np.zeros((36, 10))
    sample = Sample.of(nothing, nothing, edges, np.ones(36, dtype=bool))
    assert abs(np.mean([own.is_off for own in sample.edges]) - 0.5) < 0.1
