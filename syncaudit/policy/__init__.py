"""Judge clips: limits from a policy file, and verdicts from figures (design, section 4)."""

from syncaudit.policy.case import Case, is_undecided
from syncaudit.policy.data_sets import calibration_of, data_set_row, is_outside
from syncaudit.policy.fleet import MIN_CLIPS, Fleet, FleetBaseline
from syncaudit.policy.images import judge_images
from syncaudit.policy.judge import judge
from syncaudit.policy.limits import Baseline, Limits, Policy
from syncaudit.policy.load import DEFAULT_PROFILE, load_policy, policy_from_plain, profile_names
from syncaudit.policy.recordings import judge_with_recording
from syncaudit.policy.toml_text import limits_text, policy_text, policy_toml

__all__ = [
    "DEFAULT_PROFILE",
    "MIN_CLIPS",
    "Baseline",
    "Case",
    "Fleet",
    "FleetBaseline",
    "Limits",
    "Policy",
    "calibration_of",
    "data_set_row",
    "is_outside",
    "is_undecided",
    "judge",
    "judge_images",
    "judge_with_recording",
    "limits_text",
    "load_policy",
    "policy_from_plain",
    "policy_text",
    "policy_toml",
    "profile_names",
]
