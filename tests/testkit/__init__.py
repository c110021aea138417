"""Helpers shared by several tests: synthetic recordings, stand-ins, file writers and runners.

pytest puts `tests/` and `benchmarks/` on the path (`pythonpath` in pyproject.toml), so that every
test, and every process that it spawns, imports it as `testkit`.
"""
