"""The content of a manifest row survives transfer between processes."""

import copy
import pickle

import pytest

from syncaudit.model import CameraSpec, CanSpec, Clip, ImuSpec


@pytest.mark.parametrize(
    "spec",
    [
        CameraSpec(uri="a.mp4", start_ns=5, exposure_s=0.01, findings=["odd"]),
        ImuSpec(uri="imu.csv", rows=[3, 9], stamps="t"),
        CanSpec(uri="can.csv", clock="ecu"),
    ],
)
def test_clip_is_the_same_once_pickled_or_copied(spec: CameraSpec | ImuSpec | CanSpec) -> None:
    clip = Clip(clip_id="a", recording_id="r", sources={"x": spec}, base_uri="/data")
    for other in (pickle.loads(pickle.dumps(clip)), copy.deepcopy(clip)):  # noqa: S301  # ours
        assert other == clip
        assert type(other.sources["x"]) is type(spec)
    assert copy.copy(spec) == spec
