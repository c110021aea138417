"""Write files atomically, never through links, never over files that others wrote.

Every command writes through this package; no other module opens a file for writing.
"""

from syncaudit.writing.drafts import (
    append_line,
    copy_file,
    create_draft,
    draft_of,
    naming_full,
    replace_text,
    replacing,
    replacing_text,
    sweep_drafts,
    sync_folder,
    write_new,
)
from syncaudit.writing.ownership import (
    HEAD_BYTES,
    Signature,
    check_target,
    claim_folder,
    is_ours,
    make_parent,
    note_written,
    refuse_foreign,
    refuse_strange_folder,
    remove_ours,
)

__all__ = [
    "HEAD_BYTES",
    "Signature",
    "append_line",
    "check_target",
    "claim_folder",
    "copy_file",
    "create_draft",
    "draft_of",
    "is_ours",
    "make_parent",
    "naming_full",
    "note_written",
    "refuse_foreign",
    "refuse_strange_folder",
    "remove_ours",
    "replace_text",
    "replacing",
    "replacing_text",
    "sweep_drafts",
    "sync_folder",
    "write_new",
]
