"""The sample videos match what their generating script draws."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.decode import iter_luma, samples
from syncaudit.model import FrameFiles
from testkit.make_samples import CODECS, N_FRAMES, image

LEVEL_TOLERANCE = 3.0  # mean grey levels lost by coding


@pytest.mark.parametrize("codec", samples.SAMPLES)
def test_samples_show_the_images(codec: str) -> None:
    path = samples.SAMPLES[codec]
    is_full_range = CODECS[path.name][1].startswith("yuvj")
    frames = [frame.luma.astype(float) for frame in iter_luma(FrameFiles(paths=(str(path),)))]
    assert len(frames) == N_FRAMES == samples.N_FRAMES
    for index, luma in enumerate(frames):
        grey = image(index).astype(float)
        expected = grey if is_full_range else 16 + grey * 219 / 255
        assert np.abs(luma - expected).mean() < LEVEL_TOLERANCE
