"""Episodes of LeRobot, as they are and re-paired, and how tables are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from syncaudit.writing import make_parent, replacing
from syncaudit_calibration.apply.lerobot.cutting import VideoPackets
from syncaudit_calibration.apply.lerobot.pairing import Pairing
from syncaudit_calibration.apply.lerobot.statistics import Stats


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One original episode."""

    number: int  # episode number
    row: Mapping[str, Any]  # its row of the metadata, without statistics
    table: pa.Table  # its rows
    stats: Stats  # statistics of its features; empty if there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedEpisode:
    """An episode whose rows are re-paired."""

    episode: Episode  # the original
    pairing: Pairing  # of its sources
    moves: Mapping[str, int]  # number of frames by which each video feature moves, as in `Pairing`
    # Its videos by feature, if they have to be cut.
    cuts: Mapping[str, VideoPackets] = field(default_factory=dict)


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table atomically, creating its folder."""
    make_parent(path)
    with replacing(path) as file:
        pq.write_table(table, file)
