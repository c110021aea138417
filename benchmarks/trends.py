"""Count the changes over weeks that the report finds in simulated fleets, planted and false ones.

There are two versions of each fleet (``fleet.py``: 300 clips, 10 vehicles, 12 weeks): one in which
cam_rear moves by 3 ms with new software in four vehicles and vehicle v07 gets a camera 35 ms late,
and one in which nothing changes. ``python benchmarks/trends.py`` prints a table and writes
``benchmarks/out/trends.json``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fleet import BROKEN, CAMERAS, fleet
from tables import print_table, write_json

from syncaudit.pipeline import conclude
from syncaudit.policy import load_policy
from syncaudit.report.trends import Trends

OUT = Path(__file__).parent / "out" / "trends.json"


def changes(seed: int, *, is_changing: bool) -> list[dict[str, str]]:
    """Return the changes that the report lists for a fleet."""
    policy = load_policy()
    trends = Trends(dict.fromkeys((*CAMERAS, "can"), 0.01))
    for drive in fleet(seed, is_changing=is_changing):
        trends.add(conclude(drive.clip, drive.record, policy)[1])
    found: list[dict[str, str]] = trends.to_view()["changes"]
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fleets", type=int, default=20)
    n = parser.parse_args().fleets
    camera = software = others = false = 0
    for seed in range(n):
        told = changes(seed, is_changing=True)
        broken = [c for c in told if BROKEN in c["scope"] and "cam_left" in c["what"]]
        moved = [c for c in told if "cam_rear" in c["what"]]
        camera += any("03-0" in change["when"] for change in broken)
        software += any("02-" in c["when"] and "2.3 → 2.4" in c["with"] for c in moved)
        planted = (c for c in told if "cam_left" in c["what"] or "cam_rear" in c["what"])
        others += len(told) - len(list(planted)) - sum("share" in c["what"] for c in told)
        false += bool(changes(seed, is_changing=False))
    rows = [
        ["camera of one vehicle 35 ms late", n, camera],
        ["cam_rear 3 ms earlier by new software", n, software],
        ["changes of other sources", n, others],
        ["fleets without a change in which one is told", n, false],
    ]
    print_table("Changes over weeks", ["", "fleets", "told"], rows)
    write_json(OUT, {"rows": rows})


if __name__ == "__main__":
    main()
