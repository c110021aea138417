"""Write the files of a finished or stopped run, each replaced in one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from syncaudit.batch.ledger import Ledger
from syncaudit.batch.plain import json_line
from syncaudit.batch.tables import write_parquet
from syncaudit.model import Clip, Verdict

__all__ = ["SPLIT_FILES", "RowMaker", "write_json", "write_split", "write_verdicts"]

# Which file takes the manifest rows of which verdict.
SPLIT_FILES: dict[str, str] = {
    Verdict.PASS: "passed.jsonl",
    Verdict.REJECT: "rejected.jsonl",
    Verdict.UNVERIFIED: "unverified.jsonl",
}


class RowMaker(Protocol):
    """Turns a clip back into its manifest row (`syncaudit.datasets.clip_to_row`)."""

    def __call__(self, clip: Clip, *, relative_to: str) -> Mapping[str, Any]:
        """Return the row, relative URIs rewritten to resolve from `relative_to`."""
        ...


def write_verdicts(ledger: Ledger, clip_ids: Sequence[str], out: Path) -> None:
    """Put ``verdicts.jsonl`` in manifest order and write the same as Parquet."""
    write_parquet(ledger.rows(clip_ids), out / "verdicts.parquet")
    ledger.rewrite(clip_ids)


def write_split(
    clips: Iterable[Clip], verdict_of: Callable[[str], str | None], to_row: RowMaker, out: Path
) -> None:
    """Write the manifest rows that passed, were rejected and are unverified.

    Parameters
    ----------
    clips : iterable of Clip
        All clips, in manifest order.
    verdict_of : callable
        Verdict of a clip id; None where the clip is not done.
    to_row : callable
        Makes the manifest row.
    out : Path
        Folder of the files.
    """
    drafts = {verdict: out / f".{name}.tmp" for verdict, name in SPLIT_FILES.items()}
    files = {v: path.open("w", encoding="utf-8", newline="\n") for v, path in drafts.items()}
    try:
        for clip in clips:
            verdict = verdict_of(clip.clip_id)
            if verdict is not None:
                files[verdict].write(json_line(to_row(clip, relative_to=str(out))) + "\n")
    finally:
        for file in files.values():
            file.close()
    for verdict, draft in drafts.items():
        draft.replace(out / SPLIT_FILES[verdict])


def write_json(content: object, path: Path) -> None:
    """Write one JSON document for people and programs."""
    import json

    from syncaudit.batch.plain import plain

    draft = path.with_name(f".{path.name}.tmp")
    text = json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False)
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(path)
