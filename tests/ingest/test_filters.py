"""Filters of map-style, streaming, WebDataset, Ray and Hugging Face data."""

import json
import pickle

import numpy as np
import pyarrow as pa
import pytest

from syncaudit.errors import MissingExtraError, UsageError
from syncaudit.ingest import (
    PassedBatches,
    PassedDataset,
    PassedRows,
    PassedStream,
    UnknownClipError,
    VerdictIndex,
    passed_samples,
    torch_stream,
)


@pytest.fixture
def verdicts():
    return VerdictIndex([("a", "pass"), ("b", "reject"), ("c", "unverified"), ("d", "pass")])


SAMPLES = [("a", 0), ("b", 1), ("a", 2), ("c", 3), ("d", 4)]


def test_map_style(verdicts):
    data = PassedDataset(SAMPLES, verdicts, [name for name, _ in SAMPLES])
    assert len(data) == 3
    assert [data[k] for k in range(3)] == [("a", 0), ("a", 2), ("d", 4)]
    assert data.indices == [0, 2, 4]


def test_map_style_by_function(verdicts):
    data = PassedDataset(SAMPLES, verdicts, lambda k: SAMPLES[k][0])
    assert data[-1] == ("d", 4)


def test_ids_that_do_not_fit_are_refused(verdicts):
    with pytest.raises(ValueError, match="2 clip ids for 5 samples"):
        PassedDataset(SAMPLES, verdicts, ["a", "b"])


def test_streams_can_be_read_again(verdicts):
    stream = PassedStream(SAMPLES, verdicts, lambda sample: sample[0])
    assert [n for _, n in stream] == [n for _, n in stream] == [0, 2, 4]


def test_an_unseen_clip_stops_a_stream(verdicts):
    stream = PassedStream([("z", 0)], verdicts, lambda sample: sample[0])
    with pytest.raises(UnknownClipError):
        list(stream)


def test_webdataset_stage(verdicts):
    stage = passed_samples(verdicts)
    samples = [{"__key__": name, "n": n} for name, n in SAMPLES]
    assert [s["n"] for s in stage(iter(samples))] == [0, 2, 4]


@pytest.mark.parametrize("part", ["syncaudit.json", "json"])
def test_exported_samples_name_their_clip(verdicts, part):
    rows = [json.dumps({"clip_id": name, "sources": {}}).encode() for name, _ in SAMPLES]
    samples = [{"__key__": "a", "__url__": "shard-000000.tar", part: row} for row in rows]
    admitted = list(passed_samples(verdicts)(samples))
    assert [sample[part] for sample in admitted] == [rows[0], rows[2], rows[4]]
    labels = [{"__key__": "a", part: content} for content in (b"[", b'{"clip_id": "b"}', [1])]
    assert list(passed_samples(verdicts)(labels)) == labels  # belong to the data set


def test_rows_for_ray_and_hugging_face(verdicts):
    predicate = pickle.loads(pickle.dumps(PassedRows(verdicts, "clip")))  # noqa: S301  # our own
    assert [n for name, n in SAMPLES if predicate({"clip": name})] == [0, 2, 4]


def test_torch_stream(verdicts):
    try:
        from torch.utils.data import DataLoader, IterableDataset
    except ImportError:
        with pytest.raises(MissingExtraError, match="torch"):
            torch_stream(SAMPLES, verdicts, lambda sample: sample[0])
        return
    stream = torch_stream(SAMPLES, verdicts, lambda sample: sample[0])
    assert isinstance(stream, IterableDataset)
    assert [int(n) for _, n in DataLoader(stream, batch_size=None)] == [0, 2, 4]


def test_samples_of_shards_go_by_shard_and_key():
    """Keys repeat between shards: the importer's ids contain the shard."""
    index = VerdictIndex([("a/0", "pass"), ("b/0", "reject"), ("plain", "pass")])
    samples = [
        {"__key__": "./0", "__url__": "/data/a.tar"},
        {"__key__": "0", "__url__": "s3://bucket/b.tar"},
        {"__key__": "plain", "__url__": "c.tar"},
    ]
    assert [s["__key__"] for s in passed_samples(index)(samples)] == ["./0", "plain"]
    with pytest.raises(UnknownClipError, match="'c/0'"):
        list(passed_samples(index)([{"__key__": "0", "__url__": "c.tar"}]))


BATCH = {"clip_id": ["a", "b", "d"], "x": [1, 2, 3]}


@pytest.mark.parametrize(
    ("batch", "values"),
    [
        (BATCH, lambda b: b["x"]),
        ({k: np.array(v) for k, v in BATCH.items()}, lambda b: b["x"].tolist()),
        (pa.table(BATCH), lambda b: b.column("x").to_pylist()),
    ],
    ids=["lists", "numpy", "arrow"],
)
def test_batches_keep_their_kind(verdicts, batch, values):
    keep = pickle.loads(pickle.dumps(PassedBatches(verdicts)))  # noqa: S301  # our own
    left = keep(batch)
    assert type(left) is type(batch)
    assert values(left) == [1, 3]


def test_pandas_frames_are_batches_too(verdicts):
    pandas = pytest.importorskip("pandas")
    left = PassedBatches(verdicts)(pandas.DataFrame(BATCH))
    assert left["x"].tolist() == [1, 3]


def test_an_unseen_clip_stops_a_batch(verdicts):
    with pytest.raises(UnknownClipError, match="'z'"):
        PassedBatches(verdicts)({"clip_id": ["a", "z"]})


@pytest.mark.parametrize("keep", [PassedRows, PassedBatches])
def test_a_wrong_column_is_named(verdicts, keep):
    with pytest.raises(UsageError, match="no column 'clip'"):
        keep(verdicts, "clip")({"clip_id": ["a"]})
