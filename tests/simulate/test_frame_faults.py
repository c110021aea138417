"""Lost and duplicated frames: the content of the file and its timestamps."""

import numpy as np
import pytest

from syncaudit.simulate.frame_faults import SPOILS, FrameFault, SpoiltFrames

ALL = np.ones(6, dtype=bool)


def apply(fault: FrameFault) -> tuple[list[int], list[int]]:
    encoded, stamped = fault.apply(ALL)
    return encoded.tolist(), stamped.tolist()


def test_nothing_is_lost_by_default() -> None:
    assert apply(FrameFault()) == ([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5])


def test_frame_and_stamp_are_lost_together() -> None:
    assert apply(FrameFault(dropped=(2,))) == ([0, 1, 3, 4, 5], [0, 1, 3, 4, 5])


def test_lost_frame_can_leave_its_stamp() -> None:
    fault = FrameFault(dropped=(2,), drop_mode="frame_only")
    assert apply(fault) == ([0, 1, 3, 4, 5], [0, 1, 2, 3, 4, 5])


def test_slip_gives_later_frames_earlier_stamps() -> None:
    fault = FrameFault(dropped=(2,), drop_mode="slip")
    assert apply(fault) == ([0, 1, 3, 4, 5], [0, 1, 2, 3, 4])


def test_doubled_frame_shows_the_one_before() -> None:
    assert apply(FrameFault(doubled=(3,))) == ([0, 1, 2, 2, 4, 5], [0, 1, 2, 3, 4, 5])


def test_frozen_range_shows_the_frame_before_it() -> None:
    assert apply(FrameFault(frozen=((2, 4),))) == ([0, 1, 1, 1, 4, 5], [0, 1, 2, 3, 4, 5])


@pytest.mark.parametrize("how", SPOILS)
def test_spoilt_images_lie_in_their_range_only(how: str) -> None:
    luma = np.random.default_rng(1).integers(30, 120, (48, 64), dtype=np.uint8)
    fault = FrameFault(spoilt=(SpoiltFrames(how=how, first=2, stop=4),))
    changed = [bool((fault.spoil(luma, k) != luma).any()) for k in range(6)]
    assert changed == [False, False, True, True, False, False]


def test_bad_spells_are_refused() -> None:
    with pytest.raises(ValueError, match="how is 'torn'"):
        SpoiltFrames(how="torn", first=0, stop=1)
    with pytest.raises(ValueError, match="are no range"):
        SpoiltFrames(how="black", first=3, stop=3)
    with pytest.raises(ValueError, match="begin at 1 or later"):
        FrameFault(frozen=((0, 3),))


def test_bad_mode_and_index_are_refused() -> None:
    with pytest.raises(ValueError, match="drop_mode is 'shred'"):
        FrameFault(drop_mode="shred")
    with pytest.raises(ValueError, match="doubled frames from 1"):
        FrameFault(doubled=(0,))
