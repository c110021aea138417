"""Outputs on object stores: written locally, where files can be appended to, and uploaded.

A store cannot append to an object, and the ledger consists of appends. So a run writes to a folder
in the user's cache that belongs to the URL; the ledger is uploaded now and then, everything at the
end. A killed run finds its folder again, and a run on another machine downloads the ledger.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from syncaudit.batch.begin import check_outputs
from syncaudit.batch.episodes import KEEP_FILE
from syncaudit.batch.ledger import VerdictFile
from syncaudit.batch.outputs import OUTPUTS, RowMaker
from syncaudit.errors import UsageError, one_line
from syncaudit.readers.access import is_url, output_system, remote_version
from syncaudit.readers.uris import resolve
from syncaudit.writing import HEAD_BYTES, replace_text

_LEDGER = "verdicts.jsonl"
_SUMMARY = "summary.json"
_OUTDATED = f".{_LEDGER}.outdated"
_SENT = ".sent.json"  # state of the ledger in the store after the last upload from here
_SEND_EVERY_S = 60.0
_SHARE_OF_TIME = 0.05

_State = TypeVar("_State")


class OutputFolder:
    """Output location of a run; as a context it downloads what exists and uploads the results.

    `out` is a local folder or any fsspec URL. Local copies are in the user's cache by default;
    `force` also overwrites files there that syncaudit did not write. UsageError if `out` is empty;
    on entering, if the URL is not reachable and writable, or unrelated files lie there; on leaving,
    if the outputs cannot be uploaded: they are kept then.
    """

    def __init__(self, out: str, *, cache: Path | None = None, force: bool = False) -> None:
        if not out.strip():
            raise UsageError("--out is empty", hint="Name a folder; '.' is the working folder.")
        self._is_forced = force
        self.uri = _cleaned(out)
        self.is_remote = is_url(self.uri)
        self.folder = Path(self.uri)
        if self.is_remote:
            digest = hashlib.sha256(self.uri.encode()).hexdigest()[:16]
            name = re.sub(r"[^A-Za-z0-9_-]+", "_", self.uri)[-40:].strip("_")
            self.folder = (cache or _user_cache()) / "outputs" / f"{name}-{digest}"
        self._next_at = time.monotonic() + _SEND_EVERY_S
        self._is_announced = False

    def __enter__(self) -> OutputFolder:
        """Download the verdicts of an earlier run, and refuse a place with unrelated files."""
        if not self.is_remote:
            check_outputs(self.folder.resolve(), is_forced=self._is_forced)
            return self
        self.folder.mkdir(parents=True, exist_ok=True)
        with _reworded(self.uri, "the output folder cannot be written to"):
            system, place = _at(self.uri)
            system.makedirs(place, exist_ok=True)
            system.pipe_file(f"{place}/.probe", b"syncaudit was here\n")
            system.rm_file(f"{place}/.probe")
        if not self._is_forced:
            self._refuse_foreign()
        with _reworded(self.uri, "the verdicts of an earlier run cannot be fetched"):
            self._fetch(system, place)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Upload everything; the local copy is removed when all of it has arrived.

        After an error it stays for the next run, as another run may be writing to it.
        """
        if not self.is_remote or kind is not None or not (self.folder / _LEDGER).exists():
            return
        with _reworded(self.uri, f"the outputs cannot be sent; they are kept in {self.folder}"):
            self._send_all()
        shutil.rmtree(self.folder)

    def check_apart(self, folders: Iterable[str]) -> None:
        """Refuse to write to a URL that is also read from.

        UsageError if it is among `folders`; local folders are compared by the code that opens them.
        """
        for folder in folders:
            if self.is_remote and _cleaned(folder) == self.uri:
                raise UsageError(
                    f"{self.uri} holds what is to be read", hint="Choose another --out folder."
                )

    def sending(self, tell: Callable[[_State], None]) -> Callable[[_State], None]:
        """Return `tell` extended to upload the ledger now and then, in at most 5 % of the time."""
        if not self.is_remote:
            return tell

        def report(state: _State) -> None:
            tell(state)
            began = time.monotonic()
            if not self._is_announced:
                with _reworded(self.uri, "the output folder cannot be written to"):
                    self._announce()
            if began < self._next_at:
                return
            with suppress(Exception):  # stores raise their own types; the final upload reports it
                self.checkpoint()
            spent = time.monotonic() - began
            self._next_at = began + max(_SEND_EVERY_S, spent / _SHARE_OF_TIME)

        return report

    def checkpoint(self) -> None:
        """Upload the ledger as it is."""
        system, place = _at(self.uri)
        system.put_file(str(self.folder / _LEDGER), f"{place}/{_LEDGER}")
        version = remote_version(system.info(f"{place}/{_LEDGER}"))
        replace_text(self.folder / _SENT, json.dumps(version))

    def _announce(self) -> None:
        """Mark the outputs in the store as no longer complete."""
        system, place = _at(self.uri)
        path = self.folder / _SUMMARY
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"version": 1}
        text = json.dumps({**known, "complete": False, "stopped": "running"}, indent=2)
        system.pipe_file(f"{place}/{_SUMMARY}", text.encode("utf-8", "backslashreplace"))
        self._is_announced = True

    def _refuse_foreign(self) -> None:
        """Refuse a store with files named like outputs that syncaudit did not write."""
        with _reworded(self.uri, "the output folder cannot be read"):
            system, place = _at(self.uri)
            heads = {
                name: system.cat_file(f"{place}/{name}", start=0, end=HEAD_BYTES)
                for name in OUTPUTS
                if system.exists(f"{place}/{name}")
            }
        for name, head in heads.items():
            if head and not OUTPUTS[name].fits(head):
                raise UsageError(
                    "exists, and syncaudit did not write it",
                    path=f"{self.uri}/{name}",
                    hint="Choose another --out, or allow it with --force.",
                )

    def to_row(self, make: RowMaker) -> RowMaker:
        """Return a maker of manifest rows that resolve from their final location."""
        if not self.is_remote:
            return make
        return lambda clip, *, relative_to: make(clip, relative_to=self.uri)  # noqa: ARG005

    def _fetch(self, system: Any, place: str) -> None:
        """Download the store's ledger, unless the local one is the same or continues it."""
        sent = self.folder / _SENT
        known = json.loads(sent.read_text(encoding="utf-8")) if sent.exists() else None
        there = f"{place}/{_LEDGER}"
        version = remote_version(system.info(there)) if system.exists(there) else None
        if version == known:
            return
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        if version is None:
            return
        for name in (_OUTDATED, "errors.log", _SUMMARY, _LEDGER):
            if system.exists(f"{place}/{name}"):
                system.get_file(f"{place}/{name}", str(self.folder / name))
        replace_text(sent, json.dumps(version))

    def _send_all(self) -> None:
        system, place = _at(self.uri)
        self._announce()
        self.checkpoint()
        made = [path for path in sorted(self.folder.iterdir()) if path.is_file()]
        names = {path.name for path in made if not path.name.startswith(".")}
        names |= {_OUTDATED} & {path.name for path in made}
        # The summary last: it states that the run is complete.
        for name in sorted(names - {_LEDGER}, key=lambda name: (name == _SUMMARY, name)):
            system.put_file(str(self.folder / name), f"{place}/{name}")
        for name in {KEEP_FILE, _OUTDATED} - names:
            if system.exists(f"{place}/{name}"):
                system.rm_file(f"{place}/{name}")


def fetch_outputs(folder: str, scratch: Path) -> Path:
    """Return a local folder with the verdicts and the summary of a run.

    A local folder is returned as it is; that of a URL is copied into `scratch`, which the caller
    removes. UsageError if the URL cannot be reached or holds no verdicts.
    """
    uri = _cleaned(folder)
    if not is_url(uri):
        return Path(uri)
    target = scratch / hashlib.sha256(uri.encode()).hexdigest()[:16]
    target.mkdir(exist_ok=True)
    with _reworded(uri, "the verdicts cannot be read"):
        system, place = _at(uri)
        for name in (_LEDGER, _SUMMARY):
            if name == _LEDGER or system.exists(f"{place}/{name}"):
                system.get_file(f"{place}/{name}", str(target / name))
    return target


@contextmanager
def fetched_verdicts(out: str, *, partial: bool = False) -> Iterator[VerdictFile]:
    """Yield the verdicts of an output folder or of the file given, with their summary beside them.

    `out` is local or any fsspec URL, from which they are copied until the context ends; `partial`
    as for `VerdictFile`. UsageError if there are none.
    """
    with TemporaryDirectory(prefix="syncaudit-") as scratch:
        place = fetch_outputs(out, Path(scratch))
        yield VerdictFile(place if place.is_file() else place / _LEDGER, partial=partial)


def _cleaned(out: str) -> str:
    uri = resolve(out)
    bare = uri.rstrip("/")
    return bare if bare and is_url(bare) == is_url(uri) else uri


def _at(uri: str) -> tuple[Any, str]:
    system, place = output_system(uri)
    return system, place.rstrip("/")


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "syncaudit"


@contextmanager
def _reworded(uri: str, what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # every remote store raises its own types
        raise UsageError(
            f"{what} ({type(error).__name__}: {one_line(error)})",
            path=uri,
            hint="Check the URL and credentials, and that fsspec's package for it is installed.",
        ) from error
