"""Stores that do not respond, or only at the third attempt."""

from __future__ import annotations

import threading
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from syncaudit.errors import StreamReadError
from syncaudit.machine_faults import machine_fault
from syncaudit.readers import access
from syncaudit.readers.uris import open_file, read_bytes


class _Store(MemoryFileSystem):
    protocol = "memory"
    n_faults = 0
    silence = threading.Event()

    def open(self, path: str, mode: str = "rb", **settings: Any) -> Any:
        _fail(self)
        return super().open(path, mode, **settings)


def _fail(store: _Store) -> None:
    if _Store.n_faults < 0:
        _Store.silence.wait(10.0)
    if _Store.n_faults:
        _Store.n_faults -= 1
        raise ConnectionResetError(104, "reset by peer")


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> type[_Store]:
    fsspec.register_implementation("memory", _Store, clobber=True)
    monkeypatch.setattr(access, "_SILENT", set())
    monkeypatch.setattr(access, "_BACK_OFF_S", 0.0)
    monkeypatch.setattr(access, "REMOTE_WAIT_S", 0.3)
    monkeypatch.setattr(access, "_SILENT_WAIT_S", 0.01)
    _Store.n_faults = 0
    _Store.silence.clear()
    MemoryFileSystem().pipe("/a.bin", bytes(range(256)) * 20)
    yield _Store
    _Store.silence.set()
    fsspec.register_implementation("memory", MemoryFileSystem, clobber=True)


def test_faults_of_the_network_that_pass_are_tried_again(store: type[_Store]) -> None:
    store.n_faults = 2
    assert read_bytes("memory://a.bin") == bytes(range(256)) * 20


def test_faults_that_stay_are_told_as_those_of_the_machine(store: type[_Store]) -> None:
    store.n_faults = 9
    with pytest.raises(StreamReadError, match=r"memory://a\.bin: cannot be read") as caught:
        read_bytes("memory://a.bin")
    assert machine_fault(caught.value) is not None
    assert store.n_faults == 6


def test_store_that_never_answers_is_given_up_with_a_sentence(store: type[_Store]) -> None:
    store.n_faults = -1
    for _ in range(2):  # at once on the second attempt
        with pytest.raises(StreamReadError, match="did not answer within") as caught:
            read_bytes("memory://a.bin")
        assert machine_fault(caught.value) is not None


def test_parts_of_a_remote_file_are_read(store: type[_Store]) -> None:
    with open_file("memory://a.bin") as file:
        assert file.seek(-6, 2) == 5114
        assert file.read() == bytes(range(250, 256))
        assert (file.seek(256), file.read(3), file.tell()) == (256, bytes([0, 1, 2]), 259)


def test_file_that_is_missing_is_not_asked_for_again(store: type[_Store]) -> None:
    with pytest.raises(StreamReadError, match="file not found"):
        read_bytes("memory://none.bin")
