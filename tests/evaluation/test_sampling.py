"""Clips drawn for labelling."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from syncaudit.evaluation.sampling import balanced_sample, quotas, weekly_sample
from syncaudit.model import Verdict

COUNTS = {Verdict.PASS: 80, Verdict.REJECT: 15, Verdict.UNVERIFIED: 5}


def test_what_one_verdict_lacks_comes_from_the_others():
    assert quotas(COUNTS, 30) == {Verdict.UNVERIFIED: 5, Verdict.REJECT: 12, Verdict.PASS: 13}
    assert quotas(COUNTS, 6) == dict.fromkeys(reversed(list(COUNTS)), 2)
    assert quotas(COUNTS, 500) == COUNTS
    assert quotas({Verdict.PASS: 3, Verdict.REJECT: 0}, 2) == {Verdict.PASS: 2}


def test_sample_is_balanced_without_repeats_and_its_order_tells_nothing():
    verdicts = {f"{v}{k}": v for v, n in COUNTS.items() for k in range(n)}
    drawn = balanced_sample(verdicts, 30, 1)
    assert len(set(drawn)) == 30
    assert Counter(verdicts[name] for name in drawn) == quotas(COUNTS, 30)
    changes = sum(verdicts[a] != verdicts[b] for a, b in pairwise(drawn))
    assert changes > 10  # sorted by verdict it would be 2; shuffled it is 18 on average
    assert drawn == balanced_sample(verdicts, 30, 1)
    assert drawn != balanced_sample(verdicts, 30, 2)


def test_every_clip_is_drawn_as_often_as_others_of_its_verdict():
    verdicts = {f"{v}{k}": v for v, n in COUNTS.items() for k in range(n)}
    counts = Counter(name for seed in range(400) for name in balanced_sample(verdicts, 15, seed))
    rejected = [counts[name] for name, v in verdicts.items() if v is Verdict.REJECT]
    # 5 of 15, 400 times: 133 times each, with a standard deviation of 9.4.
    assert min(rejected) > 133 - 4 * 9.4
    assert max(rejected) < 133 + 4 * 9.4


def test_a_new_week_leaves_what_was_drawn_of_the_others():
    verdicts = {f"{v}{k}": v for v, n in COUNTS.items() for k in range(n)}
    weeks = {name: "2026-01-05" if k % 2 else "2026-01-12" for k, name in enumerate(verdicts)}
    drawn = weekly_sample(verdicts, weeks, 10, 0)
    assert Counter(weeks[name] for name in drawn) == {"2026-01-05": 10, "2026-01-12": 10}
    more = {f"new{k}": Verdict.REJECT for k in range(50)}
    later = weekly_sample(verdicts | more, weeks | dict.fromkeys(more, "2026-01-19"), 10, 0)
    assert later[:20] == drawn
