"""Draw the terminal output at 80 columns after an audit of 1, 16 and 1,000 clips.

The single clip and the sixteen are those of ``sample_data``, audited; the thousand are a simulated
fleet (``fleet.py``), judged by its measurements. ``python benchmarks/terminal.py --out FOLDER``
writes an SVG of each for inspection, and prints how many lines they take.
"""

from __future__ import annotations

import argparse
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from fleet import fleet, write_run
from rich.console import Console
from tables import print_table

import syncaudit
from syncaudit.batch import BatchSummary, run_batch
from syncaudit.cli.verdict_table import print_outcome
from syncaudit.policy import load_policy

SAMPLE = Path(__file__).resolve().parents[1] / "sample_data" / "manifest.jsonl"
WIDTH = 80


def drawn(summary: BatchSummary, out: str, path: Path) -> int:
    """Write the printed output of a run, and return its lines."""
    text = StringIO()
    console = Console(
        width=WIDTH, record=True, file=text, force_terminal=True, color_system="truecolor"
    )
    print_outcome(console, summary, out)
    console.save_svg(str(path), title=f"syncaudit validate --out {out}")
    return len(text.getvalue().splitlines())


def main() -> None:
    """Audit, draw, and count lines."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out" / "terminal")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    clips, policy = syncaudit.load_manifest(str(SAMPLE)), load_policy()
    drives = fleet(1, n_recordings=500)
    rows = []
    with TemporaryDirectory() as scratch:
        for n, chosen in ((1, clips[1:2]), (16, clips)):
            summary = run_batch(chosen, policy, out=Path(scratch) / str(n), audit=syncaudit.audit)
            rows.append([n, drawn(summary, "out", folder / f"clips_{n}.svg")])
        summary = write_run(drives, policy, Path(scratch) / "fleet")
        rows.append([len(drives), drawn(summary, "out", folder / f"clips_{len(drives)}.svg")])
    print_table(f"Lines at {WIDTH} columns", ["clips", "lines"], rows)


if __name__ == "__main__":
    main()
