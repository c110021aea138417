"""Hostile data sets, by format: untrusted content in every place that accepts some."""

# ruff: noqa: ARG005, E501, S608  # made-up SQL; damages share one signature

from __future__ import annotations

import bz2
import io
import json
import sqlite3
import struct
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tests_on_path  # noqa: F401  # before testkit

Prepare = Callable[[Path], list[str]]

# One value of every JSON type, and absurdly large numbers.
ODD: tuple[Any, ...] = (None, True, 0, -1, 10**30, 1e308, "x", "", [], [[]], {}, "\ud83d")
GIB = 2**30


def _validated(source: Path, format_name: str = "auto") -> list[str]:
    return ["validate", str(source), "--format", format_name, "--out", "{out}", "--workers", "1",
            "--memory-limit", "1G", "--timeout", "50"]  # fmt: skip


def _imported(source: Path, format_name: str) -> list[str]:
    """Return the command for faults that only the import can detect."""
    return ["manifest", format_name, str(source), "--out", "{out}/m.jsonl", "--memory-limit", "1G"]


def _lerobot(change: Callable[[dict[str, Any]], Any]) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        from testkit.data_sets.lerobot_data import write_lerobot_v2

        root = write_lerobot_v2(folder, 1)
        place = root / "meta/info.json"
        info = json.loads(place.read_text())
        place.write_text(json.dumps(change(info) or info))
        return _imported(root, "lerobot")

    return prepare


def _lerobot_cases() -> Iterator[tuple[str, Prepare]]:
    def put(*path: str, to: Any) -> Callable[[dict[str, Any]], None]:
        def change(info: dict[str, Any]) -> None:
            place = info
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = to

        return change

    for key in ("codebase_version", "fps", "features", "data_path", "video_path", "chunks_size",
                "total_episodes"):  # fmt: skip
        for value in ODD:
            yield f"{key} {value!r:.20}", _lerobot(put(key, to=value))
    for key in ("dtype", "shape", "info"):
        for value in ODD:
            name = "observation.state" if key == "shape" else "observation.images.top"
            yield f"features.{key} {value!r:.20}", _lerobot(put("features", name, key, to=value))
    for value in ODD:
        yield f"feature {value!r:.20}", _lerobot(put("features", "observation.state", to=value))
    for template in (
        "{episode_index:1999999999d}", "{episode_index:{episode_index}999999999d}",
        "{episode_index.__class__.__mro__}", "{episode_index!r:>99999999}", "{video_key[0]}",
        "webhdfs://127.0.0.1:9/x.parquet", "ftp://127.0.0.1:9/x", "reference://x",
        "file:///etc/passwd", "simplecache::file:///etc/passwd", "../../outside/secret.txt",
        "/etc/passwd", "github://a:b@/c", "http://127.0.0.1:9/a.parquet", "data\n\x1b[2J",
    ):  # fmt: skip
        yield f"data_path {template[:30]!r}", _lerobot(put("data_path", to=template))
        yield f"video_path {template[:30]!r}", _lerobot(put("video_path", to=template))
    yield "total_episodes 1e7", _lerobot(put("total_episodes", to=10_000_000))
    yield "info is a list", _lerobot(lambda info: [info])
    yield "info is a text", _lerobot(lambda info: "info")


def _row_cases() -> Iterator[tuple[str, Prepare]]:
    for key in ("episode_index", "length", "tasks"):
        for value in (*ODD, 2**63, 10**4400):

            def prepare(folder: Path, key: str = key, value: Any = value) -> list[str]:
                from testkit.data_sets.lerobot_data import write_lerobot_v2

                root = write_lerobot_v2(folder, 1)
                sys.set_int_max_str_digits(0)
                row = json.dumps({"episode_index": 0, "length": 20, key: value})
                (root / "meta/episodes.jsonl").write_text(row)
                return _imported(root, "lerobot")

            yield (
                f"episodes.{key} {value if isinstance(value, str) else type(value)} {str(value)[:12] if not isinstance(value, int) or value < 2**64 else 'huge'!r}",
                prepare,
            )


def _rosbag2(yaml: str | None = None, sql: str | None = None, name: str = "x.db3") -> Prepare:
    def prepare(folder: Path) -> list[str]:
        root = folder / "drive"
        root.mkdir()
        if yaml is not None:
            (root / "metadata.yaml").write_text(yaml)
        base = sqlite3.connect(root / name)
        base.executescript(_SCHEMA if sql is None else sql)
        base.commit()
        base.close()
        return _validated(root, "rosbag")

    return prepare


_TOPICS = (
    "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT,"
    " offered_qos_profiles TEXT);"
)
_MESSAGES = (
    "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB);"
)
_IMU = "INSERT INTO topics VALUES (1, '/imu', 'sensor_msgs/msg/Imu', 'cdr', '');"
_SCHEMA = _TOPICS + _MESSAGES + _IMU
_DEFINITIONS = (
    "CREATE TABLE message_definitions(id INTEGER, topic_type TEXT, encoding TEXT,"
    " encoded_message_definition TEXT, type_description_hash TEXT);"
)
_ENDLESS = (
    "CREATE VIEW messages AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
    " SELECT 1 AS topic_id, x AS timestamp, zeroblob(100) AS data FROM c;"
)
_YAML_BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{k}: &a{k} [{','.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 10)
) + "rosbag2_bagfile_information: {relative_file_paths: *a9}\n"  # fmt: skip


def _defined(text: str) -> str:
    row = f"INSERT INTO message_definitions VALUES (1, 'sensor_msgs/msg/Imu', 'ros2msg', '{text}', '');"
    data = "INSERT INTO messages VALUES (1, 1, 1, X'00010000');" + "".join(
        f"INSERT INTO messages VALUES ({k}, 1, {k}, X'00010000{'00' * 400}');" for k in range(2, 40)
    )
    return _SCHEMA + _DEFINITIONS + row + data


def _sqlite_cases() -> Iterator[tuple[str, Prepare]]:
    yield "yaml bomb", _rosbag2(yaml=_YAML_BOMB)
    for text in ("", "null", "[1]", "- a\n", "a: b: c", "!!python/object/apply:os.system [id]",
                 "rosbag2_bagfile_information: {relative_file_paths: [../../outside/secret.txt]}",
                 "rosbag2_bagfile_information: {relative_file_paths: [/etc/passwd]}",
                 "rosbag2_bagfile_information: {relative_file_paths: {a: 1}}",
                 "rosbag2_bagfile_information: {relative_file_paths: 7}",
                 "rosbag2_bagfile_information: {relative_file_paths: [null, 7, [x.db3]]}",
                 "&a [*a]", "a: &a {b: *a}", "[" * 100_000, "x: " + "9" * 100_000,
                 "? " * 50_000, "a: !!timestamp 99999-99-99", "\0", "%YAML 9.9\n---\na"):  # fmt: skip
        yield f"metadata {text[:50]!r}", _rosbag2(yaml=text)
    yield "endless view", _rosbag2(sql=_TOPICS + _IMU + _ENDLESS)
    yield (
        "view of topics",
        _rosbag2(
            sql=_MESSAGES
            + "CREATE VIEW topics AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT"
            " x + 1 FROM c) SELECT x AS id, 'a' || x AS name, 'b' AS type, 'cdr' AS"
            " serialization_format FROM c;"
        ),
    )
    yield (
        "view of joins",
        _rosbag2(
            sql=_TOPICS
            + _IMU
            + "CREATE TABLE m(x); INSERT INTO m VALUES (1), (2), (3), (4), (5), (6),"
            " (7), (8); CREATE VIEW messages AS SELECT 1 AS topic_id, 1 AS timestamp, zeroblob(9) AS"
            " data FROM m a, m b, m c, m d, m e, m f, m g, m h, m i, m j, m k WHERE a.x + k.x = 99;"
        ),
    )
    yield (
        "generated column",
        _rosbag2(
            sql=_TOPICS
            + _IMU
            + "CREATE TABLE messages(topic_id INTEGER, timestamp INTEGER, data BLOB"
            " GENERATED ALWAYS AS (zeroblob(900000000)) VIRTUAL);"
            "INSERT INTO messages(topic_id, timestamp) VALUES (1, 1), (1, 2), (1, 3);"
        ),
    )
    yield (
        "zero blob",
        _rosbag2(sql=_SCHEMA + "INSERT INTO messages VALUES (1, 1, 1, zeroblob(700000000));"),
    )
    for value in ("NULL", "-1", "'x'", "X'00'", "1.5", "1e300", "9223372036854775807"):
        yield (
            f"message time {value}",
            _rosbag2(sql=_SCHEMA + f"INSERT INTO messages VALUES (1, 1, {value}, zeroblob(400));"),
        )
        yield (
            f"message topic {value}",
            _rosbag2(sql=_SCHEMA + f"INSERT INTO messages VALUES (1, {value}, 5, zeroblob(400));"),
        )
        yield (
            f"message data {value}",
            _rosbag2(sql=_SCHEMA + f"INSERT INTO messages VALUES (1, 1, 5, {value});"),
        )
        for number, name in enumerate(("name", "type", "format")):
            words = ["'/imu'", "'sensor_msgs/msg/Imu'", "'cdr'"]
            words[number] = value
            yield (
                f"topic {name} {value}",
                _rosbag2(
                    sql=_TOPICS
                    + _MESSAGES
                    + f"INSERT INTO topics VALUES (1, {', '.join(words)}, '');"
                    "INSERT INTO messages VALUES (1, 1, 5, X'00010000');"
                ),
            )
    yield "no tables", _rosbag2(sql="CREATE TABLE a(b);")
    yield "other columns", _rosbag2(sql="CREATE TABLE topics(a); CREATE TABLE messages(b);")
    for text in ("", "float64 a", "Imu x", "std_msgs/Header header", "sensor_msgs/Imu a\n" * 9,
                 "float64[999999999] a", "float64[<=99999999] a", "string<=9 a", "uint8 A=300",
                 "x" * 100_000, "float64 angular_velocity", "std_msgs/Header header\nstring angular_velocity",
                 "=\n" * 9, "float64 " * 9, "float64[" * 999, "# " * 9999, "string[] a\nstring[] b"):  # fmt: skip
        yield f"definition {text[:30]!r}", _rosbag2(sql=_defined(text))


def _mcap(*records: bytes, name: str = "a.mcap") -> Prepare:
    def prepare(folder: Path) -> list[str]:
        magic = b"\x89MCAP0\r\n"
        header = _record(1, _text("") + _text("x"))
        (folder / name).write_bytes(magic + header + b"".join(records) + magic)
        return _validated(folder / name, "mcap")

    return prepare


def _record(opcode: int, body: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(body)) + body


def _text(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<I", len(raw)) + raw


def _schema(name: str, encoding: str, data: bytes, number: int = 1) -> bytes:
    return _record(3, struct.pack("<H", number) + _text(name) + _text(encoding) + _text(data))


def _channel(topic: str, encoding: str = "cdr", schema: int = 1) -> bytes:
    return _record(4, struct.pack("<HH", 1, schema) + _text(topic) + _text(encoding) + _text(b""))


def _message(data: bytes, at: int = 5) -> bytes:
    return _record(5, struct.pack("<HIQQ", 1, 0, at, at) + data)


def _chunk(compression: str, data: bytes, size: int) -> bytes:
    return _record(
        6, struct.pack("<QQQI", 0, 9, size, 0) + _text(compression) + struct.pack("<Q", len(data))
        + data,
    )  # fmt: skip


def _zstd_zeros(size: int) -> bytes:
    import zstandard

    sink = io.BytesIO()
    with zstandard.ZstdCompressor(level=3).stream_writer(sink, closefd=False) as file:
        for _ in range(size >> 22):
            file.write(bytes(1 << 22))
    return sink.getvalue()


def _bz2_zeros(size: int) -> bytes:
    return bz2.compress(bytes(1 << 27)) * (size >> 27)


def _later(make: Callable[[], Prepare]) -> Prepare:
    return lambda folder: make()(folder)


def _mcap_cases() -> Iterator[tuple[str, Prepare]]:
    imu = _schema("sensor_msgs/msg/Imu", "ros2msg", b"")
    start = imu + _channel("/imu")
    yield "chunk zstd bomb", _later(lambda: _mcap(_chunk("zstd", _zstd_zeros(4 * GIB), 4 * GIB)))
    yield "chunk zstd lies", _later(lambda: _mcap(_chunk("zstd", _zstd_zeros(4 * GIB), 9)))
    yield "chunk of 2^60 bytes", _mcap(_chunk("", b"", 2**60))
    yield "chunk lz4 lies", _mcap(_chunk("lz4", b"\x04\x22\x4d\x18", 2**40))
    yield "chunk of strangers", _mcap(_chunk("nobody", b"abc", 3))
    yield "message zstd bomb", _later(lambda: _mcap(start, _message(_zstd_zeros(4 * GIB))))
    yield "record of 2^62 bytes", _mcap(start, struct.pack("<BQ", 5, 2**62))
    yield "text of 4 GiB", _mcap(_record(3, struct.pack("<HI", 1, 2**32 - 1)))
    yield "no schema", _mcap(_channel("/imu", schema=0), _message(b"\0\1\0\0"))
    yield "foreign schema", _mcap(
        _schema("sensor_msgs/msg/Imu", "ros2msg", b"float64 a\n"), _channel("/imu"),
        *(_message(b"\0\1\0\0" + bytes(8), k) for k in range(20)),
    )  # fmt: skip
    yield (
        "recursive schema",
        _mcap(_schema("a/msg/B", "ros2msg", b"B b\n"), _channel("/imu"), _message(b"\0\1\0\0")),
    )
    yield "recursive imu", _mcap(
        _schema("sensor_msgs/msg/Imu", "ros2msg", b"sensor_msgs/Imu b\n"), _channel("/imu"),
        _message(b"\0\1\0\0" + bytes(900)),
    )  # fmt: skip
    for encoding in ("protobuf", "jsonschema", "flatbuffer", "ros2idl", "ros1msg", "omgidl", ""):
        for name in ("foxglove.CompressedImage", "sensor_msgs/msg/Imu", "", "a/b/c/d"):
            yield (
                f"schema {encoding} {name}",
                _mcap(
                    _schema(name, encoding, b"\xff\0{"),
                    _channel("/a", "json" if "json" in encoding else encoding or "cdr"),
                    _message(b'{"a": [[[' * 999),
                    _message(b"\xff" * 99),
                    _message(b"null"),
                ),
            )
    for text in ('{"timestamp": 1}', '{"data": 7, "timestamp": {"sec": 1e400}}', "[]", "7",
                 '{"timestamp": {"sec": "x", "nsec": []}, "data": "!!!!", "format": 9}',
                 '{"timestamp": {"sec": 99999999999999999999, "nsec": 1}, "data": "AAAA"}'):  # fmt: skip
        yield f"json {text[:40]}", _mcap(
            _schema("foxglove.CompressedImage", "jsonschema", b"{}"), _channel("/a", "json"),
            _message(text.encode()),
        )  # fmt: skip
    yield "topic with newline", _mcap(imu, _channel("/a\nError: \x1b[31m"), _message(b"\0\1\0\0"))
    yield "topic of 1 MB", _mcap(imu, _channel("/a" * 500_000), _message(b"\0\1\0\0" + bytes(400)))
    yield "a million chunks", _mcap(imu, _channel("/imu"), _chunk("", b"", 0) * 1_000_000)
    yield "stamps of 2^64", _mcap(start, *(_message(b"\0\1\0\0" + b"\xff" * 400, 2**64 - 1 - k)
                                           for k in range(30)))  # fmt: skip

    def packed(folder: Path) -> list[str]:
        (folder / "a.mcap.zst").write_bytes(_zstd_zeros(8 * GIB))
        return _validated(folder / "a.mcap.zst", "mcap")

    yield "file zstd bomb", packed


def _bag_cases() -> Iterator[tuple[str, Prepare]]:
    def header(**fields: bytes) -> bytes:
        body = b"".join(
            struct.pack("<I", len(key) + 1 + len(value)) + key.encode() + b"=" + value
            for key, value in fields.items()
        )
        return struct.pack("<I", len(body)) + body

    def bag(*records: bytes) -> Prepare:
        def prepare(folder: Path) -> list[str]:
            (folder / "a.bag").write_bytes(b"#ROSBAG V2.0\n" + b"".join(records))
            return _validated(folder / "a.bag", "rosbag")

        return prepare

    def record(data: bytes, **fields: bytes) -> bytes:
        return header(**fields) + struct.pack("<I", len(data)) + data

    def chunk(data: bytes, compression: bytes, size: int) -> bytes:
        return record(data, op=b"\5", compression=compression, size=struct.pack("<I", size))

    def lz4_zeros() -> bytes:
        import lz4.frame

        return bytes(lz4.frame.compress(bytes(GIB // 8))) * 8

    yield "bz2 bomb", _later(lambda: bag(chunk(_bz2_zeros(4 * GIB), b"bz2", 2**32 - 1)))
    yield "lz4 bomb", _later(lambda: bag(chunk(lz4_zeros() * 4, b"lz4", 2**32 - 1)))
    yield "unknown compression", bag(chunk(b"abc", b"zip", 3))
    yield "header of 4 GiB", bag(struct.pack("<I", 2**32 - 1))
    yield "chunk of 4 GiB", bag(header(op=b"\5", compression=b"none") + b"\xff" * 4)
    yield "no op", bag(record(b"", x=b"1"))
    yield "index before start", bag(record(b"", op=b"\3", index_pos=struct.pack("<Q", 2**63),
                                           chunk_count=b"\xff" * 4, conn_count=b"\xff" * 4))  # fmt: skip
    for text in (b"", b"float64 a", b"Imu a", b"\xff\0", b"float64[999999999] a",
                 b"Header header\nfloat64 angular_velocity"):  # fmt: skip
        info = header(topic=b"/imu", type=b"sensor_msgs/Imu", md5sum=b"*", message_definition=text)
        connection = record(info[4:], op=b"\7", conn=bytes(4), topic=b"/imu")
        message = b"".join(
            record(bytes(400), op=b"\2", conn=bytes(4), time=struct.pack("<II", k, 0))
            for k in range(30)
        )
        data = connection + message
        yield f"definition {text[:30]!r}", bag(chunk(data, b"none", len(data)))
    data = record(b"abc", op=b"\7", conn=b"", topic=b"\xff\xfe")
    yield "connection cut off", bag(chunk(data, b"none", len(data)))


def _nuscenes(table: str, make: Callable[[list[dict[str, Any]]], str]) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        from testkit.data_sets.nuscenes_data import write_nuscenes

        root = write_nuscenes(folder, 1)
        place = root / "v1.0-mini" / f"{table}.json"
        place.write_text(make(json.loads(place.read_text())))
        return _imported(root, "nuscenes")

    return prepare


def _nuscenes_cases() -> Iterator[tuple[str, Prepare]]:
    yield (
        "item of 60 MB",
        _nuscenes("sample_data", lambda rows: f'[{{"token": "{"a" * 60_000_000}"}}]'),
    )
    yield "item without end", _nuscenes("sample_data", lambda rows: '[{"a": ' + "[" * 20_000_000)
    yield "blanks", _nuscenes("sample_data", lambda rows: "[" + " " * 60_000_000 + "]")
    for table, key in (("sensor", "channel"), ("sensor", "modality"), ("sensor", "token"),
                       ("calibrated_sensor", "camera_intrinsic"), ("sample", "scene_token"),
                       ("sample_data", "timestamp"), ("sample_data", "filename"), ("scene", "name"),
                       ("scene", "log_token"), ("log", "logfile")):  # fmt: skip
        for value in (None, 10**30, [], {}, "../../outside/secret.txt", "a\0b"):
            yield (
                f"{table}.{key} {value!r:.20}",
                _nuscenes(
                    table,
                    lambda rows, key=key, value=value: json.dumps([r | {key: value} for r in rows]),
                ),
            )


def _other_cases() -> Iterator[tuple[str, Prepare]]:
    def tar(make: Callable[[tarfile.TarFile], None]) -> Prepare:
        def prepare(folder: Path) -> list[str]:
            (folder / "shards").mkdir()
            with tarfile.open(folder / "shards" / "train-000000.tar", "w") as archive:
                make(archive)
            return _validated(folder / "shards", "webdataset")

        return prepare

    def member(name: str, data: bytes = b"x", **about: Any) -> Callable[[tarfile.TarFile], None]:
        def add(archive: tarfile.TarFile) -> None:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in about.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(data))

        return add

    for name in ("../../outside/secret.csv", "/etc/passwd.csv", "a/../../b.mp4", "a\n.mp4", ".mp4",
                 "a.json", "a.csv", "a::b.mp4", "tar://x.mp4", "a" * 5000 + ".mp4"):  # fmt: skip
        yield f"tar member {name[:30]!r}", tar(member(name))
    yield "tar link out", tar(member("a.csv", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"))
    yield "tar hard link", tar(member("a.csv", b"", type=tarfile.LNKTYPE, linkname="a.csv"))
    yield "tar fifo", tar(member("a.csv", b"", type=tarfile.FIFOTYPE))
    for content in (b"[" * 90_000, b'{"start_ns": 1e999}', b"7", b"null", b"\xff", b"9" * 90_000):
        yield (
            f"tar json {content[:20]!r}",
            tar(lambda a, content=content: (member("a.json", content)(a), member("a.mp4")(a))),
        )

    def linked(target: str) -> Prepare:
        def prepare(folder: Path) -> list[str]:
            (folder / "drives" / "a").mkdir(parents=True)
            (folder / "drives/a/imu.csv").symlink_to(folder.parent / "outside/secret.txt")
            (folder / "drives/a/cam.mp4").symlink_to(target)
            return _validated(folder / "drives", "folder")

        return prepare

    for target in ("/dev/zero", "/dev/stdin", "/proc/self/mem", "/etc", "/nowhere", "cam.mp4"):
        yield f"folder link {target}", linked(target)


IMPORTS: dict[str, Prepare] = {
    f"{part}: {name}": case
    for part, cases in (
        ("lerobot", _lerobot_cases()),
        ("lerobot rows", _row_cases()),
        ("rosbag2", _sqlite_cases()),
        ("mcap", _mcap_cases()),
        ("bag", _bag_cases()),
        ("nuscenes", _nuscenes_cases()),
        ("other", _other_cases()),
    )
    for name, case in cases
}
