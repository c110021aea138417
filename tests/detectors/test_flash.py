"""Flashes at known instants, in footage with exact bands."""

import numpy as np
import pytest

from syncaudit.decode import Frame, iter_luma
from syncaudit.detectors.flash.detector import FlashDetector
from syncaudit.detectors.flash.whole_frames import date_pulses
from syncaudit.model import FrameFiles, Quantity
from syncaudit.model.evidence.flashes import FlashEdges, FlashIntervals
from testkit.flash_footage import (
    camera,
    detected,
    errors_s,
    footage,
    half_light_s,
    onsets,
    watched,
)
from testkit.videos import exact_frame, write_video

# Frames without encoding: only noise of 1.5 levels.
RAW_RMS_S = 10e-6
RAW_WORST_S = 25e-6
# H.264 at crf 26: the effect of the dead zone with 320 columns (60 us worst with 856).
CODED_RMS_S = 30e-6
CODED_WORST_S = 80e-6
# Frames without an unlit row, 72 of them: the unlit background is itself fitted. The half-light row
# of a pulse with a tail depends on its shape.
TAIL_WORST_S = 40e-6


def seen(seed=1, **case):
    onsets_s = onsets(seed)
    found = detected(
        camera(
            line_delay_s=case.get("line_delay_s", 5e-5), exposure_s=case.get("exposure_s", 0.008)
        ),
        footage(onsets_s, seed=seed, **case),
    )
    true_s = onsets_s + half_light_s(case.get("width_s", 0.002), case.get("tail_s", 0.0))
    return found, true_s


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"exposure_s": 0.003},
        {"exposure_s": 0.015, "line_delay_s": 4e-5},
        {"width_s": 0.0003, "tail_s": 0.001},
    ],
    ids=["led", "short exposure", "long exposure", "xenon"],
)
def test_edges_date_half_light(case):
    found, true_s = seen(**case)
    assert isinstance(found, FlashEdges)
    late_s = errors_s(
        found,
        true_s,
        line_delay_s=case.get("line_delay_s", 5e-5),
        exposure_s=case.get("exposure_s", 0.008),
    )
    assert late_s.size >= 12
    assert np.sqrt(np.mean(late_s**2)) < RAW_RMS_S
    assert np.max(np.abs(late_s)) < (TAIL_WORST_S if "tail_s" in case else RAW_WORST_S)
    assert abs(found.half_light_s - (true_s - onsets(1))[0]) < max(
        5e-5, 4.0 * found.half_light_std_s
    )


def test_errors_cover_what_encoders_would_add():
    scaled = []
    for seed in (1, 2):
        found, true_s = seen(seed)
        late_s = errors_s(found, true_s, line_delay_s=5e-5, exposure_s=0.008)
        scaled.append(late_s / (found.row_std_px * 5e-5))
    scaled = np.concatenate(scaled)
    assert scaled.size > 25
    assert np.mean(np.abs(scaled) < 1.96) > 0.9
    assert np.std(scaled) < 0.5


def test_exposure_that_wobbles_does_not_move_edges():
    onsets_s, line_delay_s = onsets(11), 2.5e-5
    gains = np.random.default_rng(12).normal(1.0, 0.015, 60)
    frames = footage(onsets_s, line_delay_s=line_delay_s, exposure_s=0.003)
    frames = (np.round(gain * frame) for gain, frame in zip(gains, frames, strict=True))
    frames = (np.clip(frame, 0, 255).astype(np.uint8) for frame in frames)
    found = detected(camera(line_delay_s=line_delay_s, exposure_s=0.003), frames)
    true_s = onsets_s + half_light_s(0.002)
    errors = errors_s(found, true_s, line_delay_s=line_delay_s, exposure_s=0.003)
    assert errors.size >= 10
    # Mistaken for light, 1.5 % shifts the half-light row of an 80-row ramp by 0.6 rows.
    assert np.sqrt(np.mean(errors**2)) < 0.4 * line_delay_s


def test_bands_without_plateau_are_timed():
    found, true_s = seen(exposure_s=0.002)
    late_s = errors_s(found, true_s, line_delay_s=5e-5, exposure_s=0.002)
    assert late_s.size >= 12
    assert np.sqrt(np.mean(late_s**2)) < 2 * RAW_RMS_S
    assert np.mean(np.abs(late_s / (found.row_std_px * 5e-5)) < 1.96) > 0.9


def test_pulses_that_overlap_are_not_taken_for_one():
    onsets_s = onsets(1)
    doubled_s = np.sort(np.append(onsets_s, onsets_s[::5] + 0.001))
    found = detected(camera(), footage(doubled_s))
    late_s = errors_s(found, doubled_s + 0.001, line_delay_s=5e-5, exposure_s=0.008)
    assert late_s.size >= 16
    # The image border cuts one of the doubled pulses before its light is twice that of the others.
    assert np.count_nonzero(np.abs(late_s) > 2 * RAW_WORST_S) <= 1


def test_clipped_flashes_give_no_edges():
    found = detected(camera(), footage(onsets(1), brightness=600.0))
    assert not isinstance(found, FlashEdges)


def test_lamp_that_stays_on_gives_no_edges():
    found = detected(camera(), footage([1.013], exposure_s=0.008, width_s=1.0, brightness=4000.0))
    assert not isinstance(found, FlashEdges)


def test_edges_of_one_band_share_a_number():
    found, _ = seen()
    numbers, counts = np.unique(found.band, return_counts=True)
    assert counts.max() == 2
    for number in numbers[counts == 2]:
        pair = found.band == number
        assert sorted(found.exposure_part[pair]) == [-0.5, 0.5]
        assert abs(np.ptp(found.row_px[pair]) - 160.0) < 2.0  # 8 ms at 50 us per row


def test_pulse_longer_than_the_exposure_is_dated_by_the_middle_of_its_band():
    found, true_s = seen(exposure_s=0.0015, width_s=0.004)
    assert np.all(found.exposure_part == 0.0)
    late_s = errors_s(found, true_s, line_delay_s=5e-5, exposure_s=0.0015)
    assert np.sqrt(np.mean(late_s**2)) < 2 * RAW_RMS_S
    assert abs(found.half_light_s - 0.002) < 5e-5


def test_several_bands_in_every_frame_are_told_apart():
    onsets_s = onsets(4, mean_s=0.03)
    found = detected(camera(), footage(onsets_s, seed=4))
    late_s = errors_s(found, onsets_s + 0.001, line_delay_s=5e-5, exposure_s=0.008)
    assert late_s.size > 70
    assert np.mean(np.abs(late_s) < RAW_WORST_S) > 0.95


@pytest.mark.parametrize(
    ("mean_s", "exposure_s", "width_s"),
    [(0.007, 0.008, 0.002), (0.005, 0.002, 0.001)],
    ids=["never dark", "short exposure"],
)
def test_pulses_that_leave_no_row_dark_give_no_edges(mean_s, exposure_s, width_s):
    onsets_s = onsets(8, mean_s=mean_s, duration_s=6.0)
    case = {"exposure_s": exposure_s, "width_s": width_s}
    found = detected(camera(72, exposure_s=exposure_s), footage(onsets_s, n=72, seed=8, **case))
    assert not isinstance(found, FlashEdges)


def test_crowded_frames_of_a_image_that_moves_give_no_edges():
    onsets_s = onsets(8, mean_s=0.007, duration_s=6.0)
    found = detected(camera(72), footage(onsets_s, n=72, seed=8, paint=turning))
    assert not isinstance(found, FlashEdges)


def test_ramps_are_not_taken_for_two_of_half_their_length():
    rng = np.random.default_rng(200)
    onsets_s = np.cumsum(0.02 * rng.uniform(0.7, 1.3, 750)) - 0.05
    found = detected(camera(48), footage(onsets_s[:260], n=48, seed=3, brightness=40.0))
    late_s = errors_s(found, onsets_s + 0.001, line_delay_s=5e-5, exposure_s=0.008)
    assert np.mean(np.abs(late_s) < RAW_WORST_S) > 0.95
    assert abs(found.half_light_s - 0.001) < max(5e-5, 2.0 * found.half_light_std_s)


def test_share_of_clipped_light_is_told():
    too_bright = detected(camera(), footage(onsets(1), brightness=600.0))
    assert too_bright.clipped_share > 0.5
    assert seen()[0].clipped_share < 0.05


def test_stated_exposure_does_not_move_edges():
    onsets_s = onsets(1)
    stated = detected(camera(), footage(onsets_s))
    unstated = detected(camera(exposure_s=None), footage(onsets_s))
    # It only rules out what cannot be the edge of a band.
    assert np.max(np.abs(stated.row_px - unstated.row_px)) < 1e-6
    assert unstated.exposure_s is None


def test_line_delay_need_not_be_known():
    found, stated = (
        detected(camera(**timing), footage(onsets(1))) for timing in ({"line_delay_s": None}, {})
    )
    assert isinstance(found, FlashEdges)
    assert found.line_delay_s is None
    # The ramps date half-light in rows: in seconds, it is as uncertain as the line delay.
    assert 0.4 < found.half_light_std_s / found.half_light_s < 0.6
    assert abs(found.half_light_s - stated.half_light_s) < 2.0 * found.half_light_std_s


def test_encoded_footage_is_timed(tmp_path):
    onsets_s = onsets(1)
    frames = map(exact_frame, footage(onsets_s))
    options = {"crf": "26", "preset": "veryfast", "bf": "0", "threads": "1"}
    path = write_video(tmp_path / "flashes.mp4", frames, rate=12, options=options)
    detector = FlashDetector(stream=camera())
    for frame in iter_luma(FrameFiles(paths=(str(path),))):
        detector.update(frame)
    found = detector.finish()
    late_s = errors_s(found, onsets_s + 0.001, line_delay_s=5e-5, exposure_s=0.008)
    assert late_s.size >= 12
    assert np.sqrt(np.average(late_s**2, weights=found.row_std_px**-2.0)) < CODED_RMS_S
    assert np.max(np.abs(late_s)) < CODED_WORST_S
    scaled = late_s / (found.row_std_px * 5e-5)
    assert np.mean(np.abs(scaled) < 1.96) > 0.9
    assert np.std(scaled) > 0.4


def passing_car(image, k, middle_s):
    image[200:300, (23 * k) % 250 : (23 * k) % 250 + 60] = 240.0
    return image


def tunnel(image, k, middle_s):
    return image * (0.5 if 20 <= k < 40 else 1.0)


def bumps(image, k, middle_s):
    return np.roll(image, round(12 * np.sin(2.1 * k)), axis=0)


def turning(image, k, middle_s):
    return np.roll(image, 37 * k, axis=1)


def gaining(image, k, middle_s):
    return image * (1.0 + 0.03 * np.sin(0.9 * k))


@pytest.mark.parametrize("paint", [passing_car, tunnel, bumps, turning, gaining])
def test_no_flash_is_seen_where_none_is(paint):
    assert detected(camera(), footage([], paint=paint)) is None


def test_moving_car_does_not_disturb():
    onsets_s = onsets(1)
    found = detected(camera(), footage(onsets_s, paint=passing_car))
    late_s = errors_s(found, onsets_s + 0.001, line_delay_s=5e-5, exposure_s=0.008)
    assert late_s.size >= 10
    assert np.sqrt(np.mean(late_s**2)) < 2 * RAW_RMS_S


def test_three_flashes_are_enough():
    onsets_s = np.array([0.2505, 0.7505, 1.2515])
    found = detected(camera(24), footage(onsets_s, n=24))
    late_s = errors_s(found, onsets_s + 0.001, line_delay_s=5e-5, exposure_s=0.008)
    assert found.frame_s.size >= 3
    assert np.max(np.abs(late_s)) < RAW_WORST_S
    assert found.half_light_std_s > 1e-4
    assert detected(camera(12), footage(onsets_s[:2], n=12)) is None


def test_later_frames_are_fitted_with_the_shape_learnt():
    onsets_s = onsets(6, mean_s=0.09, duration_s=12.0)
    found = detected(camera(140), footage(onsets_s, n=140))
    assert found.frame_index.max() > 110
    late_s = errors_s(found, onsets_s + 0.001, line_delay_s=5e-5, exposure_s=0.008)
    assert np.sqrt(np.mean(late_s**2)) < RAW_RMS_S


def test_only_neighbouring_frames_that_were_looked_at_are_watched():
    frames = list(footage(onsets(1)))
    detector = FlashDetector(stream=camera())
    for index in [*range(20), *range(30, 60)]:
        detector.update(Frame(index, frames[index]))
    found = detector.finish()
    expected = np.array([*range(1, 19), *range(30, 58)]) / 12.0
    assert np.max(np.abs(found.watched_s[:, 0] - expected)) < 1e-6
    assert np.max(np.abs(np.diff(found.watched_s, axis=1) - 1.0 / 12.0)) < 1e-6


GLOBAL = {"fps": 24.0, "line_delay_s": 0.0}


@pytest.mark.parametrize("exposure_s", [0.008, 0.02, 0.0415])
@pytest.mark.parametrize("width_s", [0.0005, 0.012, 0.03, 0.048])
def test_global_shutter_tells_between_which_exposures_a_light_went_on(width_s, exposure_s):
    onsets_s = np.cumsum(np.random.default_rng(5).uniform(0.3, 0.5, 18))
    frames = footage(onsets_s, n=200, width_s=width_s, exposure_s=exposure_s, **GLOBAL)
    found = detected(camera(200, exposure_s=exposure_s, **GLOBAL), frames)
    assert isinstance(found, FlashIntervals)
    assert found.quantity is Quantity.FLASH
    middle_s = 0.5 * (found.start_s + found.stop_s)
    nearest = np.argmin(np.abs(middle_s[:, None] - onsets_s - 0.5 * width_s), axis=1)
    changed_s = onsets_s[nearest] + width_s * (found.sense < 0)
    assert np.unique(changed_s).size == found.start_s.size >= 2
    assert np.all(found.start_s - 2.0 * found.std_s <= changed_s)
    assert np.all(changed_s <= found.stop_s + 2.0 * found.std_s)
    assert np.all(found.stop_s - found.start_s < 1.5 / 24.0)
    known = found.of_light(width_s + 1e-3)
    assert np.all(known.start_s - 2.0 * found.std_s <= changed_s)
    assert np.median(known.stop_s - known.start_s) < exposure_s + width_s + 2e-3


def test_recovering_gain_is_not_the_onset_of_the_next_light():
    """Before the weak light, the gain has recovered from the strong one; after it, it drops."""
    dark = [51.2, 51.3, 51.1, 51.1, 51.2] * 3
    course = [*dark, 108.8, 42.2, 44.2, 45.8, 47.1, 48.2, 48.7, 65.0, 46.4, 47.7, 48.4, 49.1, *dark]
    cells = np.repeat(np.array(course)[:, None], 32, axis=1)
    frame_s, nowhere = np.arange(len(course)) / 15.0, np.empty(0, dtype=np.int64)
    found = date_pulses(frame_s, cells, exposure_s=0.003, readout_s=0.0, switched=nowhere)
    strong, weak = frame_s[len(dark)], frame_s[len(dark) + 7]
    assert np.all(found.start_s < (strong, weak))
    assert np.all(found.stop_s > (strong, weak))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 12])
@pytest.mark.parametrize("size", [(16, 16), (1, 1), (9, 2), (7, 30), (480, 17)])
@pytest.mark.parametrize("line_delay_s", [None, 0.0, 5e-5])
def test_any_size_and_length_is_taken(n, size, line_delay_s):
    rng = np.random.default_rng(3)
    frames = [rng.integers(0, 256, size, dtype=np.uint8) for _ in range(n)]
    detector = watched(camera(12, line_delay_s=line_delay_s), frames)
    detector.finish()
    columns = detector.lit_columns()
    assert columns is None or 0 <= columns.start < columns.stop <= size[1]


def test_frames_without_stamps_and_of_other_sizes_are_left_out():
    frames = list(footage(onsets(1)))
    frames[10] = frames[10][:100]
    found = detected(camera(40), frames)
    assert found.frame_index.max() < 40


def test_clipped_blocks_are_left_out():
    def sky(image, k, middle_s):
        image[:, :120] = 254.0
        return image

    onsets_s = onsets(1)
    found = detected(camera(), footage(onsets_s, paint=sky))
    late_s = errors_s(found, onsets_s + 0.001, line_delay_s=5e-5, exposure_s=0.008)
    assert late_s.size >= 12
    assert np.sqrt(np.mean(late_s**2)) < 2 * RAW_RMS_S
