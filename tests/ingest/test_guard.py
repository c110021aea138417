"""Bad samples are caught before the batch, named, and found in failing batches."""

import numpy as np
import pytest

from syncaudit.errors import UsageError
from syncaudit.ingest import BadSampleError, Expected, bisect, guard
from testkit.json_lines import read_json_lines


def sample(name, **fields):
    good = {"clip_id": name, "image": np.ones((3, 4), np.float32), "imu": {"gyro": [0.1, 0.2]}}
    return good | fields


def collate(samples):
    return [s["clip_id"] for s in samples]


BAD = {
    "nan": ({"image": np.full((3, 4), np.nan, np.float32)}, "12 of 12 values are NaN or infinite"),
    "inf": ({"imu": {"gyro": [0.1, float("inf")]}}, "imu.gyro: 1 of 2 values"),
    "empty": ({"image": np.empty((0, 4), np.float32)}, "image: empty"),
    "shape": ({"image": np.ones((4, 3), np.float32)}, r"shape \(4, 3\), expected \(3, None\)"),
    "dtype": ({"image": np.ones((3, 4))}, "type float64, expected float32"),
    "low": ({"image": -np.ones((3, 4), np.float32)}, "smallest value -1.0, expected at least 0"),
    "high": ({"image": 9 * np.ones((3, 4), np.float32)}, "largest value 9.0, expected at most 1"),
    "missing": ({"image": None}, "image: missing"),
}
WANTED = {"image": Expected(shape=(3, None), dtype="float32", low=0.0, high=1.0)}


@pytest.mark.parametrize("case", BAD)
def test_bad_samples_are_named_and_raised(case):
    change, words = BAD[case]
    guarded = guard(collate, expected=WANTED, on_bad="raise")
    with pytest.raises(BadSampleError, match=f"sample bad: .*{words}"):
        guarded([sample("good"), sample("bad", **change)])


@pytest.mark.parametrize("case", BAD)
def test_bad_samples_are_skipped_and_logged(case, tmp_path):
    guarded = guard(collate, expected=WANTED, log=tmp_path / "bad.jsonl")
    assert guarded([sample("a"), sample("bad", **BAD[case][0]), sample("b")]) == ["a", "b"]
    (row,) = read_json_lines(tmp_path / "bad.jsonl")
    assert row["sample"] == "bad"
    assert row["faults"]


def test_good_batches_pass_untouched():
    assert guard(collate, expected=WANTED)([sample("a"), sample("b")]) == ["a", "b"]


def test_a_batch_of_bad_samples_only_is_never_silent():
    with pytest.raises(BadSampleError, match=r"sample bad: .* \(and 1 more\)"):
        guard(collate)([sample("bad", image=np.array([np.nan]))] * 2)


def test_samples_without_an_id_are_told_by_their_place():
    with pytest.raises(BadSampleError, match="sample #1: 0: 1 of 1"):
        guard(list, on_bad="raise")([(np.zeros(1), "text"), (np.array([np.nan]), "text")])


def test_a_wrong_choice_is_refused():
    with pytest.raises(UsageError, match="on_bad is 'ignore'"):
        guard(collate, on_bad="ignore")


@pytest.mark.parametrize("guilty", [0, 13, 63])
def test_bisect_finds_the_one_guilty_sample(guilty):
    calls = []

    def breaks(samples):
        calls.append(len(samples))
        if guilty in samples:
            raise RuntimeError("CUDA error")

    assert bisect(list(range(64)), breaks) == [guilty]
    assert len(calls) < 30


def test_bisect_finds_two_that_break_only_together():
    def loss(samples):
        return float("nan") if {3, 11} <= set(samples) else 0.0

    assert sorted(bisect(list(range(16)), loss)) == [3, 11]


def test_bisect_of_a_good_batch_is_empty():
    assert bisect([1, 2, 3], sum) == []
