"""Copies of a video match; distinct recordings do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from syncaudit.cli.app import build_app
from syncaudit.splits.duplicates import Looks, likeness
from syncaudit.splits.fingerprint import MIN_AGREEMENT, STEP_S, Comparison, Fingerprint
from testkit.videos import grey_frame, write_video

Floats = NDArray[np.float64]
# 12 x 8 cells and their layout.
PLACES = np.stack(np.meshgrid(np.arange(12.0), np.arange(8.0)), axis=-1).reshape(-1, 2)


def scene(seed: int) -> Callable[[Floats], Floats]:
    """Return cells over time of blobs that wander over an image of constant brightness."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(0.3, 2.0, (12, 2))
    phases = rng.uniform(0.0, 2.0 * np.pi, (12, 2))
    sizes = rng.uniform(20.0, 60.0, 12)

    def cells(times_s: Floats) -> Floats:
        centres = np.array([6.0, 4.0]) * (1.0 + np.sin(rates * times_s[:, None, None] + phases))
        apart = PLACES[None, :, None] - centres[:, None]
        blobs = np.exp(-0.5 * np.sum(apart**2, axis=-1) / 1.5**2)
        return np.asarray(100.0 + blobs @ sizes)

    return cells


def seen(
    seed: int, start_s: float, stop_s: float, rate_hz: float = 12.0, gain: float = 1.0
) -> Fingerprint:
    times_s = np.arange(start_s, stop_s, 1.0 / rate_hz)
    return fingerprint(times_s, gain * scene(seed)(times_s))


def fingerprint(times_s: Floats, cells: Floats, noise_seed: int = 9) -> Fingerprint:
    noise = np.random.default_rng(noise_seed).normal(0.0, 0.3, cells.shape)
    return Fingerprint.of(times_s, (cells + noise).astype(np.float32))


def common_part(one: Fingerprint, other: Fingerprint) -> tuple[float, float, float] | None:
    return Comparison({0: one, 1: other}).common_part(0, 1)


@pytest.mark.parametrize(
    ("start_s", "stop_s", "rate_hz"),
    [(1.0, 20.0, 12.0), (2.37, 20.0, 30.0), (7.04, 11.0, 12.0), (0.0, 8.0, 10.0)],
)
def test_a_copy_is_found_with_its_place(start_s: float, stop_s: float, rate_hz: float) -> None:
    found = common_part(seen(1, 0.0, 20.0), seen(1, start_s, stop_s, rate_hz, gain=0.8))
    assert found is not None
    agreement, later_s, common_s = found
    assert agreement > 0.95
    assert later_s == pytest.approx(start_s, abs=STEP_S)
    assert common_s == pytest.approx(stop_s - start_s, abs=1.0)


def test_both_ways_round_say_the_same() -> None:
    one, other = seen(1, 0.0, 20.0), seen(1, 4.0, 15.0, rate_hz=10.0)
    there, back = common_part(one, other), common_part(other, one)
    assert there is not None
    assert back is not None
    assert there[0] == pytest.approx(back[0], abs=1e-6)
    assert there[1] == pytest.approx(-back[1])


def test_distinct_recordings_do_not_agree() -> None:
    """Seeds 1 to 12 against each other: 66 pairs, all time shifts that leave 3 s."""
    made = [seen(seed, 0.0, 20.0) for seed in range(1, 13)]
    pairs = [common_part(a, b) for a, b in combinations(made, 2)]
    assert pairs == [None] * len(pairs)


def lit(seed: int, pattern_seed: int = 0) -> tuple[Floats, Floats]:
    """Return 12 Hz frames of a parked car, some of them lit by lamps."""
    rng = np.random.default_rng(seed)
    times_s = np.arange(240) / 12.0
    pattern = np.random.default_rng(pattern_seed).uniform(10.0, 60.0, 96)
    return times_s, 20.0 + np.outer(rng.random(240) < 0.1, pattern)


def test_a_copy_that_lacks_flashes_is_found() -> None:
    """Every third frame is left out, with its flashes; the rest is as in the original."""
    times_s, cells = lit(1)
    is_left = np.arange(240) % 3 > 0
    whole = fingerprint(times_s, cells)
    found = common_part(whole, fingerprint(times_s[is_left], cells[is_left], 4))
    assert found is not None
    assert found[0] > 0.8
    assert common_part(whole, fingerprint(*lit(2))) is None


def test_a_copy_without_its_margins_is_found() -> None:
    one = seen(1, 0.0, 20.0)
    inner = np.asarray(one.cells, dtype=np.float32).reshape(-1, 8, 12)
    wide = np.stack([cv2.resize(cells, (300, 200)) for cells in inner])
    cells = np.stack([cv2.resize(c[8:-8, 12:-12], (12, 8), None, 0, 0, 3) for c in wide])
    found = common_part(one, Fingerprint.of(one.times_s, cells.reshape(-1, 96)))
    assert found is not None
    assert found[0] > 0.95


def test_nothing_but_noise_tells_a_still_scene() -> None:
    """The same noise is the same video; other noise is undecided, as `is_still` reports."""
    times_s = np.arange(240) / 12.0
    cells = np.tile(np.linspace(20.0, 200.0, 96), (240, 1))
    one, other = fingerprint(times_s, cells, 1), fingerprint(times_s, cells, 2)
    assert one.is_still
    assert common_part(one, one) is not None
    assert common_part(one, other) is None
    assert likeness(Looks.of(one), Looks.of(other)) > 0.99
    assert likeness(Looks.of(one), Looks.of(seen(1, 0.0, 20.0))) < 0.9


@pytest.mark.parametrize("n", [0, 1, 5])
def test_short_videos_have_no_changes(n: int) -> None:
    made = Fingerprint.of(np.arange(n) / 10.0, np.zeros((n, 96), dtype=np.float32))
    assert made.changes.shape == (0, 96)
    assert common_part(made, seen(1, 0.0, 20.0)) is None


def test_frames_out_of_order_are_put_in_order() -> None:
    times_s = np.arange(0.0, 5.0, 0.1)
    cells = scene(3)(times_s).astype(np.float32)
    mixed = np.random.default_rng(0).permutation(times_s.size)
    expected = Fingerprint.of(times_s, cells)
    made = Fingerprint.of(times_s[mixed], cells[mixed])
    assert made.changes == pytest.approx(expected.changes)
    assert np.array_equal(made.cells, expected.cells)


class TestCommand:
    """Re-encoded videos, as files."""

    @pytest.fixture
    def splits(self, tmp_path: Path) -> list[str]:
        def video(
            name: str, seed: int, start_s: float, width: int, height: int
        ) -> dict[str, object]:
            cells = scene(seed)(np.arange(start_s, 8.0, 1.0 / 12.0)).reshape(-1, 8, 12)
            frames = (
                grey_frame(cv2.resize(np.clip(f, 0, 255).astype(np.uint8), (width, height)))
                for f in cells
            )
            write_video(tmp_path / name, frames, rate=12, options={"crf": "32"})
            return {"kind": "camera", "uri": name, "start_ns": 0}

        rows = {
            "train": {"a": video("a.mp4", 1, 0.0, 192, 128), "b": video("b.mp4", 2, 0.0, 192, 128)},
            "val": {"c": video("c.mp4", 1, 1.0, 96, 64), "d": video("d.mp4", 3, 0.0, 192, 128)},
        }
        for name, clips in rows.items():
            lines = [
                json.dumps({"clip_id": clip_id, "sources": {"cam": source}})
                for clip_id, source in clips.items()
            ]
            (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        return [str(tmp_path / f"{name}.jsonl") for name in rows]

    def run(self, *words: str) -> tuple[int, str]:
        result = CliRunner().invoke(build_app(), ["check-split", *words, "--workers", "1"])
        return result.exit_code, result.output

    def test_a_copy_is_found_and_nothing_else(self, splits: list[str]) -> None:
        code, said = self.run(*splits, "--json")
        assert code == 1
        (copy,) = json.loads(said)["same_video"]
        assert copy["clips"] == ["a", "c"]
        assert copy["agreement"] > MIN_AGREEMENT
        assert copy["start_s"] == pytest.approx(1.0, abs=0.11)

    def test_without_video_names_alone_are_compared(self, splits: list[str]) -> None:
        code, said = self.run(*splits, "--no-video")
        assert code == 0
        assert "nothing shared was found" in said

    def test_clips_of_several_splits_are_listed(self, splits: list[str], tmp_path: Path) -> None:
        (tmp_path / "test.jsonl").write_text(Path(splits[0]).read_text())
        code, said = self.run(splits[0], str(tmp_path / "test.jsonl"), "--no-video")
        assert code == 1
        assert "✕ 2 clips in several splits" in said
        assert f"    a  ({splits[0]}: a, {tmp_path}/test.jsonl: a)" in said

    def test_a_video_that_cannot_be_decoded_is_told(self, splits: list[str]) -> None:
        (Path(splits[0]).parent / "b.mp4").write_bytes(b"no video")
        code, said = self.run(*splits)
        assert code == 1  # the copy is still found
        assert "1 video that could not be decoded" in said
        assert "b.mp4" in said

    def test_lists_of_one_manifest(self, splits: list[str], tmp_path: Path) -> None:
        for name, clip_id in (("x", "a"), ("y", "b")):
            (tmp_path / name).write_text(f"{clip_id}\n")
        lists = (str(tmp_path / "x"), str(tmp_path / "y"))
        assert self.run(*lists, "--manifest", splits[0])[0] == 0
        (tmp_path / "y").write_text("z\n")
        code, said = self.run(*lists, "--manifest", splits[0])
        assert code == 2
        assert "'z'" in said

    def test_still_videos_are_undecided_and_can_be_refused(self, tmp_path: Path) -> None:
        """Two recordings of one parked car: listed, and left out of validation by --strict."""
        frame = np.tile(np.linspace(20.0, 200.0, 96), (64, 1))
        for k, name in enumerate(("train", "val")):
            rng = np.random.default_rng(k)
            frames = (
                grey_frame((frame + rng.normal(0.0, 2.0, frame.shape)).astype(np.uint8))
                for _ in range(72)
            )
            write_video(tmp_path / f"{name}.mp4", frames, rate=12)
            source: dict[str, object] = {"kind": "camera", "uri": f"{name}.mp4", "start_ns": 0}
            row = {"clip_id": f"parked{k}", "sources": {"cam": source}}
            (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
        splits = [str(tmp_path / f"{name}.jsonl") for name in ("train", "val")]
        leaks = tmp_path / "leaks.txt"
        code, said = self.run(*splits, "--leaks", str(leaks))
        assert code == 0
        assert "1 pair of videos undecided" in said
        assert "parked1 cam  (nothing moves; similarity" in said
        assert "parked1" not in leaks.read_text()
        code, said = self.run(*splits, "--leaks", str(leaks), "--strict")
        assert code == 1
        assert "splits share data" in said
        assert "parked1" in leaks.read_text().splitlines()
