"""Stages are timed, and told to whoever watches."""

from syncaudit.pipeline.stages import Stages


def test_watcher_is_told_every_stage_as_it_begins():
    told: list[str] = []
    stages = Stages(on_stage=told.append)
    for name in ("read", "decode", "decode"):
        with stages.spent_on(name):
            assert told[-1] == name
    assert told == ["read", "decode", "decode"]
    assert set(stages.seconds) == {"read", "decode"}
