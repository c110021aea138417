"""Light faults of one camera: exact over the exposure, row by row, and only where configured."""

import numpy as np
import pytest

from syncaudit.simulate.camera import CameraConfig
from syncaudit.simulate.light_faults import AmbientStep, Headlight, LightFault
from syncaudit.simulate.sensor import Sensor

ROWS = 1.0 + 1e-4 * np.arange(100)


def test_no_fault_changes_nothing() -> None:
    pulses = np.array([0.5, 1.5])
    np.testing.assert_array_equal(LightFault().seen(pulses), pulses)
    assert LightFault().glare(ROWS, (100, 160)) is None
    assert LightFault().ambient(ROWS, 0.008) is None


def test_blind_camera_misses_pulses_and_false_flashes_are_its_own() -> None:
    fault = LightFault(blind_s=((0.0, 1.0),), false_flashes_s=(0.2, 1.2))
    seen = fault.seen(np.array([0.5, 1.0, 1.5]))
    np.testing.assert_array_equal(seen, [0.2, 1.0, 1.2, 1.5])


@pytest.mark.parametrize("ramp_s", [0.0, 0.003, 0.3])
def test_ambient_step_is_averaged_over_the_exposure(ramp_s: float) -> None:
    step = AmbientStep(at_s=1.004, factor=0.4, ramp_s=ramp_s)
    exposure_s = 0.002
    fine = np.linspace(-0.5, 0.5, 20_001) * exposure_s
    progress = np.clip((ROWS[:, None] + fine - 1.004) / max(ramp_s, 1e-12), 0, 1)
    expected = 1 - 0.6 * progress.mean(axis=1)
    np.testing.assert_allclose(step.gain(ROWS, exposure_s), expected, rtol=0, atol=1e-4)


def test_headlight_sweeps_and_leaves() -> None:
    light = Headlight(
        start_s=1.0, stop_s=2.0, from_xy=(0.0, 0.5), to_xy=(1.0, 0.5), brightness=400.0
    )
    fault = LightFault(headlights=(light,))
    places = []
    for time_s in (1.2, 1.5, 1.8):
        glare = fault.glare(time_s + 1e-5 * np.arange(100), (100, 160))
        assert glare is not None
        assert glare.max() == pytest.approx(400, abs=1)
        row, column = np.unravel_index(np.argmax(glare), glare.shape)
        assert row == pytest.approx(50, abs=1)
        places.append(column)
    np.testing.assert_allclose(places, [32, 80, 128], rtol=0, atol=1)
    assert fault.glare(ROWS + 1.5, (100, 160)) is None


def test_sensor_adds_glare_dims_the_scene_and_spares_the_flash() -> None:
    camera = CameraConfig(size_px=(64, 48), gain_wobble=0.0, read_noise=0.0, photon_noise=0.0)
    columns = np.linspace(1.0, 0.5, 64)
    sensor = Sensor(camera, 1, np.random.default_rng(2), falloff=columns)
    scene = np.full((48, 64), 100, np.uint8)
    flash = np.full(48, 40.0)
    plain = sensor.expose(scene, 0).astype(float)
    dim = sensor.expose(scene, 0, ambient=np.full(48, 0.5)).astype(float)
    np.testing.assert_allclose(dim, plain / 2, rtol=0, atol=1.01)  # both are rounded
    both = sensor.expose(scene, 0, flash, ambient=np.full(48, 0.5)) - dim
    bright = sensor.expose(scene, 0, flash) - plain
    np.testing.assert_allclose(both, bright, rtol=0, atol=2.01)
    assert bright[:, 0].mean() == pytest.approx(2 * bright[:, -1].mean(), abs=2)
    glare = np.zeros((48, 64))
    glare[10, 20] = 400.0
    lit = sensor.expose(scene, 0, glare=glare)
    assert lit[10, 20] == 255
    assert (np.delete(lit.ravel(), 10 * 64 + 20) == np.delete(plain.ravel(), 10 * 64 + 20)).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Headlight(start_s=2.0, stop_s=1.0), "leaves before it enters"),
        (lambda: Headlight(start_s=1.0, stop_s=2.0, size=0.0), "size"),
        (lambda: AmbientStep(at_s=0.0, factor=-1.0), "must not be negative"),
        (lambda: LightFault(blind_s=((2.0, 1.0),)), "ends before it starts"),
    ],
)
def test_impossible_faults_are_refused(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()  # type: ignore[operator]  # a constructor call
