"""A diagnosis reports faults and is never affected by them."""

from __future__ import annotations

import os
import threading
from importlib import metadata
from pathlib import Path

import pytest

from syncaudit.decode.samples import SAMPLES
from syncaudit.doctor import GROUPS, Status, Symptom, decoding, examine_machine, packages
from syncaudit.doctor.decoding import probe_codecs, probe_gpu
from syncaudit.doctor.isolated import Answer, ask_python
from syncaudit.doctor.machine import probe_machine
from syncaudit.doctor.packages import probe_extras, probe_versions

GIB = 2**30


def by_name(symptoms: list[Symptom]) -> dict[str, Symptom]:
    return {symptom.name: symptom for symptom in symptoms}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Answer]:
    """Answer every question about Python by the first key contained in its lines."""
    known: dict[str, Answer] = {}

    def answer(code: str, *, environment: dict[str, str] | None = None, **_: object) -> Answer:
        asked = code + str((environment or {}).get("QT_QPA_PLATFORM", ""))
        return next(known[key] for key in known if key in asked)

    for module in (decoding, packages):
        monkeypatch.setattr(module, "ask_python", answer)
    return known


@pytest.mark.parametrize(
    ("code", "is_ok", "said"),
    [
        ("print('well')", True, "well"),
        ("raise ValueError('no such thing')", False, "no such thing"),
        ("import absent_package", False, "No module named 'absent_package'"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", False, "SIGSEGV"),
        ("import time; time.sleep(60)", False, "no answer within 1 s"),
        ("raise SystemExit(3)", False, "exit code 3"),
    ],
)
def test_lines_of_python_may_end_as_they_like(code: str, is_ok: bool, said: str) -> None:
    answer = ask_python(code, timeout_s=1.0 if "sleep" in code else 30.0)
    assert answer.is_ok is is_ok
    assert said in answer.said


def test_a_probe_that_fails_or_hangs_costs_its_group_only() -> None:
    end = threading.Event()

    def hang() -> list[Symptom]:
        end.wait(60.0)
        return []

    def fail() -> list[Symptom]:
        raise ZeroDivisionError("division by zero")

    well = Symptom(name="a", status=Status.OK, detail="1")
    found = examine_machine({"slow": hang, "bad": fail, "good": lambda: [well]}, timeout_s=0.2)
    end.set()
    assert list(found) == ["slow", "bad", "good"]
    assert [found[name][0].status for name in found] == [Status.UNKNOWN, Status.UNKNOWN, Status.OK]
    assert "no answer within 0.2 s" in found["slow"][0].detail
    assert "ZeroDivisionError" in found["bad"][0].detail


def test_samples_of_every_codec_decode_here() -> None:
    assert {symptom.name: symptom.status for symptom in probe_codecs()} == dict.fromkeys(
        SAMPLES, Status.OK
    )


def test_codecs_that_are_missing_are_told_with_a_cure(answers: dict[str, Answer]) -> None:
    answers["iter_luma"] = Answer(is_ok=True, said="H.264\t8\t\nHEVC\t0\tits codec is not known")
    found = by_name(probe_codecs())
    assert found["H.264"].status is Status.OK
    assert found["HEVC"].detail == "0 of 8 frames decoded: its codec is not known"
    assert found["AV1"].status is Status.FAULTY
    assert "pip install" in str(found["HEVC"].cure)


def test_a_decoder_that_crashes_is_told(answers: dict[str, Answer]) -> None:
    answers["iter_luma"] = Answer(is_ok=False, said="it crashed (SIGSEGV)")
    assert {each.status for each in probe_codecs()} == {Status.FAULTY}
    assert "SIGSEGV" in probe_codecs()[0].detail


def test_extras_come_from_the_package_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = [
        "numpy>=2.0",
        'ray[data]>=2.9; extra == "ray"',
        "asammdf>=7.4 ; extra == 'mdf'",
        'av>=17.0; extra == "ros"',
        'rosbags>=0.10; extra == "ros"',
        'pytest>=8; extra == "dev"',
    ]
    installed = {"asammdf": "8.0", "av": "18.0"}

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(metadata, "requires", lambda _: stated)
    monkeypatch.setattr(metadata, "version", version)
    found = by_name(probe_extras())
    assert sorted(found) == ["[mdf]", "[ray]", "[ros]"]
    assert (found["[mdf]"].status, found["[mdf]"].detail) == (Status.OK, "asammdf 8.0")
    assert found["[ros]"].detail == "lacks rosbags"
    assert found["[ray]"].cure == "pip install 'syncaudit[ray]'"
    versions = by_name(probe_versions())
    assert versions["numpy"].status is Status.FAULTY
    assert versions["opencv"].cure == "pip install opencv-python-headless"


def test_a_tree_that_was_never_installed_has_unknown_extras(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "requires", refuse)
    assert [each.status for each in probe_extras()] == [Status.UNKNOWN]


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "version"


def test_no_gpu_is_no_fault(no_gpu: Path, answers: dict[str, Answer]) -> None:
    answers["DECODERS"] = Answer(is_ok=True, said="no NVIDIA driver")
    assert {each.status for each in probe_gpu(no_gpu)} == {Status.ABSENT}


def test_a_gpu_without_the_video_capability_is_told(
    no_gpu: Path, tmp_path: Path, answers: dict[str, Answer]
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'NVIDIA H200, 575.57'\n")
    program.chmod(0o755)
    answers["libnvcuvid"] = Answer(is_ok=False, said="cannot open shared object file")
    answers["DECODERS"] = Answer(is_ok=False, said="it crashed (SIGSEGV)")
    found = by_name(probe_gpu(no_gpu))
    assert found["GPU"].detail == "NVIDIA H200, driver 575.57"
    assert found["NVDEC library"].status is Status.FAULTY
    assert "NVIDIA_DRIVER_CAPABILITIES" in str(found["NVDEC library"].cure)
    assert all(each.status is Status.ABSENT for name, each in found.items() if "decoder" in name)


@pytest.mark.parametrize("script", ["exit 9", "echo 'NVIDIA-SMI has failed'; exit 1"])
def test_an_nvidia_smi_that_fails_is_survived(
    no_gpu: Path, tmp_path: Path, answers: dict[str, Answer], script: str
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    no_gpu.write_text("NVRM version: 575")
    answers["libnvcuvid"] = Answer(is_ok=True, said="loads")
    answers["DECODERS"] = Answer(is_ok=True, said="")
    found = by_name(probe_gpu(no_gpu))
    assert found["GPU"].status is Status.UNKNOWN
    assert found["NVDEC library"].status is Status.OK


def test_a_viewer_without_a_display(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, Answer]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    answers["offscreen"] = Answer(is_ok=True, said="6.11.0\toffscreen")
    found = by_name(packages.probe_viewer())
    assert found["Qt"].detail == "PyQt 6.11.0"
    assert found["display"].status is Status.ABSENT
    monkeypatch.setenv("DISPLAY", ":0")
    answers["QApplication"] = Answer(is_ok=False, said="it crashed (SIGABRT)")
    assert "SIGABRT" in by_name(packages.probe_viewer())["display"].detail
    answers["QApplication"] = Answer(is_ok=True, said="6.11.0\txcb")
    assert by_name(packages.probe_viewer())["display"].detail == "windows open on xcb"


@pytest.mark.parametrize(
    ("said", "status", "cure"),
    [
        ("No module named 'PyQt6'", Status.ABSENT, "syncaudit[gui]"),
        ("libEGL.so.1: cannot open shared object file", Status.FAULTY, "libegl1"),
    ],
)
def test_a_qt_that_does_not_start(
    answers: dict[str, Answer], said: str, status: Status, cure: str
) -> None:
    answers["offscreen"] = Answer(is_ok=False, said=said)
    (qt,) = packages.probe_viewer()
    assert (qt.status, qt.detail) == (status, said)
    assert cure in str(qt.cure)


def test_aligners_are_told_with_how_they_were_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answers: dict[str, Answer]
) -> None:
    answers["pocketsphinx"] = Answer(is_ok=False, said="No module named 'pocketsphinx'")
    monkeypatch.delenv("SYNCAUDIT_MFA", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = by_name(packages.probe_speech())
    assert found["pocketsphinx"].cure == "pip install 'syncaudit[speech]'"
    assert found["MFA"].status is Status.ABSENT
    assert "conda create" in str(found["MFA"].cure)
    program = tmp_path / "mfa"
    program.write_text("#!/bin/sh\necho 3.4.3\n")
    program.chmod(0o755)
    assert by_name(packages.probe_speech())["MFA"].detail == "3.4.3 (called by: mfa)"


def machine(root: Path, **files: str) -> Path:
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (root / "dev" / "shm").mkdir(parents=True, exist_ok=True)
    return root


MEMORY = "MemTotal: 33554432 kB\nMemFree: 1 kB\nMemAvailable: 16777216 kB\nHugePages_Total: 0\n"


def test_a_machine_without_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(6))
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    root = machine(
        tmp_path,
        proc__meminfo=MEMORY,
        sys__fs__cgroup__cpu_dot_max="max 100000\n",
        sys__fs__cgroup__memory_dot_max="max\n",
    )
    found = by_name(probe_machine(root))
    assert found["cores"].detail == "6 of 8 usable"
    assert found["memory"].detail == "16.0 of 32.0 GiB free"
    assert "free in" in found["shared memory"].detail


@pytest.mark.parametrize(
    "files",
    [
        {
            "sys__fs__cgroup__cpu_dot_max": "150000 100000\n",
            "sys__fs__cgroup__memory_dot_max": f"{2 * GIB}\n",
        },
        {
            "sys__fs__cgroup__cpu__cpu_dot_cfs_quota_us": "150000\n",
            "sys__fs__cgroup__cpu__cpu_dot_cfs_period_us": "100000\n",
            "sys__fs__cgroup__memory__memory_dot_limit_in_bytes": f"{2 * GIB}\n",
        },
    ],
)
def test_limits_of_a_container_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8))
    found = by_name(probe_machine(machine(tmp_path, proc__meminfo=MEMORY, **files)))
    assert "the container's quota is 1.5" in found["cores"].detail
    assert found["cores"].cure == "--workers 2"
    assert "the container's limit is 2.0 GiB" in found["memory"].detail


def test_a_machine_that_says_nothing(tmp_path: Path) -> None:
    found = by_name(probe_machine(tmp_path))
    assert found["memory"].status is Status.UNKNOWN
    assert found["shared memory"].status is Status.UNKNOWN


def test_too_little_memory_is_a_fault(tmp_path: Path) -> None:
    little = "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n"
    memory = by_name(probe_machine(machine(tmp_path, proc__meminfo=little)))["memory"]
    assert memory.status is Status.FAULTY
    assert "--workers 1" in str(memory.cure)


def test_every_group_of_this_machine_answers() -> None:
    found = examine_machine(timeout_s=120.0)
    assert list(found) == list(GROUPS)
    assert all(symptoms for symptoms in found.values())
    assert not any("the probe failed" in each.detail for rows in found.values() for each in rows)
