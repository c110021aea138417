"""Determine the policy that a generated policy file extends."""

from __future__ import annotations

import os
from pathlib import Path

from syncaudit.errors import UsageError

__all__ = ["extended_policy"]


def extended_policy(policy: Path | None, profile: str | None, out: Path) -> str:
    """Return the policy that a new file at `out` extends, as written in the file.

    UsageError if both are given, or the file would overwrite what it extends.
    """
    from syncaudit.policy import DEFAULT_PROFILE

    if policy is None:
        return profile or DEFAULT_PROFILE
    if profile is not None:
        raise UsageError(
            "--policy and --profile cannot be extended together",
            hint='Let the policy file name the profile: extends = "..."',
        )
    if policy.suffix != ".toml":
        raise UsageError("a policy that is extended must be a .toml file", path=str(policy))
    if policy.resolve() == out.resolve():
        raise UsageError(
            "the policy would be overwritten by the one that extends it",
            path=str(policy),
            hint="Choose another --out file.",
        )
    return Path(os.path.relpath(policy.resolve(), out.resolve().parent)).as_posix()
