"""Frames unusable for training are found where they are, and clean ones are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.decode import Frame
from syncaudit.detectors import ImageAuditor
from syncaudit.model import CameraStream, ImageAudit, ImageFault
from testkit.streams import camera_stream

N_FRAMES = 90
PERIOD_NS = 50_000_000
SHAPE = (120, 160)


def stream(n_frames: int = N_FRAMES) -> CameraStream:
    return camera_stream(np.arange(n_frames, dtype=np.int64) * PERIOD_NS)


def scene() -> np.ndarray:
    """Return a wide image of smooth blobs, levels 40 to 200."""
    rng = np.random.default_rng(7)
    rough = rng.normal(size=(SHAPE[0], 900))
    spectrum = np.fft.rfft2(rough)
    down = np.fft.fftfreq(SHAPE[0])[:, None]
    across = np.fft.rfftfreq(900)[None, :]
    smooth = np.fft.irfft2(spectrum * np.exp(-400.0 * (down**2 + across**2)), s=rough.shape)
    return 120.0 + 80.0 * smooth / np.abs(smooth).max()


SCENE = scene()


def moving(noise: float = 1.0, px_per_frame: float = 6.0, n_frames: int = N_FRAMES) -> list:
    """Return frames that pan over the scene."""
    rng = np.random.default_rng(1)
    at = (np.arange(n_frames) * px_per_frame).astype(int)
    return [
        np.clip(SCENE[:, k : k + SHAPE[1]] + noise * rng.normal(size=SHAPE), 0, 255).astype(
            np.uint8
        )
        for k in at.tolist()
    ]


def audit(pictures: list, **options: object) -> ImageAudit:
    auditor = ImageAuditor(stream(len(pictures)))
    for index, frame in enumerate(pictures):
        auditor.update(Frame(index, frame, is_key=index % 24 == 0))
    return auditor.finish(**options)  # type: ignore[arg-type]


def the_spell(found: ImageAudit, fault: ImageFault) -> tuple[int, int]:
    assert set(found.counts) == {fault}
    (spell,) = found.spells
    return spell.first, spell.last


def test_moving_images_have_no_fault() -> None:
    assert audit(moving()).counts == {}
    assert audit(moving(noise=0.0)).counts == {}


def test_same_image_in_the_midst_of_motion_is_frozen() -> None:
    pictures = moving()
    pictures[40:55] = [pictures[39]] * 15
    found = audit(pictures)
    assert the_spell(found, ImageFault.FROZEN) == (40, 54)
    (spell,) = found.spells
    assert (spell.start_s, spell.stop_s) == pytest.approx((2.0, 2.7), abs=1e-9)
    assert spell.duration_s == pytest.approx(0.75, abs=1e-9)


def test_a_freeze_that_was_encoded_again_is_found() -> None:
    """As encoders leave it, the image settles after the first frame and changes at key frames."""
    pictures = moving(noise=0.0)
    held = pictures[39].astype(np.int64)
    rng = np.random.default_rng(2)
    pictures[40:60] = [pictures[39]] * 20
    settling = held + (rng.random(SHAPE) < 0.05)
    pictures[40] = settling.astype(np.uint8)
    pictures[48:60] = [np.clip(settling + rng.normal(0, 2, SHAPE), 0, 255).astype(np.uint8)] * 12
    auditor = ImageAuditor(stream())
    for index, frame in enumerate(pictures):
        auditor.update(Frame(index, frame, is_key=index % 24 == 0))
    first, last = the_spell(auditor.finish(), ImageFault.FROZEN)
    assert abs(first - 40) <= 2
    assert last == 59


def test_single_repeats_are_counted() -> None:
    pictures = moving()
    for k in (20, 45, 70):
        pictures[k] = pictures[k - 1]
    found = audit(pictures)
    assert found.counts == {ImageFault.FROZEN: 3}
    assert [spell.first for spell in found.spells] == [20, 45, 70]


@pytest.mark.parametrize("noise", [0.0, 0.02, 1.5])
def test_a_camera_at_rest_is_not_frozen(noise: float) -> None:
    assert audit(moving(noise=noise, px_per_frame=0.0)).counts == {}


def test_a_gradual_stop_without_noise_is_not_frozen() -> None:
    speed = np.concatenate([np.full(30, 8.0), np.linspace(8, 0, 12), np.zeros(20)])
    speed = np.concatenate([speed, np.linspace(0, 8, 12), np.full(16, 8.0)])
    at = np.cumsum(speed).astype(int)
    pictures = [SCENE[:, k : k + SHAPE[1]].astype(np.uint8) for k in at.tolist()]
    assert audit(pictures).counts == {}


def test_light_that_flashes_over_a_scene_at_rest_is_not_frozen() -> None:
    pictures = moving(noise=0.0, px_per_frame=0.0)
    for k in (10, 11, 30, 31, 32, 33, 50, 70, 71):
        lit = pictures[k].astype(np.int64)
        lit[10 + 7 * (k % 5) : 70 + 7 * (k % 5)] += 60
        pictures[k] = np.clip(lit, 0, 255).astype(np.uint8)
    assert audit(pictures).counts == {}


def test_motion_in_the_dark_is_not_frozen() -> None:
    """A tunnel reduces contrast, and with it the change from frame to frame."""
    pictures = moving()
    pictures[30:60] = [(frame * 0.05).astype(np.uint8) for frame in pictures[30:60]]
    assert ImageFault.FROZEN not in audit(pictures).counts


def test_a_still_to_the_end_is_frozen_if_something_else_moved() -> None:
    pictures = moving()
    pictures[60:] = [pictures[59]] * (N_FRAMES - 60)
    assert audit(pictures).counts == {}
    asked = []

    def has_moved(first: int, last: int, is_all: bool) -> bool:
        asked.append((first, last, is_all))
        return True

    assert the_spell(audit(pictures, has_moved=has_moved), ImageFault.FROZEN) == (60, 89)
    assert asked == [(60, 89, False)]
    assert audit(pictures, has_moved=lambda *_: False).counts == {}


def test_one_image_throughout_asks_for_more() -> None:
    pictures = [moving()[0]] * N_FRAMES
    asked = []
    audit(pictures, has_moved=lambda *where: asked.append(where[2]) or False)
    assert asked == [True]


@pytest.mark.parametrize(("level", "fault"), [(0, "blank"), (16, "blank"), (128, "blank")])
def test_images_of_one_colour_are_blank(level: int, fault: str) -> None:
    pictures = moving()
    pictures[20:40] = [np.full(SHAPE, level, np.uint8)] * 20
    found = audit(pictures)
    assert the_spell(found, ImageFault(fault)) == (20, 39)
    assert found.spells[0].level == level


def test_a_covered_lens_and_a_white_out_are_named() -> None:
    rng = np.random.default_rng(4)
    pictures = moving()
    pictures[20:40] = [rng.normal(22, 3, SHAPE).astype(np.uint8) for _ in range(20)]
    assert the_spell(audit(pictures), ImageFault.COVERED) == (20, 39)
    pictures = moving()
    pictures[20:40] = [(frame // 3 + 200).astype(np.uint8) for frame in pictures[20:40]]
    assert audit(pictures).counts == {}
    pictures[20:40] = [np.maximum(frame, 235) for frame in pictures[20:40]]
    assert the_spell(audit(pictures), ImageFault.WHITE) == (20, 39)


def test_black_in_the_dark_is_no_blank() -> None:
    """A night scene between lights is dark, not defective: a warning."""
    pictures = [np.clip(p // 20, 0, 255).astype(np.uint8) for p in moving()]
    pictures[30:50] = [np.full(SHAPE, 2, np.uint8)] * 20
    assert ImageFault.BLANK not in audit(pictures).counts


def test_grey_parts_and_cut_off_images_are_damage() -> None:
    pictures = moving()
    for k in (30, 31):
        pictures[k] = pictures[k].copy()
        pictures[k][70:] = 128
    assert the_spell(audit(pictures), ImageFault.GREY) == (30, 31)
    pictures = moving()
    for k in (30, 31):
        pictures[k] = pictures[k].copy()
        pictures[k][70:] = pictures[k][70]
    assert the_spell(audit(pictures), ImageFault.HALF) == (30, 31)


def test_a_gripper_that_comes_to_stand_upright_is_not_cut_off() -> None:
    """Its fingers before a plain table repeat one row, row by row over many frames."""
    pictures = moving(n_frames=120)
    stripe = np.where((np.arange(SHAPE[1]) // 40) % 2, 60, 150).astype(np.uint8)
    for k in range(30, 90):
        pictures[k] = pictures[k].copy()
        pictures[k][SHAPE[0] - min(k - 30, 90 - k) :] = stripe
    assert ImageFault.HALF not in audit(pictures).counts


def test_a_wall_that_an_exposure_brings_to_grey_is_no_damage() -> None:
    pictures = moving()
    # Auto-exposure dims frames from 30 on, passing the grey level that decoders fill in.
    for k, frame in enumerate(pictures):
        gain = float(np.clip(1.0 - 0.03 * (k - 28), 0.7, 1.0))
        frame[60:] = 150
        pictures[k] = np.round(gain * frame).astype(np.uint8)
    assert any((frame[60:] >= 126).all() and (frame[60:] < 131).all() for frame in pictures)
    assert ImageFault.GREY not in audit(pictures).counts


def test_bars_that_are_always_there_are_no_damage() -> None:
    pictures = moving()
    for frame in pictures:
        frame[90:] = 16
    assert audit(pictures).counts == {}


def test_damage_lasts_until_the_next_key_frame() -> None:
    auditor = ImageAuditor(stream())
    for index, frame in enumerate(moving()):
        auditor.update(Frame(index, frame, is_corrupt=index == 30, is_key=index % 24 == 0))
    assert the_spell(auditor.finish(), ImageFault.DAMAGED) == (30, 47)


def test_missing_and_odd_sized_images_are_placed() -> None:
    auditor = ImageAuditor(stream())
    for index, frame in enumerate(moving()):
        if not 30 <= index < 33:
            auditor.update(Frame(index, frame[:60] if index == 50 else frame))
    found = auditor.finish(expected=np.arange(N_FRAMES + 1))
    assert found.counts == {ImageFault.SIZE: 1, ImageFault.UNDECODED: 4}
    places = [(spell.fault, spell.first, spell.last) for spell in found.spells]
    assert places == [
        (ImageFault.UNDECODED, 30, 32),
        (ImageFault.SIZE, 50, 50),
        (ImageFault.UNDECODED, 90, 90),
    ]


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (8, 4), (16, 16)])
def test_tiny_images_do_no_harm(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    pictures = [rng.integers(0, 255, shape, dtype=np.uint8) for _ in range(70)]
    assert audit(pictures).frames == 70


def test_no_images_give_an_empty_audit() -> None:
    assert audit([]) == ImageAudit(frames=0)


def test_an_audit_survives_json() -> None:
    pictures = moving()
    pictures[20:40] = [np.zeros(SHAPE, np.uint8)] * 20
    found = audit(pictures, n_errors=2, first_error="x")
    assert ImageAudit.from_json(found.to_json()) == found
