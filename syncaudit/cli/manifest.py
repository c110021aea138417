"""`syncaudit manifest`: write the manifest of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syncaudit.cli.console import stderr, stdout
from syncaudit.cli.options import Force, MemoryLimit, Quiet
from syncaudit.errors import UsageError


def manifest(
    format_name: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help=(
                "Format of the data set, or auto to find it by probing; an unknown name lists all."
            ),
        ),
    ],
    source: Annotated[
        str, typer.Argument(help="The data set: a folder or file, local or any fsspec URL.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="Manifest to write: .jsonl or .parquet."),
    ] = Path("manifest.jsonl"),
    rules: Annotated[
        Path | None, typer.Option(help="Naming rules (TOML or JSON), see docs/datasets.md.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N clips.")] = None,
    force: Force = False,
    memory_limit: MemoryLimit = "auto",
    quiet: Quiet = False,
) -> None:
    """Write the clip manifest of a data set, and report how its files were interpreted.

    Formats: docs/datasets.md lists them; so does an unknown name, with those of other packages.

    The data set itself is left untouched. Tables that cannot be read from it as they are become
    Parquet files in a folder beside the manifest: manifest.jsonl, manifest_files/.

    **Examples**

    - `syncaudit manifest nuscenes /data/nuscenes --out nuscenes.jsonl`

    - `syncaudit manifest auto s3://bucket/recordings --out manifest.parquet --limit 100`
    """
    from syncaudit.cli.inputs import load_rules
    from syncaudit.cli.isolated_import import import_isolated
    from syncaudit.cli.progress import ImportView, print_import

    if out.suffix.lower() not in (".jsonl", ".parquet", ".pq"):
        raise UsageError(
            "the manifest must be .jsonl or .parquet", path=str(out), hint="Change --out."
        )
    with ImportView(stderr(), is_quiet=quiet) as view:
        imported = import_isolated(
            source,
            out,
            format_name=format_name,
            rules=load_rules(rules),
            limit=limit,
            on_clip=view,
            force=force,
            memory_limit=memory_limit,
        )
    if not quiet:
        print_import(stdout(), imported, str(out))
