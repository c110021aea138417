"""Begin a run: check the contents of its folder and mark it unfinished before any change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from syncaudit import __version__
from syncaudit.batch.json_encoding import to_plain
from syncaudit.batch.ledger import Ledger
from syncaudit.batch.outputs import OUTPUTS, SIDE_FILES, write_json
from syncaudit.batch.summary import read_summary
from syncaudit.errors import UsageError
from syncaudit.formatting import word_count
from syncaudit.model import Clip, Verdict
from syncaudit.policy import Policy
from syncaudit.readers.access import is_url
from syncaudit.writing import Signature, is_ours, refuse_foreign, remove_ours, sweep_drafts

_MISSING = object()


def make_folder(out: str | Path) -> Path:
    """Return the output folder, created if missing; refuse a URL or a folder it cannot create."""
    if not str(out).strip():
        raise UsageError("--out is empty", hint="Name a folder; '.' is the working folder.")
    if is_url(str(out)):
        raise UsageError(
            "outputs are written to local folders",
            path=str(out),
            hint="Send them with syncaudit.batch.OutputFolder, as the command line does.",
        )
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the output folder cannot be made: {error.strerror}",
            path=str(folder),
            hint="Choose another --out folder.",
        ) from error
    return folder.resolve()


def check_outputs(folder: Path, *, inputs: Sequence[str] = (), is_forced: bool = False) -> None:
    """Refuse a folder in which a run would overwrite its `inputs` or unrelated files.

    `is_forced` permits overwriting unrelated files, but never the inputs.
    """
    read = {Path(name).resolve() for name in inputs if name and not is_url(name)}
    # A user's own manifest or table may look like an output, so require traces of an earlier run.
    is_run = any(
        (folder / name).is_file()
        and (folder / name).stat().st_size
        and is_ours(folder / name, OUTPUTS[name])
        for name in ("summary.json", "verdicts.jsonl")
    )
    for name, kind in (OUTPUTS | SIDE_FILES).items():
        path, signature = folder / name, kind if is_run else None
        if path in read:
            raise UsageError(
                "is read by this run, which would overwrite it",
                path=str(path),
                hint="Choose another --out folder.",
            )
        refuse_foreign(path, signature, is_forced=is_forced)
        if is_forced and path.is_symlink():
            path.unlink()


def refuse_other_run(folder: Path, about: Mapping[str, object], *, is_forced: bool) -> None:
    """Refuse to overwrite the verdicts of another run, e.g. those of 'validate' by 'judge'.

    `about` holds the summary entries that stay the same when this run is repeated.
    """
    ledger = folder / "verdicts.jsonl"
    if is_forced or not ledger.exists() or not ledger.stat().st_size:
        return
    known = read_summary(folder)
    if any(known.get(key, _MISSING) != value for key, value in to_plain(about).items()):
        raise UsageError(
            "the folder holds the verdicts of another run, which would be lost",
            path=str(folder),
            hint="Choose another --out folder, or overwrite them with --force.",
        )


def refuse_screen(folder: Path, about: Mapping[str, object], *, is_forced: bool) -> None:
    """Refuse to overwrite measured verdicts with verdicts from timestamps alone."""
    if about.get("screen") and read_summary(folder).get("screen") is False and not is_forced:
        raise UsageError(
            "the folder holds the verdicts of a full run, which those of --screen would replace",
            path=str(folder),
            hint="Choose another --out folder, or overwrite them with --force.",
        )


@contextmanager
def begun_run(
    folder: Path,
    clips: Sequence[Clip],
    policy: Policy,
    about: Mapping[str, object],
    *,
    is_pruning: bool,
) -> Iterator[Ledger]:
    """Open the ledger of a run over `clips` and mark its summary as unfinished.

    Verdicts of clips that are not in the run are refused. With `is_pruning` they are removed from
    the outputs, but their rows are set aside and reused when a later manifest names the clips.
    """
    with Ledger(folder / "verdicts.jsonl") as ledger:
        _keep_others(ledger, {clip.clip_id for clip in clips}, is_pruning=is_pruning)
        _mark_unfinished(ledger, len(clips), policy, about)
        yield ledger


def _keep_others(ledger: Ledger, named: Collection[str], *, is_pruning: bool) -> None:
    others = [clip_id for clip_id in ledger.clip_ids if clip_id not in named]
    if others and not is_pruning:
        raise UsageError(
            f"the output folder holds verdicts of {word_count(len(others), 'clip')} that this run "
            f"does not name, such as '{others[0]}'",
            hint="Choose another --out folder, name all clips (without --limit or --shard, with "
            "the whole manifest), or take them out of the outputs with --prune.",
        )
    for clip_id in others:
        ledger.outdate(clip_id)


def _mark_unfinished(
    ledger: Ledger, n_clips: int, policy: Policy, about: Mapping[str, object]
) -> None:
    """Write a summary with ``complete: false`` and flush it to disk.

    From here on no reader mistakes the outputs of an earlier run for those of this one. The
    changes of an earlier `judge` are no longer reported.
    """
    folder = ledger.path.parent
    counts = Counter(ledger.verdict(clip_id) for clip_id in ledger.clip_ids)
    clips = {"total": n_clips, "done": len(ledger.clip_ids), "reused": 0}
    summary = {
        "version": 1,
        "complete": False,
        "stopped": "running",
        "clips": clips | {str(v): counts[str(v)] for v in Verdict},
        **about,
        "policy": to_plain(policy),
        "versions": {"syncaudit": __version__},
    }
    write_json(summary, folder / "summary.json", is_durable=True)
    remove_ours(folder / "changes.jsonl", Signature.CHANGES)
    sweep_drafts(folder, OUTPUTS | SIDE_FILES)
