"""Fill a template of this folder and write the page in one step."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from syncaudit.writing import replacing

if TYPE_CHECKING:
    import jinja2


def _read_part(name: str) -> str:
    """Return a template, style or script of this folder."""
    return (resources.files("syncaudit.report") / name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    """Return the templates, each of which is compiled once: it takes longer than to fill it."""
    import jinja2

    return jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(_read_part),
    )


def write_page(template: str, path: Path, *, script: str, **content: object) -> None:
    """Write a page; all text from the data is escaped, as names are untrusted.

    The template may include styles and scripts of this folder. `script` is the only one that the
    page may run: any injected script is blocked (Content Security Policy by its hash). The file is
    replaced in one step.
    """
    from markupsafe import Markup

    program = _read_part(script)
    page = (
        _environment()
        .get_template(template)
        .stream(
            content,
            script=Markup(program),  # noqa: S704  # a file of this package
            script_hash=base64.b64encode(hashlib.sha256(program.encode()).digest()).decode(),
        )
    )
    with replacing(path) as file:
        # Lone surrogates of broken file names cannot be written; they become question marks.
        page.dump(file, encoding="utf-8", errors="replace")
