"""Tell whether a clip was measured before, and judged, under the very same circumstances."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Mapping
from pathlib import Path

from syncaudit import __version__
from syncaudit.batch.plain import json_line, plain
from syncaudit.model import Clip
from syncaudit.policy import Policy
from syncaudit.readers.uris import is_url, resolve

__all__ = ["FILE_KEYS", "content_half", "fingerprint_of", "with_policy"]

# Keys of a source that name files (formats, section 2).
FILE_KEYS = ("uri", "timestamps", "dbc", "arrivals")

# Where remote file systems keep what changes with the content.
_REMOTE_MARKS = ("size", "ETag", "etag", "mtime", "LastModified", "last_modified", "md5Hash")


def fingerprint_of(
    clip: Clip,
    policy: Policy,
    *,
    calibration: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
) -> str | None:
    """Return a digest of everything that a clip's verdict depends on, in two halves.

    The first half covers what is measured: the manifest row, the calibration, the search range,
    the version of syncaudit, and the size and modification time of every file the row names.
    Contents are not read: that would cost as much as half an audit. The second half covers the
    policy, so that a clip whose first half is unchanged is judged again without its files.

    Parameters
    ----------
    clip : Clip
        The manifest row.
    policy : Policy
        What is judged by.
    calibration : mapping, optional
        Known corrections.
    settings : mapping, optional
        Further arguments of the audit that change what is measured.

    Returns
    -------
    str or None
        Hexadecimal digests with a hyphen between; None where a remote file cannot be asked, so
        that nothing is reused.
    """
    files: dict[str, object] = {}
    for spec in clip.sources.values():
        for key in FILE_KEYS:
            uri = getattr(spec, key, None)
            if not uri:
                continue
            located = resolve(str(uri), clip.base_uri)
            if located not in files:
                marks = _marks_of(located)
                if marks is None:
                    return None
                files[located] = marks
    subject: dict[str, object] = {
        "version": __version__,
        "row": plain(clip),
        "max_offset_s": policy.max_offset_s,
        "calibration": plain(calibration),
        "files": files,
    }
    if settings:
        subject["settings"] = plain(settings)
    return with_policy(_digest(subject), policy)


def content_half(fingerprint: str) -> str:
    """Return the half that says what was measured."""
    return fingerprint.partition("-")[0]


def with_policy(fingerprint: str, policy: Policy) -> str:
    """Return a fingerprint, or its first half, as it is under another policy."""
    return f"{content_half(fingerprint)}-{_digest(plain(policy))[:16]}"


def _digest(subject: object) -> str:
    return hashlib.sha256(json_line(subject, sort_keys=True).encode()).hexdigest()[:32]


def _marks_of(uri: str) -> object | None:
    uri = uri.rpartition("::")[2]  # of a member of an archive: the archive
    if is_url(uri):
        return _remote_marks(uri)
    if glob.has_magic(uri) and not Path(uri).exists():
        found = sorted(glob.glob(uri, recursive=True))  # noqa: PTH207  # absolute patterns too
        return [_local_marks(Path(name)) for name in found]
    return _local_marks(Path(uri))


def _local_marks(path: Path) -> object:
    try:
        stat = path.stat()
    except (OSError, ValueError):
        # A missing file: the folder changes when it appears.
        parent = path.parent
        return ["absent"] if parent == path else ["within", _own_marks(parent)]
    if path.is_dir():
        try:
            return [[child.name, *_own_marks(child)] for child in sorted(path.iterdir())]
        except OSError:
            return [stat.st_mtime_ns]
    return [stat.st_size, stat.st_mtime_ns]


def _own_marks(path: Path) -> list[int | str]:
    for candidate in (path, *path.parents):
        try:
            stat = candidate.stat()
        except (OSError, ValueError):
            continue
        return [stat.st_size, stat.st_mtime_ns]
    return ["absent"]


def _remote_marks(uri: str) -> object | None:
    import fsspec

    try:
        filesystem, path = fsspec.core.url_to_fs(uri)
        info = filesystem.info(path)
    except Exception:  # noqa: BLE001  # every remote store raises its own kinds
        return None
    marks = {key: str(info[key]) for key in _REMOTE_MARKS if info.get(key) is not None}
    return marks or None
