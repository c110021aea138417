"""What frames must show before their edges are dated."""

import numpy as np
import pytest

from syncaudit.detectors.flash.learning import learn
from syncaudit.detectors.flash.lit_frames import LitFrames

HEIGHT, N_BLOCKS = 480, 16
# A read-out shorter than the exposure, and a light that rises about as long: no frame of such a
# camera shows a ramp whole.
EXPOSURE_PX, RISE_PX = 829.0, 923.0


def rising(first_px):
    """Return the light of rows, of a light that begins to rise at a row of the picture or above."""
    x = np.arange(HEIGHT) - first_px

    def arrived(u):
        return 0.5 * np.maximum(u, 0.0) ** 2

    ends = arrived(x) - arrived(x - EXPOSURE_PX) - arrived(x - RISE_PX)
    return (ends + arrived(x - EXPOSURE_PX - RISE_PX)) / (EXPOSURE_PX * RISE_PX)


def gathered(light):
    """Return frames that show such light beside even noise."""
    rng = np.random.default_rng(2)
    shape = (len(light), HEIGHT, N_BLOCKS)
    background = np.repeat(rng.uniform(40.0, 120.0, (1, *shape[1:])), len(light), axis=0)
    excess = light[:, :, None] * (24.0 + 0.3 * background) + rng.normal(0.0, 0.5, shape)
    ones, nothing = np.ones(len(light)), np.zeros(len(light))
    return LitFrames(
        index=10 * np.arange(len(light)),
        excess=excess.astype(np.float32),
        background=background.astype(np.float32),
        is_clean=np.ones(shape, dtype=np.bool_),
        is_known=np.ones(shape[:2], dtype=np.bool_),
        share=np.median(excess / (background + 16.0), axis=2),
        variance=np.full(shape[1:], 0.25),
        clipped_share=nothing,
        sense=nothing.astype(np.int64),
        is_late=nothing > 0.0,
        gain=ones,
        gain_std=0.01 * ones,
        scale=ones,
        scale_std=0.02 * ones,
    )


@pytest.mark.parametrize("first_px", [(-400.0, -150.0), (-400.0, -300.0), (-600.0, -400.0)])
def test_parts_of_a_ramp_are_not_taken_for_a_ramp(first_px):
    # Half of the light came 876 rows after the first of it, below the picture mostly.
    rows = np.random.default_rng(1).uniform(*first_px, 7)
    lit = gathered(np.array([*(rising(row) for row in rows), np.ones(HEIGHT)]))
    learnt = learn(lit, exposure_px=EXPOSURE_PX)
    assert learnt is None or not learnt.edges
