"""Policy files: profiles, layers, units and error messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncaudit.errors import PolicyError
from syncaudit.model import CameraSpec, Clip, ImuSpec, PairMeasurement, SourceKind
from syncaudit.policy import Limits, Policy, load_policy, profile_names


def write(folder: Path, text: str, name: str = "policy.toml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_default_profile_is_driving() -> None:
    policy = load_policy()
    assert policy == load_policy(profile="driving")
    assert policy.name == "driving"
    assert policy.confidence == 0.95
    assert policy.required_kinds == {"camera", "imu", "can", "transcript"}
    limits = {kind: policy.limits("x", kind).offset_s for kind in SourceKind}
    assert limits == pytest.approx(
        {
            "camera": 0.010,
            "imu": 0.005,
            "can": 0.020,
            "audio": 0.020,
            "transcript": 0.045,
            "events": 0.010,
            "state": 0.020,
        }
    )


def test_shipped_profiles() -> None:
    assert profile_names()[0] == "driving"
    assert set(profile_names()) == {"driving", "vla", "speech", "strict"}


@pytest.mark.parametrize("name", ["driving", "vla", "speech", "strict"])
def test_every_profile_limits_every_kind(name: str) -> None:
    policy = load_policy(profile=name)
    assert set(policy.kinds) == {str(kind) for kind in SourceKind}
    assert set(policy.preference) == set(policy.kinds)
    assert policy.baseline_only >= {"steering", "wheel_speed"}


def test_strict_is_tighter_than_driving() -> None:
    strict, driving = load_policy(profile="strict"), load_policy()
    for kind in SourceKind:
        assert strict.limits("x", kind).offset_s < driving.limits("x", kind).offset_s


def test_words_have_wider_limits_than_phones() -> None:
    phones = load_policy().limits("text", SourceKind.TRANSCRIPT)
    assert (phones.offset_warning_s, phones.offset_s) == (0.025, 0.045)
    words = phones.for_words()
    assert (words.offset_warning_s, words.offset_s) == (0.04, 0.08)
    camera = load_policy().limits("cam", SourceKind.CAMERA)
    assert camera.for_words() == camera


def test_warnings_can_be_switched_off(tmp_path: Path) -> None:
    path = write(tmp_path, '[kinds.transcript]\noffset_warning_ms = "off"\n')
    assert load_policy(path).limits("text", SourceKind.TRANSCRIPT).offset_warning_s is None


def test_file_extends_the_default_and_changes_single_keys(tmp_path: Path) -> None:
    path = write(tmp_path, "[kinds.camera]\noffset_ms = 7\n")
    policy = load_policy(path)
    assert policy.name == path
    assert policy.limits("x", "camera").offset_s == pytest.approx(0.007)
    assert policy.limits("x", "camera").jitter_s == load_policy().limits("x", "camera").jitter_s
    assert policy.limits("x", "imu") == load_policy().limits("x", "imu")


def test_file_extends_a_named_profile_or_the_one_asked_for(tmp_path: Path) -> None:
    named = load_policy(write(tmp_path, 'extends = "vla"\n'))
    asked = load_policy(write(tmp_path, "confidence = 0.99\n"), profile="vla")
    assert named.kinds == asked.kinds == load_policy(profile="vla").kinds
    assert asked.confidence == 0.99
    both = load_policy(write(tmp_path, 'extends = "vla"\n'), profile="vla")
    assert both.kinds == named.kinds


def test_file_extends_another_file_beside_it(tmp_path: Path) -> None:
    write(tmp_path, 'extends = "strict"\nmax_offset_s = 3.0\n', "base.toml")
    policy = load_policy(write(tmp_path, 'extends = "base.toml"\n[kinds.imu]\nstep_ms = 9\n'))
    assert policy.max_offset_s == 3.0
    assert policy.limits("imu", "imu").step_s == pytest.approx(0.009)
    assert policy.limits("imu", "imu").offset_s == pytest.approx(0.001)


def test_sources_override_by_pattern_and_exact_name(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        [sources.cam_rear]
        offset_ms = 50
        [sources."cam_*"]
        offset_ms = 15
        jitter_ms = "off"
        """,
    )
    policy = load_policy(path)
    assert policy.limits("cam_front", "camera").offset_s == pytest.approx(0.015)
    assert policy.limits("cam_rear", "camera").offset_s == pytest.approx(0.050)
    assert policy.limits("cam_rear", "camera").jitter_s is None
    assert policy.limits("top", "camera").offset_s == pytest.approx(0.010)


def test_baselines_and_methods(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'baseline_only = ["brake"]\n[baselines.steering]\noffset_ms = -45\ntolerance_ms = 12\n'
        "[baselines.brake]\noffset_ms = 100\n",
    )
    policy = load_policy(path)
    assert policy.baselines["steering"].offset_s == pytest.approx(-0.045)
    assert policy.baselines["steering"].tolerance_s == pytest.approx(0.012)
    assert policy.baselines["brake"].tolerance_s is None
    brake = PairMeasurement(source="a", target="b", method="brake", at_ns=0, why="no")
    assert policy.is_baseline_only(brake)


def test_units_are_converted_in_one_place(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "[kinds.imu]\noffset_ms=1\nstep_ms=2\njitter_ms=3\nbuffering_ms=4\nmax_gap_ms=5\n"
        "max_gap_periods=6\nmissing_share=0.1\nduplicate_share=0.2\nbackwards_share=0.3\n"
        "rate_hz=100\nrate_tolerance=0.5\ndrift_ppm=40\n",
    )
    limits = load_policy(path).limits("imu", "imu")
    assert limits == Limits(
        offset_s=pytest.approx(0.001),
        step_s=pytest.approx(0.002),
        jitter_s=pytest.approx(0.003),
        buffering_s=pytest.approx(0.004),
        max_gap_s=pytest.approx(0.005),
        max_gap_periods=6.0,
        missing_share=0.1,
        duplicate_share=0.2,
        backwards_share=0.3,
        rate_hz=100.0,
        rate_tolerance=0.5,
        drift_ppm=40.0,
    )


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("ofset = 3\n", r"unknown key 'ofset'"),
        ("[kinds.camera]\noffset_m = 3\n", r"unknown key 'kinds.camera.offset_m'.*'offset_ms'"),
        ("[sources.x]\njiter_ms = 3\n", r"unknown key 'sources.x.jiter_ms'.*'jitter_ms'"),
        ("[baselines.s]\noffset = 3\n", r"baselines.s"),
        ("[kinds.camra]\noffset_ms = 3\n", r"no kind of source named 'camra'.*'camera'"),
        ("[kinds.imu]\noffset_ms = -1\n", r"kinds.imu.offset_ms is -1, expected greater than 0"),
        ("[kinds.imu]\noffset_ms = 'ten'\n", r"kinds.imu.offset_ms is 'ten', expected a valid num"),
        ("[kinds.imu]\njitter_ms = 'no'\n", r"jitter_ms is 'no', expected a valid number or 'off'"),
        ("[kinds.imu]\noffset_ms = true\n", r"offset_ms is True, expected a valid number"),
        ("[kinds.imu]\noffset_ms = inf\n", r"offset_ms is inf, expected a finite number"),
        ("[kinds.imu]\nmissing_share = 2\n", r"missing_share is 2, expected less than or equal to"),
        ("confidence = 1.5\n", r"confidence is 1.5, expected less than 1"),
        ("required_kinds = ['lidar']\n", r"required_kinds.0 is 'lidar', expected 'camera', 'imu'"),
        ("kinds = 3\n", r"kinds is 3, expected a valid dictionary"),
        ("x = [\n", r"not valid TOML"),
        ("x = " + "[" * 50_000, r"not valid TOML"),
        ("extends = 'driven'\n", r"no profile named 'driven'.*'driving'"),
        ("extends = 'policy.toml'\n", r"extend each other in a circle"),
        ("extends = 'gone.toml'\n", r"policy file not found.*driving"),
    ],
)
def test_mistakes_are_worded(tmp_path: Path, text: str, match: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(PolicyError, match=match) as caught:
        load_policy(path)
    assert str(tmp_path) in str(caught.value)


def test_unknown_profile_suggests_the_nearest() -> None:
    with pytest.raises(PolicyError, match=r"no profile named 'drivin'.*Did you mean 'driving'"):
        load_policy(profile="drivin")


def test_profile_named_twice_must_agree(tmp_path: Path) -> None:
    path = write(tmp_path, 'extends = "strict"\n')
    with pytest.raises(PolicyError, match="extends 'strict', but the profile 'vla' was requested"):
        load_policy(path, profile="vla")


def test_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match="cannot be read as text"):
        load_policy(str(path))
    with pytest.raises(PolicyError, match=r"cannot be read as text: Is a directory\. Name"):
        load_policy(str(tmp_path))


def test_clock_tolerance_is_the_tightest_and_preference_the_most_trusted() -> None:
    clip = Clip(
        clip_id="c",
        recording_id="r",
        sources={
            "cam": CameraSpec(uri="a", clock="host"),
            "imu2": ImuSpec(uri="b", clock="host"),
            "cam2": CameraSpec(uri="c"),
            "imu": ImuSpec(uri="d"),
        },
    )
    policy = load_policy()
    assert policy.clock_tolerances(clip) == pytest.approx(
        {"host": 0.005, "cam2": 0.01, "imu": 0.005}
    )
    assert policy.clock_preference(clip) == ("host", "imu", "cam2")


def test_kind_without_limits_has_a_default() -> None:
    assert Policy(name="bare", kinds={}).limits("x", "camera") == Limits()
