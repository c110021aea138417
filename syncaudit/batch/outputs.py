"""Write the files of a finished or stopped run, each replaced in one step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from syncaudit import __version__
from syncaudit.batch.json_encoding import json_line, to_plain
from syncaudit.errors import UsageError
from syncaudit.model import Clip, Verdict
from syncaudit.writing import Signature, append_line, replace_text, replacing

# Verdict to the file that receives its manifest rows.
SPLIT_FILES: dict[str, str] = {
    Verdict.PASS: "passed.jsonl",
    Verdict.REJECT: "rejected.jsonl",
    Verdict.UNVERIFIED: "unverified.jsonl",
}

# Every run file that can be replaced or removed, with the mark that shows that a run wrote it.
OUTPUTS: dict[str, Signature] = {
    "verdicts.jsonl": Signature.VERDICTS,
    "verdicts.parquet": Signature.PARQUET,
    **dict.fromkeys(SPLIT_FILES.values(), Signature.MANIFEST),
    "recordings.jsonl": Signature.RECORDINGS,
    "common_offsets.json": Signature.CALIBRATION,
    "keep.json": Signature.KEEP,
    "changes.jsonl": Signature.CHANGES,
    "report.html": Signature.REPORT,
    "summary.json": Signature.SUMMARY,
}
# Other files that a run keeps in its folder; only some of them are uploaded to stores.
SIDE_FILES: dict[str, Signature] = {
    "errors.log": Signature.LOG,
    ".recordings.pooled": Signature.POOLED,
    ".verdicts.jsonl.lock": Signature.EMPTY,
    ".verdicts.jsonl.outdated": Signature.VERDICTS,
}


class RowMaker(Protocol):
    """Convert a clip back to its manifest row (`syncaudit.datasets.clip_to_row`)."""

    def __call__(self, clip: Clip, *, relative_to: str) -> Mapping[str, Any]:
        """Return the row with relative URIs rewritten to resolve from `relative_to`."""
        ...


def check_rows(clips: Iterable[Clip], to_row: RowMaker, out: Path) -> None:
    """Refuse paths that cannot be written to a manifest, before anything is measured.

    JSON is UTF-8, so the path from `out` to the files of the clips must be as well.
    """
    one_each = {clip.base_uri: clip for clip in clips}
    for base_uri, clip in one_each.items():
        try:
            json_line(to_row(clip, relative_to=str(out))).encode()
        except UnicodeEncodeError as error:
            shown = base_uri.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            raise UsageError(
                f"the path of its files from {out} holds bytes that are not UTF-8",
                path=shown,
                hint="Rename that folder, or choose an --out folder inside it.",
            ) from error


def write_split(
    clips: Iterable[Clip], verdict_of: Callable[[str], str | None], to_row: RowMaker, out: Path
) -> None:
    """Write the manifest rows of the clips that passed, were rejected or are unverified."""
    with ExitStack() as stack:
        files = {
            str(verdict): stack.enter_context(replacing(out / name, is_durable=True))
            for verdict, name in SPLIT_FILES.items()
        }
        for clip in clips:
            verdict = verdict_of(clip.clip_id)
            if verdict is not None:
                line = json_line(to_row(clip, relative_to=str(out)))
                files[verdict].write(f"{line}\n".encode())


def write_json(content: object, path: Path, *, is_durable: bool = False) -> None:
    """Write one JSON document for people and programs."""
    text = json.dumps(to_plain(content), indent=2, ensure_ascii=False, allow_nan=False)
    replace_text(path, f"{text}\n", is_durable=is_durable)


def log_defect(folder: Path, subject: str, trace: str) -> None:
    """Append the traceback of a syncaudit defect that a run survived to ``errors.log``.

    `subject` names what was being processed: ``clip a/7``, ``recording a``.
    """
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    with suppress(OSError):  # a full disk: the verdict reports the error itself
        append_line(folder / "errors.log", f"{stamp} {subject}, syncaudit {__version__}\n{trace}\n")
