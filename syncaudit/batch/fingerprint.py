"""Detect whether a clip was already measured and judged under identical circumstances."""

from __future__ import annotations

import glob
import hashlib
import os
import posixpath
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from syncaudit import __version__
from syncaudit.batch.json_encoding import json_line, to_plain
from syncaudit.errors import StreamReadError
from syncaudit.model import CameraSpec, Clip
from syncaudit.plugins import DETECTORS, ESTIMATORS, versions_of
from syncaudit.policy import Policy
from syncaudit.readers.access import (
    answer_within,
    file_system,
    is_url,
    remote_version,
    treated_apart,
)
from syncaudit.readers.uris import files_named, parent_of, resolve

_Answer = TypeVar("_Answer")

# A store typically answers in 0.1 s; one that does not answer is not asked again.
_ANSWER_S = 20.0


def fingerprint_of(
    clip: Clip,
    policy: Policy,
    *,
    calibration: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    judged_by: str | None = None,
) -> str | None:
    """Return a digest of everything that a clip's verdict depends on, in two halves.

    The first half covers the measurement: the manifest row, the calibration, the search range, the
    versions of syncaudit and of third-party estimators, the size and modification time of every
    file named in the row or in a timestamp table of the row (the images of a camera), and which of
    these files are not opened, or not quoted, because they lie outside the roots. Contents are not
    read: that would cost as much as half an audit. The second half covers the policy, so that a
    clip whose first half is unchanged is judged again without its files.

    `settings` are further arguments of the audit that change what is measured; `judged_by` is the
    `policy_half` of `policy`, for callers that ask about many clips. The digests are hexadecimal,
    joined by a hyphen; None if a remote file cannot be queried, so that nothing is reused.
    """
    files: dict[str, object] = {}
    named: list[str] = []
    for spec in clip.sources.values():
        located = set(files_named(spec, clip.base_uri).values())
        if isinstance(spec, CameraSpec):
            images = _named_images(spec, clip.base_uri)
            if images is not None:  # only these, not the rest of their folder
                located.discard(resolve(spec.uri, clip.base_uri))
                named += images
                files[f"{spec.uri} by {spec.timestamps}"] = _states_of(images)
        named += located
        for place in located - files.keys():
            files[place] = _state_of(place)
    if None in files.values():
        return None
    subject: dict[str, object] = {
        "version": __version__,
        # Origin and recording equipment do not change what is measured.
        "row": replace(clip, origin=None, about={}),
        "max_offset_s": policy.max_offset_s,
        "calibration": to_plain(calibration),
        "files": files,
    }
    for name, group in (("estimators", ESTIMATORS), ("detectors", DETECTORS)):
        if added := versions_of(group):
            subject[name] = added
    if settings:
        subject["settings"] = to_plain(settings)
    if apart := treated_apart(named):
        subject["roots"] = apart
    return with_policy(_digest(subject), judged_by or policy_half(policy), clip.about)


def content_half(fingerprint: str) -> str:
    """Return the half that identifies the measurement."""
    return fingerprint.partition("-")[0]


def policy_half(policy: Policy) -> str:
    """Return the half that identifies the policy."""
    return _digest(policy)[:16]


def with_policy(fingerprint: str, judged_by: str, about: Mapping[str, str]) -> str:
    """Return a fingerprint, or its first half, with another `policy_half`.

    The recording equipment goes into that half as well: rows that state different equipment are
    rewritten without decoding anything.
    """
    if about:
        judged_by = _digest({"policy": judged_by, "about": about})[:16]
    return f"{content_half(fingerprint)}-{judged_by}"


def _digest(subject: object) -> str:
    return hashlib.sha256(json_line(subject, sort_keys=True).encode()).hexdigest()[:32]


def _named_images(spec: CameraSpec, base_uri: str) -> list[str] | None:
    """Return the images named in a camera's timestamp table; None if it is not made of images."""
    if spec.timestamps is None:
        return None
    place = resolve(spec.uri, base_uri)
    # `Path.is_dir` raises if a name is too long.
    is_folder = not PurePosixPath(place).suffix if is_url(place) else os.path.isdir(place)  # noqa: PTH112
    if not is_folder:
        return None  # a video: its table need not be read
    from syncaudit.readers.camera import named_images  # heavy

    try:
        return named_images(spec, base_uri)
    except StreamReadError:
        return None  # the audit reports what is wrong with the table


def _states_of(uris: Sequence[str]) -> object | None:
    """Return the state of many files: one call per local file, one listing per remote folder."""
    listings: dict[str, Mapping[str, object]] = {}
    states: list[object] = []
    for uri in uris:
        place = uri.rpartition("::")[2]
        if not is_url(place):
            states.append(_local_state(place))
            continue
        folder = parent_of(place)
        if folder not in listings:
            listed = _listed(folder)
            if listed is None:
                return None
            listings[folder] = listed
        states.append(listings[folder].get(posixpath.basename(place)))
    return states


def _state_of(uri: str) -> object | None:
    uri = uri.rpartition("::")[2]  # for a member of an archive: the archive
    if is_url(uri):
        return _asked(uri, lambda system, path: remote_version(system.info(path)) or None)
    if glob.has_magic(uri) and not os.path.exists(uri):  # noqa: PTH110  # as above
        found = sorted(glob.glob(uri, recursive=True))  # noqa: PTH207  # absolute patterns too
        return [_local_state(name) for name in found]
    return _local_state(uri)


def _local_state(place: str) -> object:
    try:
        status = os.stat(place)  # noqa: PTH116  # for every file of every clip
    except (OSError, ValueError):
        # For a missing file use its folder, which changes when the file appears.
        path = Path(place)
        parent = path.parent
        return ["absent"] if parent == path else ["within", _own_state(parent)]
    if stat.S_ISDIR(status.st_mode):
        try:
            return [[child.name, *_own_state(child)] for child in sorted(Path(place).iterdir())]
        except OSError:
            return [status.st_mtime_ns]
    return [status.st_size, status.st_mtime_ns]


def _own_state(path: Path) -> list[int | str]:
    for candidate in (path, *path.parents):
        try:
            status = candidate.stat()
        except (OSError, ValueError):
            continue
        return [status.st_size, status.st_mtime_ns]
    return ["absent"]


def _listed(folder: str) -> dict[str, object] | None:
    """Return file states by name in a remote folder; None if it cannot be listed."""

    def listed(system: Any, path: str) -> dict[str, object]:
        entries = system.ls(path, detail=True)
        return {posixpath.basename(entry["name"]): remote_version(entry) for entry in entries}

    return _asked(folder, listed)


def _asked(place: str, question: Callable[[Any, str], _Answer]) -> _Answer | None:
    """Return a store's answer about a place, or None if there is none."""

    def ask() -> _Answer | None:
        try:
            return question(*file_system(place))
        except Exception:  # noqa: BLE001  # every remote store raises its own types
            return None

    return answer_within(_ANSWER_S, place, ask, None)
