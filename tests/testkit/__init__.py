"""What several tests share: synthetic recordings, stand-ins, writers of files, and runners.

pytest puts `tests/` and `benchmarks/` on the path (`pythonpath` in pyproject.toml), so that every
test, and every process that it spawns, imports it as `testkit`.
"""
