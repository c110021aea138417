"""Policies, and the baselines of a fleet, as policy files (TOML)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

from syncaudit.policy.fleet import FleetBaseline
from syncaudit.policy.limits import Limits, Policy, load_policy


def policy_text(baselines: Iterable[FleetBaseline], *, extends: str, title: str) -> str:
    """Return a policy file (TOML) with the baselines that enough clips show.

    Those of too few clips are left to the policy that it `extends`: a profile, or a file relative
    to the one that is written. `title` is the first comment.
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


def limits_text(
    limits_s: Mapping[str, float], *, extends: str, title: str, table: str = "kinds"
) -> str:
    """Return a policy file (TOML) with the largest offset of some kinds or sources.

    `table` is ``kinds`` or ``sources``; the rest is as for `policy_text`.
    """
    lines = [f"# {_on_one_line(title)}", "", f"extends = {_quoted(extends)}"]
    for kind, limit_s in limits_s.items():
        lines += ["", f"[{table}.{_quoted(kind)}]", f"offset_ms = {_ms(limit_s)}"]
    return "\n".join(lines) + "\n"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2f}"


def _quoted(text: str) -> str:
    """Return a TOML string: the same as JSON, except for one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _on_one_line(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def policy_toml(policy: Policy) -> str:
    """Return the text of a policy file: what is set, in the units of such files.

    Loaded again (`load_policy`), it is the same policy except for its name.
    """
    below = load_policy()  # what a file without `extends` extends
    lines = [
        *_lines(
            {
                "confidence": policy.confidence,
                "required_kinds": sorted(policy.required_kinds),
                "preference": list(policy.preference),
                "max_offset_s": policy.max_offset_s,
                "baseline_only": sorted(policy.baseline_only),
            }
        )
    ]
    for kind, limits in policy.kinds.items():
        lines += ["", f"[kinds.{kind}]"]
        lines += _lines(_as_written(asdict(limits), asdict(below.kinds.get(kind, Limits()))))
    for pattern, changes in policy.overrides.items():
        lines += ["", f"[sources.{_quoted(pattern)}]"]
        lines += _lines(_as_written(changes, changes))
    for method, baseline in policy.baselines.items():
        lines += ["", f"[baselines.{_quoted(method)}]"]
        lines += _lines(_as_written(asdict(baseline), {}))
    return "\n".join(lines) + "\n"


def _as_written(
    limits: Mapping[str, float | None], below: Mapping[str, float | None]
) -> dict[str, float | str]:
    """Return limits in milliseconds, and "off" where the policy below checks and these do not."""
    written: dict[str, float | str] = {}
    for key, value in limits.items():
        name = f"{key.removesuffix('_s')}_ms" if key.endswith("_s") else key
        if value is not None:
            # Not 14.999999999999998: limits are not stated with more digits.
            written[name] = float(f"{value * 1e3:.12g}") if key.endswith("_s") else value
        elif key in below and (below[key] is not None or limits is below):
            written[name] = "off"
    return written


def _lines(table: Mapping[str, float | str | list[str]]) -> Iterator[str]:
    for key, value in table.items():
        yield f"{key} = {json.dumps(value, ensure_ascii=False)}"
