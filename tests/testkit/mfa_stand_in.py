"""Output and configuration of the stand-in for the Montreal Forced Aligner."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from syncaudit.model import Interval, Tier
from syncaudit.speech.tiers.writing import TIER_WRITERS

FAKE = Path(__file__).with_name("fake_mfa.py")


def textgrid(
    words: Sequence[tuple[float, float, str]],
    phones: Sequence[tuple[float, float, str]],
    duration_s: float = 2.0,
    prefix: str = "",
) -> str:
    tiers = [
        Tier(
            name=f"{prefix}{name}",
            intervals=tuple(Interval(start_s=a, stop_s=b, label=label) for a, b, label in rows),
        )
        for name, rows in (("words", words), ("phones", phones))
    ]
    return TIER_WRITERS[".textgrid"](tiers, duration_s=duration_s, name="x")


HELLO = textgrid(
    [(0.5, 0.9, "hello"), (0.9, 1.4, "world")],
    [(0.5, 0.6, "HH"), (0.6, 0.9, "AH0"), (0.9, 1.1, "W"), (1.1, 1.4, "ER1")],
)


@dataclass
class FakeMfa:
    """Configure the stand-in and record how it was called."""

    folder: Path
    plan: dict[str, Any] = field(default_factory=dict)

    def set(self, **plan: Any) -> None:
        self.plan |= {"log": str(self.folder / "log.jsonl"), **plan}
        (self.folder / "plan.json").write_text(json.dumps(self.plan), encoding="utf-8")

    @property
    def calls(self) -> list[dict[str, Any]]:
        path = self.folder / "log.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
