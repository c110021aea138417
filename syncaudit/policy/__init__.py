"""Is that good enough: limits from a policy file, and verdicts from figures (design, section 4)."""

from syncaudit.policy.judge import judge
from syncaudit.policy.limits import Baseline, Limits, Policy
from syncaudit.policy.load import DEFAULT_PROFILE, load_policy, profile_names

__all__ = [
    "DEFAULT_PROFILE",
    "Baseline",
    "Limits",
    "Policy",
    "judge",
    "load_policy",
    "profile_names",
]
