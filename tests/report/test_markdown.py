"""A run in Markdown."""

from __future__ import annotations

from pathlib import Path

import yaml
from typer.main import get_command

from syncaudit.cli.app import build_app
from syncaudit.model import ClipVerdict
from syncaudit.report import Causes, write_markdown

ROOT = Path(__file__).parents[2]


def row(clip_id: str, code: str = "offset", source: str = "cam") -> ClipVerdict:
    reason = {"code": code, "source": source, "message": f"{source} is 35.1 ms early"}
    reason |= {"value": 0.0351, "limit": 0.01}
    return ClipVerdict.from_row({"clip_id": clip_id, "verdict": "reject", "reasons": [reason]})


def written(rows: list[ClipVerdict], folder: Path) -> list[str]:
    causes = Causes()
    for one in rows:
        causes.add(one)
    counts = {"pass": 2, "reject": len(rows), "unverified": 0}
    write_markdown(counts, causes.to_view(), rows, folder / "s.md")
    return (folder / "s.md").read_text(encoding="utf-8").splitlines()


def test_counts_causes_and_clips_are_told(tmp_path: Path) -> None:
    lines = written([row("a"), row("b")], tmp_path)
    assert lines[0] == "<!-- syncaudit -->"
    assert "| 2 | 2 | 0 |" in lines
    assert "| reject: early or late | cam | 2 | 35.1 ms early | syncaudit apply |" in lines
    assert r"- **b**: cam is 35\.1 ms early" in lines


def test_names_of_strangers_are_no_marks(tmp_path: Path) -> None:
    lines = written([row("<img src=x>|\n# a [b](c)", source="`rm` @all")], tmp_path)
    text = "\n".join(lines[1:])
    assert "<img" not in text.replace("\\<", "")
    assert len([line for line in lines if line.startswith("#")]) == 1
    assert r"\|" in text
    assert "](" not in text.replace("\\]", "").replace("\\(", "")
    assert "@all" not in text.replace(r"\@all", "")


def test_a_run_without_a_fault_has_counts_alone(tmp_path: Path) -> None:
    assert len(written([], tmp_path)) == 6


def test_hook_and_action_name_options_that_exist(tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    steps = " ".join(step.get("run", "") for step in action["runs"]["steps"])
    command = get_command(build_app()).commands["validate"]
    known = {name for option in command.params for name in option.opts}
    options = [word for word in f"{steps} {hook['entry']}".split() if word.startswith("--")]
    assert set(options) >= {"--out", "--sarif", "--summary-md", "--screen", "--fail-on"}
    assert known.issuperset(options)
