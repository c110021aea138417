"""Read the messages of a rosbag2 SQLite file in the order they were recorded."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from syncaudit.datasets.bags.topics import Messages, OnDamage, Topic, TopicTable

__all__ = ["read_sqlite"]

_FORMATS = {"ros2msg": "msg", "ros2idl": "idl"}


def read_sqlite(path: Path, topics: TopicTable, on_damage: OnDamage) -> Messages:
    """Yield the messages of a ``.db3`` file; nothing is written beside it.

    Parameters
    ----------
    path : Path
        Local file.
    topics : TopicTable
        Gets the topics.
    on_damage : callable
        Told where the file breaks off, or that its last messages lie in a journal.
    """
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        on_damage(f"it was never closed: its last messages lie in {log.name}, which is not read")
    try:
        # Immutable: SQLite would otherwise put its lock and index files beside the bag.
        address = f"file:{quote(str(path))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as base:
            base.text_factory = lambda raw: raw.decode("utf-8", "replace")
            # A file that is cut off is refused as a whole unless this is set; the connection
            # stays read-only.
            base.execute("PRAGMA writable_schema = ON")
            found = _topics(base, topics)
            for key, receive_ns, data in base.execute(
                "SELECT topic_id, timestamp, data FROM messages"
            ):
                topic = found.get(key)
                if topic is not None and isinstance(data, bytes):
                    yield topic, receive_ns, None, data
    except sqlite3.Error as error:
        on_damage(f"SQLite cannot read it on ({error})")


def _topics(base: sqlite3.Connection, topics: TopicTable) -> dict[int, Topic]:
    definitions: dict[str, tuple[str, bytes]] = {}
    if base.execute("SELECT 1 FROM sqlite_master WHERE name = 'message_definitions'").fetchone():
        for name, kind, text in base.execute(
            "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
        ):
            definitions[name] = (_FORMATS.get(kind, ""), str(text).encode())
    return {
        key: topics.entry(name, type_name, encoding, *definitions.get(type_name, ("", b"")))
        for key, name, type_name, encoding in base.execute(
            "SELECT id, name, type, serialization_format FROM topics"
        )
    }
