"""Everything becomes strict JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

from syncaudit.batch.json_encoding import json_line, to_plain
from syncaudit.model import Verdict
from testkit.fake_audits import POLICY, make_clip


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        (np.float32(0.5), 0.5),
        (np.float64("inf"), None),
        (np.int64(2**62), 2**62),
        (np.array([1.0, np.nan]), [1.0, None]),
        (True, True),
        (np.bool_(True), True),
        (Verdict.PASS, "pass"),
        ({"b", "a"}, ["a", "b"]),
        ({Verdict.PASS: (1, 2)}, {"pass": [1, 2]}),
        (Path("a/b"), "a/b"),
        (None, None),
    ],
)
def test_values_become_plain(value, expected):
    result = to_plain(value)
    assert result == expected
    assert type(result) is type(expected)


def test_clips_and_policies_become_json():
    assert json.loads(json_line(make_clip("ü")))["sources"]["imu"]["uri"] == "imu.csv"
    assert json.loads(json_line(POLICY))["kinds"]["camera"]["offset_s"] == 0.01
    assert "\n" not in json_line({"a": "x\ny"})


def test_what_has_no_plain_form_is_refused():
    with pytest.raises(TypeError, match="no plain form for object"):
        to_plain(object())
