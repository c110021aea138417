"""Workers that die or cannot start."""

import pytest

from syncaudit.batch.pool import Lost, map_isolated
from syncaudit.errors import SyncAuditError


class Unloadable:
    """Pickles well and breaks whoever unpickles it."""

    def __reduce__(self):
        return int, ("not a number",)

    def __call__(self, task):
        return task


def test_workers_that_cannot_start_are_an_error():
    with pytest.raises(SyncAuditError, match="worker processes cannot start"):
        list(map_isolated(Unloadable(), [1, 2], workers=1))


def test_no_tasks_start_no_workers():
    assert list(map_isolated(Unloadable(), [], workers=2)) == []


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [
        (None, "exceeded its time"),
        (-9, "memory"),
        (-11, "SIGSEGV"),
        (-99, "signal 99"),
        (7, "code 7"),
    ],
)
def test_endings_are_worded(exit_code, words):
    assert words in str(Lost(exit_code=exit_code))
