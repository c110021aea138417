"""Screens filmed by cameras."""

import numpy as np
import pytest

from syncaudit.detectors.flash.blinking import (
    Blinking,
    Change,
    changed_frames,
    find_blinking,
    outstanding_frames,
)
from syncaudit.detectors.flash.detector import FlashDetector
from syncaudit.detectors.flash.learning import Learnt
from syncaudit.detectors.flash.shape import RampShape
from syncaudit.model.evidence.flashes import FlashIntervals
from testkit.flash_footage import camera, detected, footage

FPS, N, HEIGHT, WIDTH = 24.0, 360, 120, 160
TOP, BOTTOM, LEFT, RIGHT = 50, 110, 30, 130
TIMING = {"exposure_s": 0.008, "line_delay_s": 1.6e-4}
SCAN_S, LENGTH_S = 0.015, 0.2


def onsets_s(length_s=LENGTH_S, fps=FPS):
    rng = np.random.default_rng(5)
    times_s = 0.7 + np.cumsum(length_s + rng.uniform(0.2, 0.5, 40))
    return times_s[times_s < N / fps - 0.8]


def filmed(*, scan_s=SCAN_S, answer=0.0, length_s=LENGTH_S, fps=FPS, timing=TIMING):
    """Return frames of a screen that lights up line by line; auto-exposure may respond to it."""
    rng = np.random.default_rng(6)
    scene = rng.uniform(30.0, 60.0, (HEIGHT // 10, WIDTH // 10)).repeat(10, 0).repeat(10, 1)
    rows, on_s, gain = np.arange(HEIGHT), onsets_s(length_s, fps), 1.0
    late_s = scan_s * (rows - TOP) / (BOTTOM - TOP)
    frames = []
    for k in range(N):
        end_s = k / fps + (rows - 0.5 * (HEIGHT - 1)) * timing["line_delay_s"]
        end_s = end_s[:, None] + 0.5 * timing["exposure_s"] - late_s[:, None] - on_s
        dose = np.clip(end_s, 0.0, length_s)
        dose -= np.clip(end_s - timing["exposure_s"], 0.0, length_s)
        light = dose.sum(axis=1) / timing["exposure_s"]
        frame = scene.copy()
        frame[TOP:BOTTOM, LEFT:RIGHT] = 12.0 + 150.0 * light[TOP:BOTTOM, None]
        frame = frame * gain + rng.normal(0.0, 1.0, frame.shape)
        gain *= (45.0 / max(float(frame.mean()), 1.0)) ** answer
        frames.append(np.clip(frame, 0, 255).astype(np.uint8))
    return frames


@pytest.mark.parametrize("scan_s", [SCAN_S, -SCAN_S], ids=["from the top", "from the bottom"])
@pytest.mark.parametrize("answer", [0.0, 0.25], ids=["steady", "auto-exposure"])
def test_screens_are_dated_by_their_middle(scan_s, answer):
    found = detected(camera(N, fps=FPS, **TIMING), filmed(scan_s=scan_s, answer=answer))
    assert isinstance(found, FlashIntervals)
    # Whatever the scan direction, half of its light is on when its middle row lights up.
    true_s = onsets_s() + 0.5 * scan_s
    for sense, late_s in ((1, 0.0), (-1, LENGTH_S)):
        start_s, stop_s = (each[found.sense == sense] for each in (found.start_s, found.stop_s))
        assert start_s.size >= 0.9 * true_s.size
        instants_s = true_s + late_s
        # One row of cells corresponds to 0.6 ms of the scan.
        holds = (start_s[:, None] < instants_s + 1e-3) & (instants_s < stop_s[:, None] + 1e-3)
        assert np.all(holds.sum(axis=1) == 1)
        assert np.max(stop_s - start_s) < 2.01 / FPS
    assert 1e-3 < found.systematic_std_s < 3e-3


@pytest.mark.parametrize(("n_frames", "fps"), [(7, FPS), (9, FPS), (7, 50.0), (14, 60.0)])
def test_screens_are_found_whose_light_stays_for_some_frames(n_frames, fps):
    """No frame of such a light needs to have dark frames shortly before and after it."""
    timing = {"exposure_s": 0.006, "line_delay_s": 1.3e-4}
    length_s = n_frames / fps
    frames = filmed(length_s=length_s, fps=fps, timing=timing)
    found = detected(camera(N, fps=fps, **timing), frames)
    assert isinstance(found, FlashIntervals)
    assert np.count_nonzero(found.sense > 0) >= 0.9 * onsets_s(length_s, fps).size


def test_gain_does_not_blink():
    rng = np.random.default_rng(7)
    scene = rng.uniform(30.0, 90.0, (1, 60, 16))
    gain = np.where(np.arange(300) // 10 % 2, 1.4, 1.0)[:, None, None]
    noise = rng.normal(0.0, 0.5, (300, 60, 16))
    levels = (scene * gain + noise).astype(np.float32)
    assert find_blinking(levels, list(range(300)), 2) is None
    # No auto-exposure repeatedly doubles the brightness from one frame to the next.
    strong = (scene * np.where(gain > 1.0, 2.2, 1.0) + noise).astype(np.float32)
    assert find_blinking(strong, list(range(300)), 2) is not None
    levels[:, 20:40, 4:12] = (60.0 + 60.0 * (gain > 1.0) + noise[:, 20:40, 4:12]).astype(np.float32)
    assert find_blinking(levels, list(range(300)), 2) is not None


def test_scenery_that_moves_does_not_change_as_lights_do():
    rng = np.random.default_rng(8)
    drive = np.exp(np.cumsum(rng.normal(0.0, 0.02, 400)))[:, None, None]
    levels = (60.0 * drive * np.linspace(0.6, 1.4, 32).reshape(8, 4)).astype(np.float32)
    assert changed_frames(levels).size < 5
    switched = np.arange(40, 390, 30)
    for k, on in enumerate(switched):
        levels[on:] *= 1.4 if k % 2 == 0 else 1.0 / 1.4
    assert changed_frames(levels).tolist() == switched.tolist()


def test_frames_stand_out_that_change_more_than_those_where_nothing_happens():
    changes = np.random.default_rng(9).uniform(0.5, 0.8, 300)
    assert not outstanding_frames(changes).size
    at = np.arange(20, 290, 30)
    changes[at] += 4.0
    assert outstanding_frames(changes).tolist() == at.tolist()
    assert not outstanding_frames(changes[:3]).size


def blinking(starts, length, n_cut=0):
    """Return a light that is on for `length` frames from each frame in `starts`."""
    changes = [
        Change(foot=k, before=k, after=k + 1, peak=k + 1, sense=sense)
        for start in starts
        for k, sense in ((start, 1), (start + length, -1))
    ]
    return Blinking(row=0.5, n_cut=n_cut, course=np.zeros(300), changes=tuple(changes))


def test_of_light_that_clips_no_part_is_told():
    # A tenth of the change in one frame and nine tenths in the next, as in bright cells.
    course = np.array([0.0, 0.0, 0.0, 0.1, 0.9, 1.0, 1.0, 1.0])
    change = Change(foot=2, before=3, after=4, peak=5, sense=1)
    own = Blinking(row=0.5, n_cut=0, course=course, changes=(change,))
    times_s = np.arange(8.0)
    timing = {"exposure_s": (0.5, 0.5), "rise_s": 0.1}
    ((start_s,), (stop_s,)) = own.intervals_s(times_s, **timing)
    assert 3.0 < start_s < stop_s < 4.0
    assert own.intervals_s(times_s, **timing, is_clipped=True) == ([2.0], [5.0])


def test_parts_of_a_change_are_no_better_known_than_the_noise_allows():
    # The frame before the change seems to show a twelfth of it, as shaking scenery may.
    course = np.array([0.0, 0.02, 0.0, 0.085, 1.0, 1.02, 1.0, 1.0])
    change = Change(foot=2, before=3, after=4, peak=5, sense=1)
    times_s = np.arange(8.0)
    timing = {"exposure_s": (0.5, 0.5), "rise_s": 0.0}
    sure, unsure = (
        Blinking(row=0.5, n_cut=0, course=course, changes=(change,), noise=noise)
        for noise in (0.0, 0.03)
    )
    ((narrow_s, narrow_end_s),) = np.transpose(sure.intervals_s(times_s, **timing))
    ((wide_s, wide_end_s),) = np.transpose(unsure.intervals_s(times_s, **timing))
    assert 2.0 < wide_s < narrow_s
    # Without noise, the frame that shows a twelfth must have been exposed as the light changed.
    assert narrow_end_s < 3.8 < wide_end_s < 5.0


def test_changes_that_noise_hides_are_known_between_frames():
    course = np.array([0.0, 0.02, 0.0, 0.085, 1.0, 1.02, 1.0, 1.0])
    change = Change(foot=2, before=3, after=4, peak=5, sense=1)
    own = Blinking(row=0.5, n_cut=0, course=course, changes=(change,), noise=0.4)
    assert own.intervals_s(np.arange(8.0), exposure_s=(0.5, 0.5), rise_s=0.0) == ([2.0], [5.0])


def test_edges_of_pulses_are_not_those_of_what_blinks_beside_them():
    screen = blinking(range(10, 290, 20), 4)
    within = np.array([k + n for k in range(10, 290, 20) for n in (0, 1, 4)])
    right = np.tile([1, 1, -1], 14)
    assert screen.replaces(within, None, is_slow=False)
    assert screen.replaces(within, right, is_slow=True)
    assert screen.replaces(within, -right, is_slow=False)
    assert not screen.replaces(within, right, is_slow=False)
    # Pulses occur at any time, and almost any frame is near a change of a flickering light.
    assert not screen.replaces(np.arange(5, 295, 7), None, is_slow=False)
    assert not blinking(range(2, 290, 6), 3).replaces(within, None, is_slow=False)


@pytest.mark.parametrize(("n_cut", "is_screen"), [(0, True), (1, True), (2, False)])
def test_edges_of_what_is_cut_at_one_end_may_be_those_of_a_screen(n_cut, is_screen):
    """Its scan would pass for a wrong line delay; light over all rows comes from a screen."""
    own = blinking(range(10, 290, 20), 4, n_cut)
    frames = np.array([change.after for change in own.changes])
    sense = np.array([change.sense for change in own.changes])
    assert own.replaces(frames, sense, is_slow=True) is is_screen
    assert not own.replaces(frames, sense, is_slow=False)


def test_a_few_whole_frames_do_not_stand_for_all_changes(monkeypatch):
    # Dimmed by a quarter of the excess in each frame, the image soon hardly looks lit.
    timing = {"exposure_s": 0.00115, "line_delay_s": 2.1e-5}
    on_s = 0.3 + np.cumsum(np.random.default_rng(1).choice([0.4833, 0.6667, 0.8833], 14) + 0.0041)
    changes_s = np.sort(np.concatenate([on_s, on_s + 0.1167])) + 0.5 * SCAN_S
    dimmed = {int(50 * (at_s + 0.08)): -1 for at_s in on_s[::2]}
    learnt = Learnt(
        edges=[], n_tried=9, shape=RampShape(0.0), half_std_px=0.0, whole=dimmed, is_light=True
    )
    monkeypatch.setattr(FlashDetector, "_learnt", lambda _: learnt)
    gain = {"now": 1.0}

    def paint(image, _k, middle_s):
        ages_s = middle_s[:, None] - on_s
        light = np.clip(ages_s / SCAN_S, 0.0, 1.0)
        light -= np.clip((ages_s - 0.1167) / SCAN_S, 0.0, 1.0)
        falls = np.linspace(1.2, 0.6, image.shape[1])
        shown = image * (1.0 + light.sum(axis=1, keepdims=True) * falls).astype(np.float32)
        used = gain["now"]
        gain["now"] *= (float(image.mean()) / (used * float(shown.mean()))) ** 0.25
        return shown * used

    n = round(50 * (on_s[-1] + 0.6))
    found = detected(camera(n, 50.0, **timing), footage([], n=n, fps=50.0, paint=paint, **timing))
    assert isinstance(found, FlashIntervals)
    middle_s = 0.5 * (found.start_s + found.stop_s)
    off_s = np.abs(middle_s[:, None] - changes_s).min(axis=1)
    assert middle_s.size >= changes_s.size - 2
    assert np.all(off_s <= 0.5 * (found.stop_s - found.start_s) + 3.0 * found.std_s)


def test_another_screen_that_flickers_is_no_part_of_what_blinks():
    # It beats with the frame rate in most of the dark columns, by more than the lamp adds to them.
    rng = np.random.default_rng(6)
    n, length = 900, 30
    onsets = np.cumsum(rng.integers(60, 75, 12))
    since = np.arange(n)[:, None] - onsets
    is_on = ((since >= 0) & (since < length)).any(axis=1)
    dark, light = rng.uniform(60.0, 90.0, (24, 12)), rng.uniform(15.0, 30.0, (24, 12))
    dark[:, 3:9] = 40.0
    levels = dark + light * is_on[:, None, None] + rng.normal(0.0, 0.2, (n, 24, 12))
    levels[:, 8:18, 3:7] += 16.0 * np.sin(0.4 * np.pi * np.arange(n))[:, None, None]
    places = np.flatnonzero(np.diff(is_on.astype(int))) + 1
    found = find_blinking(levels.astype(np.float32), places.tolist(), 4)
    assert [own.after for own in found.changes] == places.tolist()
