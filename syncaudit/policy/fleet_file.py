"""Write the baselines of a fleet as a policy file."""

from __future__ import annotations

import json
from collections.abc import Iterable

from syncaudit.policy.fleet import FleetBaseline

__all__ = ["policy_text"]


def policy_text(baselines: Iterable[FleetBaseline], *, extends: str, title: str) -> str:
    """Return a policy file (TOML) with the baselines that enough clips show.

    Parameters
    ----------
    baselines : iterable of FleetBaseline
        Those of too few clips are left to the policy below.
    extends : str
        Profile, or policy file relative to the one that is written.
    title : str
        First comment.
    """
    lines = [f"# {_on_one_line(title)}", "", f"extends = {_quoted(extends)}"]
    for item in baselines:
        if not item.is_known:
            continue
        spread = f"# {item.n_clips} clips, spread {_ms(item.spread_s)} ms"
        lines += ["", f"[baselines.{_quoted(item.name)}]  {spread}"]
        lines.append(f"offset_ms = {_ms(item.offset_s)}")
        if item.tolerance_s is None:
            lines.append(f"# tolerance_ms: the sources' own, {_ms(item.limit_s)} ms")
        else:
            lines.append(f"tolerance_ms = {_ms(item.tolerance_s)}")
    return "\n".join(lines) + "\n"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2f}"


def _quoted(text: str) -> str:
    """Return a TOML string: that of JSON, but for one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _on_one_line(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
