"""Say why a match of a tier with its sound is not to be believed."""

from __future__ import annotations

from syncaudit.estimators.speech.search import Match
from syncaudit.model import SpokenTier

__all__ = ["is_foreign", "why_not", "why_not_followed"]

# Less says nothing, however clear.
MIN_PHONE_TIER_S = 2.0
MIN_WORD_TIER_S = 10.0
MIN_LABELS = 8
# Best lag over the second in robust deviations, and what the classes explain in all. Of 5,700 tiers
# of other speech (3 to 30 s; quiet, babble, rooms) two stood out by more than 6, and of those that
# did by more than 3.5 none explained more than 380 nats, whatever their length. Right tiers
# reach 8 and 390 in quiet from 5 s on, and 6 or 450 in rooms and noise of equal power from 12 s on.
CERTAIN_MARGIN = 6.0
MIN_MARGIN = 3.5
MIN_NATS = 450.0
# Phones of this length whose classes explain less of clear sound (nats a frame; contrast: the loud
# tenth over the quiet tenth of its frames, in nepers) are of other speech: right ones explain 0.38
# and more under another talker of equal power, 0.6 in rooms, 0.9 in quiet. Words are put so
# loosely by recognisers that the same of them is no evidence.
FOREIGN_GAIN = 0.2
CLEAR_CONTRAST = 2.6
FOREIGN_MARGIN = 3.0
FOREIGN_SPAN_S = 11.0
FRAMES_HZ = 100.0
# Share of borders that fit best between their neighbours: 54 % and more of right phones in rooms
# and noise of equal power, 40 to 60 % of words that a recogniser puts 50 to 80 ms off, 25 % of an
# alignment of the right words that is locally wrong by half a second.
MIN_SETTLED_PHONES, MIN_SETTLED_WORDS = 0.45, 0.35


def why_not(spoken: SpokenTier, match: Match, shared_s: float, max_offset_s: float) -> str | None:
    """Return why the match is not to be believed, or None."""
    needed_s = MIN_WORD_TIER_S if spoken.is_words else MIN_PHONE_TIER_S
    what = "words" if spoken.is_words else "phones"
    is_clear = match.margin >= MIN_MARGIN
    heard_s = min(shared_s, match.n_seconds) if is_clear else shared_s
    if heard_s < needed_s or spoken.n_labels < MIN_LABELS:
        return (
            f"{spoken.n_labels} {what} over {heard_s:.1f} s of sound are too "
            f"few: at least {MIN_LABELS} over {needed_s:g} s are needed"
        )
    nats = match.gain * FRAMES_HZ * match.n_seconds
    if match.margin < MIN_MARGIN or (match.margin < CERTAIN_MARGIN and nats < MIN_NATS):
        return (
            f"no offset within ± {max_offset_s:g} s stands out: the best beats the next by "
            f"{match.margin:.1f} robust deviations and explains {max(0.0, nats):.0f} nats; needed "
            f"{CERTAIN_MARGIN:g}, or {MIN_MARGIN:g} with {MIN_NATS:g} nats"
        )
    if match.is_at_edge:
        return f"it fits best at the edge of the search, ± {max_offset_s:g} s"
    if match.n_steps > 1:
        return f"the tier fits the sound piece by piece only: it jumps {match.n_steps} times"
    return None


def is_foreign(spoken: SpokenTier, match: Match, shared_s: float, contrast: float) -> bool:
    """Tell whether phones are shown to be of other speech, not merely unclear.

    Parameters
    ----------
    spoken, match
        Tier and its match, not to be believed.
    shared_s : float
        Seconds that tier and sound have in common.
    contrast : float
        Of the sound.
    """
    return (
        not spoken.is_words
        and match.margin < FOREIGN_MARGIN
        and match.gain < FOREIGN_GAIN
        and contrast > CLEAR_CONTRAST
        and shared_s >= FOREIGN_SPAN_S
    )


def why_not_followed(spoken: SpokenTier, settled: float) -> str | None:
    """Return why the fit of a tier is not to be believed, or None.

    Parameters
    ----------
    spoken : SpokenTier
        Tier.
    settled : float
        Share of its borders that fit best between their neighbours.
    """
    needed = MIN_SETTLED_WORDS if spoken.is_words else MIN_SETTLED_PHONES
    if settled >= needed:
        return None
    return (
        f"its times do not follow the sound: {100.0 * settled:.0f} % of its borders fit best "
        f"between their neighbours, needed {100.0 * needed:.0f} %"
    )
