"""What is cached of pooled recordings, and when the cache is not trusted."""

from dataclasses import replace

import pytest

from syncaudit.batch.recordings import RecordingCache
from testkit.fake_audits import POLICY, make_clip

ROW = {"recording_id": "r", "clips": 2, "clocks": {"can": {"offset_s": 0.1}}}


@pytest.fixture
def members():
    return [(make_clip("a"), '{"a": 1}'), (make_clip("b"), '{"b": 2}')]


def remembered(tmp_path, members):
    pooled = RecordingCache(tmp_path, POLICY)
    pooled.keep(pooled.digest(members), ROW)
    pooled.write()
    return RecordingCache(tmp_path, POLICY)


def test_unchanged_recordings_are_known(tmp_path, members):
    pooled = remembered(tmp_path, members)
    assert pooled.row(pooled.digest(members)) == ROW
    pooled.write()  # the requested values are kept
    again = RecordingCache(tmp_path, POLICY)
    assert again.row(again.digest(members)) == ROW


def test_any_change_makes_a_recording_unknown(tmp_path, members):
    remembered(tmp_path, members)
    (first, line), second = members
    pooled, other = (
        RecordingCache(tmp_path, POLICY),
        RecordingCache(tmp_path, replace(POLICY, confidence=0.9)),
    )
    digests = [
        pooled.digest([(first, line + " "), second]),
        pooled.digest([(replace(first, reference="imu"), line), second]),
        pooled.digest([second, (first, line)]),
        pooled.digest([second]),
        other.digest(members),
    ]
    assert [pooled.row(digest) for digest in digests] == [None] * 5


def test_what_no_run_asks_for_is_forgotten(tmp_path, members):
    remembered(tmp_path, members).write()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]\n", b'{"digest": 1}\n', b"\xff\n", b"7\n"])
def test_damaged_memory_costs_time_only(tmp_path, members, content):
    remembered(tmp_path, members)
    (tmp_path / ".recordings.pooled").write_bytes(content)
    pooled = RecordingCache(tmp_path, POLICY)
    assert pooled.row(pooled.digest(members)) is None
