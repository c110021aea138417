"""Provide a small, read-only view of a data set's files, local or remote."""

from __future__ import annotations

import codecs
import fnmatch
import json
import posixpath
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from syncaudit.errors import ManifestError, StreamReadError, UsageError, one_line
from syncaudit.limits import ROW_CHARACTERS
from syncaudit.model import Clip, Origin, SourceSpec
from syncaudit.readers.access import file_system, is_url
from syncaudit.readers.uris import (
    local_file,
    local_path,
    natural_key,
    open_file,
    parent_of,
    read_bytes,
    resolve,
)

_CHUNK = 1 << 16


class Source:
    """Folder or single file that a format reads; nothing in it is ever written.

    Names are relative to `base_uri` with ``/`` between folders, as in manifests. Missing, empty or
    damaged files raise ManifestError.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        place = resolve(uri.rstrip("/") or "/")
        path = local_path(place)
        if path is not None:
            place = str(path.absolute())
            is_folder, exists = path.is_dir(), path.exists()
        else:
            is_folder, exists = _remote_kind(place)
        if not exists:
            raise UsageError("there is no such file or folder", path=uri, hint="Check the name.")
        self.file = None if is_folder else posixpath.basename(place.split("::")[0])
        """Name of the single file given by the user, or None for a folder."""
        self.base_uri = place if is_folder else parent_of(place)
        """Folder that names are relative to, absolute."""

    @property
    def parent_uri(self) -> str:
        """Folder that holds this one."""
        return parent_of(self.base_uri)

    def uri_of(self, name: str) -> str:
        """Return the absolute path or URL of a file or folder; "" is the source itself."""
        return resolve(name, self.base_uri) if name else self.base_uri

    def files(self, pattern: str = "*", folder: str = "") -> list[str]:
        """Return the matching files in a folder, in natural order; [] if there is no folder.

        If the user gave a single file, it is the only one in the top folder.
        """
        if self.file is not None and not folder:
            return [self.file] if fnmatch.fnmatchcase(self.file, pattern) else []
        return self._list(folder, pattern, want_folders=False)

    def folders(self, folder: str = "", pattern: str = "*") -> list[str]:
        """Return the matching folders in a folder, in natural order."""
        if self.file is not None and not folder:
            return []
        return self._list(folder, pattern, want_folders=True)

    def has(self, name: str) -> bool:
        """Return whether there is a file or folder with that name."""
        if self.file is not None and name != self.file:
            return False
        place = self.uri_of(name)
        path = local_path(place)
        return path.exists() if path is not None else _remote_kind(place)[1]

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with _worded_for_manifests():
            return read_bytes(self.uri_of(name))

    def read_json(self, name: str) -> Any:
        """Return the content of a JSON file."""
        data = self.read(name)
        try:
            return parse_json(data)
        except (ValueError, RecursionError) as error:
            raise _damaged(self, name, "", error) from error

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for reading as a stream."""
        with _worded_for_manifests(), open_file(self.uri_of(name)) as file:
            yield file

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """Yield a local path with the content of a file; a remote one is copied temporarily."""
        with _worded_for_manifests(), local_file(self.uri_of(name)) as path:
            yield path

    def clip(
        self,
        clip_id: str,
        sources: Mapping[str, SourceSpec],
        *,
        recording_id: str | None = None,
        origin: Origin | None = None,
    ) -> Clip:
        """Return a clip with files of this data set, by default a recording of its own."""
        return Clip(
            clip_id=clip_id,
            recording_id=clip_id if recording_id is None else recording_id,
            sources=sources,
            origin=origin,
            base_uri=self.base_uri,
        )

    def _list(self, folder: str, pattern: str, *, want_folders: bool) -> list[str]:
        place = self.uri_of(folder)
        path = local_path(place)
        if path is not None:
            if not path.is_dir():
                return []
            try:
                found = [
                    entry.name
                    for entry in path.iterdir()
                    if (entry.is_dir() if want_folders else entry.is_file())
                ]
            except OSError as error:
                raise _unlisted(place, error) from error
        else:
            found = _list_remote(place, "directory" if want_folders else "file")
        names = [name for name in found if fnmatch.fnmatchcase(name, pattern)]
        names.sort(key=natural_key)
        return [posixpath.join(folder, name) for name in names]


def parse_json(data: bytes) -> Any:
    """Parse UTF-8 JSON.

    ValueError also for half a surrogate pair, which cannot be written to a file; RecursionError if
    it is nested too deeply.
    """
    text = data.decode("utf-8-sig")
    content = json.loads(text)
    _refuse_half_pairs(text, content)
    return content


def _refuse_half_pairs(text: str, content: object) -> None:
    """Raise ValueError if parsed JSON holds half a surrogate pair, which requires escapes."""
    if "\\u" in text:
        json.dumps(content, ensure_ascii=False).encode()


@contextmanager
def _worded_for_manifests() -> Iterator[None]:
    """Turn a reader's error about a file into an error of the data set as a whole."""
    try:
        yield
    except StreamReadError as error:
        raise ManifestError(error.message, path=error.path, hint=error.hint) from error


def _remote_kind(place: str) -> tuple[bool, bool]:
    """Return (is a folder, exists) of a URL."""
    try:
        system, inner = file_system(place)
        return bool(system.isdir(inner)), bool(system.exists(inner))
    except (OSError, ValueError, ImportError) as error:
        raise UsageError(
            f"cannot be reached ({type(error).__name__}: {error})",
            path=place,
            hint="Check the URL, credentials, and that fsspec's package for it is installed.",
        ) from error


def _list_remote(place: str, kind: str) -> list[str]:
    try:
        system, inner = file_system(place)
        entries = system.ls(inner, detail=True) if system.isdir(inner) else []
    except (OSError, ValueError, RuntimeError) as error:
        raise _unlisted(place, error) from error
    return [
        posixpath.basename(str(entry["name"]).rstrip("/"))
        for entry in entries
        if entry["type"] == kind and str(entry["name"]).strip("/") != inner.strip("/")
    ]


def _unlisted(place: str, error: Exception) -> ManifestError:
    return ManifestError(
        f"the folder cannot be listed ({type(error).__name__}: {error})",
        path=place,
        hint="Check permissions or credentials.",
    )


def is_inside(path: Path, folder_uri: str) -> bool:
    """Return whether a local path lies in a folder."""
    if is_url(folder_uri):
        return False
    return path.resolve().is_relative_to(Path(folder_uri).resolve())


def iter_json_lines(source: Source, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield ("line 3", object) of a JSON Lines file."""
    with source.open(name) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = parse_json(line)
            except (ValueError, RecursionError) as error:
                raise _damaged(source, name, f"line {number}", error) from error
            yield f"line {number}", _checked(source, name, f"line {number}", row)


def iter_json_list(source: Source, name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file that is one list, which may take gigabytes, incrementally."""
    decoder = json.JSONDecoder()
    decode = codecs.getincrementaldecoder("utf-8")()
    text, at, number = "", 0, 0
    with source.open(name) as file:
        is_open = False
        while True:
            # For a long item, double the size each time: it is parsed again from its start.
            chunk = file.read(max(_CHUNK, len(text) - at))
            try:
                text = text[at:] + decode.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                raise _damaged(source, name, f"item {number}", error) from error
            at = 0
            if not is_open:
                at = _past(text, 0, "\ufeff \t\r\n")
                if at == len(text) and chunk:
                    continue
                if text[at : at + 1] != "[":
                    raise ManifestError(
                        "is not a list of objects", path=source.uri_of(name), hint="Copy it again."
                    )
                at, is_open = at + 1, True
            while True:
                at = start = _past(text, at, ", \t\r\n")
                if text[start : start + 1] == "]":
                    return
                try:
                    row, end = decoder.raw_decode(text, start)
                    _refuse_half_pairs(text[start:end], row)
                except (ValueError, RecursionError) as error:
                    if chunk and len(text) - start < ROW_CHARACTERS:
                        break  # the rest of this item is in the next chunk
                    raise _damaged(source, name, f"item {number}", error) from error
                if end == len(text) and chunk:
                    break
                at, number = end, number + 1
                yield _checked(source, name, f"item {number - 1}", row)


def _past(text: str, at: int, characters: str) -> int:
    while at < len(text) and text[at] in characters:
        at += 1
    return at


def _checked(source: Source, name: str, where: str, row: object) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ManifestError(f"{where} is not an object", path=source.uri_of(name))
    return row


def _damaged(source: Source, name: str, where: str, error: Exception) -> ManifestError:
    return ManifestError(
        f"{where} is not valid JSON ({one_line(error)})".lstrip(),
        path=source.uri_of(name),
        hint="Copy the file again.",
    )
