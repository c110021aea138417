"""Read the messages of a rosbag2 SQLite file in recorded order."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from syncaudit.datasets.bags.topics import Messages, OnDamage, Topic, TopicTable
from syncaudit.limits import UNPACKED_BYTES

_FORMATS = {"ros2msg": "msg", "ros2idl": "idl"}
_TABLES = ("topics", "messages", "message_definitions")
# A row takes at least a few bytes; damaged or malicious files may loop forever.
_LEAST_ROW_BYTES = 4
# A row takes about ten steps of SQLite's virtual machine.
_STEPS, _MOST_PAUSES = 100_000, 100


def read_sqlite(path: Path, topics: TopicTable, on_damage: OnDamage) -> Messages:
    """Yield the messages of a ``.db3`` file without writing anything beside it.

    `on_damage` is called if it breaks off, or if its last messages are in a journal.
    """
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        on_damage(f"it was never closed: its last messages lie in {log.name}, which is not read")
    try:
        # Immutable: SQLite would otherwise create lock and index files beside the bag.
        address = f"file:{quote(str(path))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as base:
            base.text_factory = lambda raw: raw.decode("utf-8", "replace")
            # Without this SQLite rejects truncated files as a whole; the connection stays
            # read-only.
            base.execute("PRAGMA writable_schema = ON")
            base.execute("PRAGMA trusted_schema = OFF")
            base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, UNPACKED_BYTES)
            pauses = _limit_steps(base)
            _refuse_programs(base)
            found = _topics(base, topics)
            left = path.stat().st_size // _LEAST_ROW_BYTES
            for key, receive_ns, data in base.execute(
                "SELECT topic_id, timestamp, data FROM messages"
            ):
                pauses.clear()
                left -= 1
                if left < 0:
                    raise sqlite3.DatabaseError("it claims more messages than it has room for")
                topic = found.get(key)
                is_sound = isinstance(data, bytes) and isinstance(receive_ns, int)
                if topic is not None and is_sound:
                    yield topic, receive_ns, None, data
    except sqlite3.Error as error:
        on_damage(f"SQLite cannot read any further ({error})")


def _limit_steps(base: sqlite3.Connection) -> list[None]:
    """Stop a statement that runs on without yielding rows; clear the list at each row."""
    pauses: list[None] = []

    def is_overdone() -> bool:
        pauses.append(None)
        return len(pauses) > _MOST_PAUSES

    base.set_progress_handler(is_overdone, _STEPS)
    return pauses


def _refuse_programs(base: sqlite3.Connection) -> None:
    """Refuse tables with computed contents: views, virtual tables, generated columns."""
    for name in _TABLES:
        for kind, text in base.execute(
            "SELECT type, sql FROM sqlite_master WHERE lower(name) = ?", (name,)
        ):
            if kind != "table" or str(text).lstrip().upper().startswith("CREATE VIRTUAL"):
                raise sqlite3.DatabaseError(f"'{name}' is a program, not a table")
        if any(column[6] for column in base.execute(f"PRAGMA table_xinfo({name})")):
            raise sqlite3.DatabaseError(f"'{name}' has columns that are programs")


def _topics(base: sqlite3.Connection, topics: TopicTable) -> dict[int, Topic]:
    definitions: dict[str, tuple[str, bytes]] = {}
    if base.execute("SELECT 1 FROM sqlite_master WHERE name = 'message_definitions'").fetchone():
        for name, kind, text in base.execute(
            "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
        ):
            if isinstance(name, str) and isinstance(text, str):
                definitions[name] = (_FORMATS.get(kind, ""), text.encode())
    return {
        key: topics.entry(name, type_name, encoding, *definitions.get(type_name, ("", b"")))
        for key, name, type_name, encoding in base.execute(
            "SELECT id, name, type, serialization_format FROM topics"
        )
        if all(isinstance(text, str) for text in (name, type_name, encoding))
    }
