"""Judge clips: limits from a policy file, and verdicts from figures (design, section 4)."""

from syncaudit.policy.case import Case, is_undecided
from syncaudit.policy.images import judge_images
from syncaudit.policy.judge import judge
from syncaudit.policy.limits import (
    DEFAULT_PROFILE,
    Baseline,
    Limits,
    Policy,
    load_policy,
    policy_from_plain,
    profile_names,
)

__all__ = [
    "DEFAULT_PROFILE",
    "Baseline",
    "Case",
    "Limits",
    "Policy",
    "is_undecided",
    "judge",
    "judge_images",
    "load_policy",
    "policy_from_plain",
    "profile_names",
]
