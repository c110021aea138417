"""Defective frames appear in the verdict with their position, and the policy decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from syncaudit.decode import iter_luma
from syncaudit.model import (
    Activity,
    ClipEvidence,
    FrameFiles,
    Quantity,
    RotationIncrements,
    Verdict,
)
from syncaudit.pipeline import audit
from syncaudit.pipeline.camera_evidence import _movers
from syncaudit.policy import load_policy
from syncaudit.simulate import FrameFault, ImuConfig, RigConfig, SpoiltFrames, simulate_clip
from syncaudit.simulate.config import with_cameras
from syncaudit.simulate.packet_faults import copy_packets, with_flipped_bytes
from syncaudit.simulate.scenarios import with_all_cameras
from testkit.clip_folder import Folder
from testkit.manifest_rows import clip_of_row
from testkit.moving_body import EPOCH_NS, camera, imu, shaking
from testkit.streams import activity
from testkit.working_arm import arm, pictures


def faulty(folder: Path, fault: FrameFault) -> Path:
    config = with_all_cameras(
        RigConfig(style="highway", duration_s=8.0, imu=ImuConfig(rate_hz=100.0)),
        size_px=(320, 180),
        names=("cam_front", "cam_rear"),
    )
    simulate_clip(with_cameras(config, "cam_rear", frames=fault), folder, seed=12)
    return folder


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fault = FrameFault(
        frozen=((30, 45), (80, 96)), spoilt=(SpoiltFrames(how="black", first=55, stop=65),)
    )
    return faulty(tmp_path_factory.mktemp("frozen"), fault)


def test_a_frozen_and_a_black_spell_reject_with_their_places(clip: Folder, frozen: Path) -> None:
    verdict = type(clip)(frozen).audit()
    said = {(reason.code, reason.source): reason.message for reason in verdict.reasons}
    assert "from 6.67 s to 7.92 s (16 frames, 80 to 95)" in said["duplicate", "cam_rear"] or (
        "(15 frames, 30 to 44)" in said["duplicate", "cam_rear"]
    )
    assert (
        "cam_rear is black from 4.58 s to 5.33 s (10 frames, 55 to 64)"
        in (said["empty", "cam_rear"])
    )
    assert verdict.record is not None
    spells = [
        (str(spell.fault), spell.first, spell.last)
        for spell in verdict.record.pictures["cam_rear"].spells
    ]
    assert ("frozen", 30, 44) in spells
    assert ("frozen", 80, 95) in spells  # to the end: the front camera and the IMU continued
    assert verdict.record.pictures["cam_front"].counts == {}


def test_a_lenient_policy_only_warns(clip: Folder, frozen: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(
        '[kinds.camera]\nmax_frozen_ms = "off"\nfrozen_share = "off"\nmax_blank_ms = 2000.0\n'
    )
    verdict = type(clip)(frozen).audit(policy=load_policy(str(file)))
    codes = {(finding.code, finding.source) for finding in verdict.warnings}
    assert {("duplicate", "cam_rear"), ("empty", "cam_rear")} <= codes
    assert not {reason.code for reason in verdict.reasons} & {"duplicate", "empty"}


def test_a_damaged_packet_is_placed_up_to_the_next_key_frame(clip: Folder) -> None:
    rng = np.random.default_rng(3)
    whole = clip.path / "whole.mp4"
    (clip.path / "cam_rear.mp4").rename(whole)
    copy_packets(
        whole,
        clip.path / "cam_rear.mp4",
        lambda k, content: with_flipped_bytes(content, rng) if k == 50 else content,
    )
    with iter_luma(FrameFiles(paths=(str(whole),))) as frames:
        next_key = next(frame.index for frame in frames if frame.index > 50 and frame.is_key)
    verdict = clip.audit()
    assert verdict.verdict is Verdict.REJECT
    (reason,) = verdict.reasons
    assert (reason.code, reason.source) == ("corrupt", "cam_rear")
    assert f"50 to {next_key - 1})" in reason.message
    lenient = load_policy()
    kinds = dict(lenient.kinds) | {
        "camera": replace(lenient.kinds["camera"], damaged_share=0.5),
    }
    again = clip.audit(policy=replace(lenient, kinds=kinds))
    assert "corrupt" in {finding.code for finding in again.warnings}


@pytest.mark.parametrize("is_named", [True, False])
def test_a_single_image_that_is_none_leaves_the_others_their_stamps(
    tmp_path: Path, is_named: bool
) -> None:
    """It is known which one is missing: every frame has its own row, by name or by position."""
    rng = np.random.default_rng(0)
    (tmp_path / "p").mkdir()
    rows = ["timestamp_ns,file" if is_named else "timestamp_ns"]
    for k in range(24):
        name = f"{k:03d}.png"
        cv2.imwrite(str(tmp_path / "p" / name), rng.integers(0, 255, (48, 64), dtype=np.uint8))
        stamp_ns = 10**18 + k * 10**8 + int(rng.integers(0, 10**5))
        rows.append(f"{stamp_ns},{name}" if is_named else str(stamp_ns))
    (tmp_path / "p" / "010.png").write_bytes(b"no image")
    (tmp_path / "t.csv").write_text("\n".join(rows))
    camera = {"kind": "camera", "uri": "p", "timestamps": "t.csv"}
    row = {"clip_id": "a", "sources": {"cam": camera}}
    read = clip_of_row(tmp_path, row)
    verdict = audit(read)
    codes = {str(finding.code) for finding in verdict.reasons}
    assert "corrupt" in codes
    assert "length_mismatch" not in codes


GYROSCOPE = imu(shaking(1), 1)
OTHER = camera(shaking(2), 2, name="other")
SPEED = activity(
    "can", Quantity.SPEED, np.arange(200) / 10.0, np.full((200, 1), 3.0), epoch_ns=EPOCH_NS
)


def of_signals(*signals: Activity) -> ClipEvidence:
    return ClipEvidence(motion={each.source: {each.quantity: each} for each in signals})


def of_cameras(*turns: RotationIncrements) -> ClipEvidence:
    return ClipEvidence(rotations={each.source: each for each in turns})


@pytest.mark.parametrize(
    ("evidence", "has_moved", "is_all"),
    [
        (of_signals(GYROSCOPE), True, False),
        (of_signals(replace(GYROSCOPE, values=np.full_like(GYROSCOPE.values, 0.05))), False, False),
        (of_cameras(OTHER), True, False),
        (of_cameras(replace(OTHER, source="cam")), False, False),
        (of_cameras(replace(OTHER, angles_rad=np.zeros_like(OTHER.angles_rad))), False, False),
        (of_cameras(replace(OTHER, std_rad=np.ones_like(OTHER.std_rad))), False, False),
        (of_signals(SPEED), True, False),
        (of_signals(replace(SPEED, values=0.1 * SPEED.values)), False, False),
        (of_signals(SPEED), True, True),
        (of_signals(GYROSCOPE), False, True),  # a laboratory
    ],
    ids=[
        "gyroscope turns", "gyroscope has a bias", "other camera turns", "this camera turns",
        "other camera rests", "other camera is noisy", "vehicle rolls", "vehicle creeps",
        "vehicle rolls throughout", "gyroscope turns throughout",
    ],
)  # fmt: skip
def test_a_still_is_frozen_only_if_something_moved(
    evidence: ClipEvidence, has_moved: bool, is_all: bool
) -> None:
    span_ns = (EPOCH_NS + 5 * 10**9, EPOCH_NS + 8 * 10**9)
    assert any(_movers(span_ns, evidence, "cam", is_all=is_all)) is has_moved
    # The cameras of a robot are not fixed to whatever turns.
    robot = replace(evidence, image_motions={"cam": pictures(arm(1), 1)})
    is_vehicle = Quantity.SPEED in evidence.motion.get("can", {})
    assert any(_movers(span_ns, robot, "cam", is_all=is_all)) is (has_moved and is_vehicle)
