"""Images from topics of every kind are kept unchanged, one per message."""

from __future__ import annotations

import base64
import json
import re
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from foxglove_schemas_protobuf.CompressedImage_pb2 import CompressedImage
from foxglove_schemas_protobuf.RawImage_pb2 import RawImage
from mcap.writer import Writer as McapWriter
from mcap_protobuf.writer import Writer as ProtobufWriter
from rosbags.typesys import get_types_from_msg

from syncaudit.datasets import load_manifest
from syncaudit.datasets.images import ImageError, codec_of, raw_image
from syncaudit.datasets.importing import import_dataset
from syncaudit.decode import iter_luma
from syncaudit.pipeline import audit, read_clip
from testkit.bags.writing import CLIP, COMPRESSED, IMAGE, START_NS, Messages, Sent, jpeg, write_bag

PACKET = "ffmpeg_image_transport_msgs/msg/FFMPEGPacket"
PACKET_FIELDS = (
    "std_msgs/Header header\nint32 width\nint32 height\nstring encoding\nuint64 pts\n"
    "uint8 flags\nbool is_bigendian\nuint8[] data\n"
)
N = 12
TIMES = (START_NS + np.arange(N) * 50_000_000).tolist()


def scene(number: int) -> np.ndarray:
    """Return a 24 x 32 colour image that is unique to its number."""
    rng = np.random.default_rng(number)
    return rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)


def only_camera(source: Path, tmp_path: Path, **rules):
    import_dataset(str(source), tmp_path / "out" / "m.jsonl", rules=rules)
    clip = load_manifest(str(tmp_path / "out" / "m.jsonl"))[0]
    read = read_clip(clip)
    (stream,) = read.streams.values()
    return stream, read.findings


def bag_of(tmp_path: Path, messages: Messages, made: list, name: str) -> Path:
    sent = [
        Sent("/cam/image_raw", name, message, t + 5_000_000)
        for t, message in zip(TIMES, made, strict=True)
    ]
    return write_bag(tmp_path / "a.mcap", sent, messages)


def encode(codec: str, pictures: list[np.ndarray], **options: str) -> list[bytes]:
    context = av.CodecContext.create(codec, "w")
    context.width, context.height = pictures[0].shape[1], pictures[0].shape[0]
    context.pix_fmt, context.time_base, context.options = "yuv420p", Fraction(1, 20), options
    out = []
    for k, picture in enumerate(pictures):
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")
        frame.pts = k
        out += [bytes(packet) for packet in context.encode(frame)]
    return out + [bytes(packet) for packet in context.encode(None)]


def marked_units(data: bytes) -> list[bytes]:
    return [unit for unit in re.split(rb"\x00\x00\x00?\x01", data) if unit]


def measured_units(data: bytes) -> list[bytes]:
    units, at = [], 0
    while at < len(data):
        stop = at + 4 + int.from_bytes(data[at : at + 4], "big")
        units.append(data[at + 4 : stop])
        at = stop
    return units


@pytest.mark.parametrize(
    ("codec", "form", "options"),
    [
        ("libx264", "h264", {"bf": "0", "tune": "zerolatency", "g": "6"}),
        ("libx265", "h265", {"tune": "zerolatency", "x265-params": "bframes=0:log-level=none"}),
    ],
)
def test_compressed_video_is_remuxed_bit_by_bit(tmp_path, codec, form, options):
    pictures = [np.full((96, 128, 3), 20 * k, np.uint8) for k in range(N)]
    packets = encode(codec, pictures, **options)
    messages = Messages(is_ros1=False)
    made = [messages.video(t, data, form) for t, data in zip(TIMES, packets, strict=True)]
    stream, findings = only_camera(bag_of(tmp_path, messages, made, CLIP), tmp_path)
    assert not findings
    assert stream.time_ns.tolist() == TIMES
    assert stream.n_frames_container == N
    with av.open(stream.files.paths[0]) as container:
        kept = [bytes(packet) for packet in container.demux(video=0) if packet.size]
    # Matroska stores the length of a unit before it where Annex B has a start code.
    assert [measured_units(data) for data in kept] == [marked_units(data) for data in packets]
    shades = [float(np.mean(frame.luma)) for frame in iter_luma(stream.files)]
    assert len(shades) == N
    assert np.all(np.diff(shades) > 10.0)


def test_jpeg_images_are_kept_bit_by_bit_with_one_damaged_among_them(tmp_path):
    pictures = [jpeg(20 * k) for k in range(N)]
    pictures[0] = pictures[0][:100]
    pictures[5] = b"\xff\xd8 no image"
    messages = Messages(is_ros1=True)
    made = [messages.compressed(t, data) for t, data in zip(TIMES, pictures, strict=True)]
    stream, findings = only_camera(bag_of(tmp_path, messages, made, COMPRESSED), tmp_path)
    assert not findings
    with av.open(stream.files.paths[0]) as container:
        assert [bytes(p) for p in container.demux(video=0) if p.size] == pictures
    clip = load_manifest(str(tmp_path / "out" / "m.jsonl"))[0]
    assert "corrupt" in {str(finding.code) for finding in audit(clip).reasons}


def test_png_images_become_files_in_a_folder(tmp_path):
    pictures = [bytes(cv2.imencode(".png", scene(k))[1]) for k in range(N)]
    messages = Messages(is_ros1=False)
    made = [messages.compressed(t, data, "png") for t, data in zip(TIMES, pictures, strict=True)]
    stream, findings = only_camera(bag_of(tmp_path, messages, made, COMPRESSED), tmp_path)
    assert not findings
    assert [Path(path).read_bytes() for path in stream.files.paths] == pictures


@pytest.mark.parametrize("padding", [0, 6])
@pytest.mark.parametrize(
    "encoding", ["mono8", "bayer_rggb8", "bgr8", "rgb8", "rgba8", "mono16", "yuv422", "yuv422_yuy2"]
)
def test_raw_images_keep_their_grey_values(tmp_path, encoding, padding):
    messages = Messages(is_ros1=False)
    sent, wanted = [], []
    for k in range(N):
        colour = scene(k)
        if encoding == "mono16":
            pixels = (colour[:, :, 0].astype(np.uint16) << 8) + 7
            grey = colour[:, :, 0]
        elif encoding in ("mono8", "bayer_rggb8"):
            pixels = grey = colour[:, :, 0]
        elif encoding.startswith("yuv422"):
            luma = 0 if encoding == "yuv422_yuy2" else 1
            pixels = colour[:, :, :2].copy()
            grey = pixels[:, :, luma]
        else:
            pixels = np.dstack([colour, np.full((24, 32), 255, np.uint8)])
            pixels = pixels if encoding == "rgba8" else np.ascontiguousarray(colour)
            order = "bgr24" if encoding == "bgr8" else "rgb24"
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(colour), format=order)
            grey = frame.reformat(format="gray").to_ndarray()
        sent.append(messages.image(TIMES[k], pixels, encoding, padding=padding))
        wanted.append(grey)
    stream, findings = only_camera(bag_of(tmp_path, messages, sent, IMAGE), tmp_path)
    assert not findings
    found = [frame.luma.copy() for frame in iter_luma(stream.files)]
    # Conversions from RGB may differ by one level due to rounding.
    limit = 1 if encoding in ("bgr8", "rgb8", "rgba8") else 0
    difference = np.abs(np.array(found).astype(int) - np.array(wanted).astype(int))
    assert difference.max() <= limit


def test_images_that_cannot_be_kept_leave_a_finding_and_the_stamps(tmp_path):
    messages = Messages(is_ros1=False)
    made = [messages.image(t, scene(0)[:, :, 0], "32FC1") for t in TIMES]
    stream, findings = only_camera(bag_of(tmp_path, messages, made, IMAGE), tmp_path)
    assert stream.time_ns.tolist() == TIMES
    assert [str(f.code) for f in findings] == ["unreadable"]
    assert "encoding '32FC1' are not known" in findings[0].message


def test_an_empty_image_is_left_out_with_its_timestamp(tmp_path):
    messages = Messages(is_ros1=False)
    made = [messages.compressed(t, b"" if k == 4 else jpeg(9)) for k, t in enumerate(TIMES)]
    stream, findings = only_camera(bag_of(tmp_path, messages, made, COMPRESSED), tmp_path)
    assert stream.time_ns.tolist() == TIMES[:4] + TIMES[5:]
    assert stream.n_frames_container == N - 1
    (finding,) = findings
    assert "1 message of /cam/image_raw cannot be read, left out" in finding.message


def test_a_topic_that_changes_its_codec_keeps_what_came_before(tmp_path):
    messages = Messages(is_ros1=False)
    png = bytes(cv2.imencode(".png", scene(1))[1])
    made = [messages.compressed(t, jpeg(9) if k < 7 else png) for k, t in enumerate(TIMES)]
    stream, findings = only_camera(bag_of(tmp_path, messages, made, COMPRESSED), tmp_path)
    assert stream.n_frames_container == 7
    assert {str(f.code) for f in findings} == {"unreadable", "length_mismatch"}
    assert any("change from mjpeg to png" in f.message for f in findings)


def test_stamps_alone_make_a_camera_without_images(tmp_path):
    messages = Messages(is_ros1=False)
    made = [messages.compressed(t, jpeg(9)) for t in TIMES]
    source = bag_of(tmp_path, messages, made, COMPRESSED)
    stream, findings = only_camera(source, tmp_path, stamps_only=True)
    assert not findings
    assert stream.files.paths == ()
    assert stream.time_ns.tolist() == TIMES
    assert sorted(p.suffix for p in (tmp_path / "out").rglob("[!.]*") if p.is_file()) == [
        ".jsonl",
        ".parquet",
    ]


def test_foxglove_protobuf_images_are_read(tmp_path):
    source = tmp_path / "a.mcap"
    with source.open("wb") as file, ProtobufWriter(file) as writer:
        for k, t in enumerate(TIMES):
            message = CompressedImage(frame_id="cam", format="jpeg", data=jpeg(20 * k))
            message.timestamp.FromNanoseconds(t)
            writer.write_message("/cam", message, log_time=t + 9, publish_time=t + 5)
    stream, findings = only_camera(source, tmp_path)
    assert not findings
    assert stream.time_ns.tolist() == TIMES
    assert stream.n_frames_container == N
    assert stream.arrivals.publish_ns.tolist() == [t + 5 for t in TIMES]


def test_foxglove_raw_images_are_read(tmp_path):
    source = tmp_path / "a.mcap"
    with source.open("wb") as file, ProtobufWriter(file) as writer:
        for k, t in enumerate(TIMES):
            grey = np.ascontiguousarray(scene(k)[:, :, 0])
            message = RawImage(width=32, height=24, step=32, encoding="mono8", data=grey.tobytes())
            message.timestamp.FromNanoseconds(t)
            writer.write_message("/cam", message, log_time=t)
    stream, _ = only_camera(source, tmp_path)
    found = [frame.luma.copy() for frame in iter_luma(stream.files)]
    np.testing.assert_array_equal(found, [scene(k)[:, :, 0] for k in range(N)])


def test_foxglove_json_images_are_read_and_broken_ones_counted(tmp_path):
    source = tmp_path / "a.mcap"
    with source.open("wb") as file:
        writer = McapWriter(file)
        writer.start()
        schema = writer.register_schema("foxglove.CompressedImage", "jsonschema", b"{}")
        channel = writer.register_channel("/cam", "json", schema)
        for k, t in enumerate(TIMES):
            data = {
                "timestamp": {"sec": t // 10**9, "nsec": t % 10**9},
                "format": "jpeg",
                "data": base64.b64encode(jpeg(20 * k)).decode(),
            }
            text = json.dumps(data).encode() if k != 3 else b"{broken"
            writer.add_message(channel, log_time=t, publish_time=t, data=text)
        writer.finish()
    stream, findings = only_camera(source, tmp_path)
    assert stream.time_ns.tolist() == [t for k, t in enumerate(TIMES) if k != 3]
    assert [str(f.code) for f in findings] == ["corrupt"]
    assert "1 message of /cam cannot be read" in findings[0].message


def test_images_of_which_none_can_be_decoded_leave_the_stamps(tmp_path):
    messages = Messages(is_ros1=False)
    made = [messages.video(t, b"\0\0\0\1 nothing") for t in TIMES]
    stream, findings = only_camera(bag_of(tmp_path, messages, made, CLIP), tmp_path)
    assert stream.time_ns.tolist() == TIMES
    assert stream.files.paths == ()
    assert [str(finding.code) for finding in findings] == ["corrupt"]
    assert "none of its 12 images can be decoded" in findings[0].message


def test_images_are_not_held_back_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("syncaudit.datasets.images._MOST_WAITING", 5)
    messages = Messages(is_ros1=False)
    made = [messages.compressed(t, b"\xff\xd8 nothing") for t in TIMES]
    _, findings = only_camera(bag_of(tmp_path, messages, made, COMPRESSED), tmp_path)
    assert "none of the first 5 images can be decoded" in findings[0].message


@pytest.mark.parametrize(
    ("data", "width", "step"), [(bytes(10), 32, 32), (bytes(800), 0, 0), (bytes(800), 32, 8)]
)
def test_a_raw_image_that_is_too_short_is_refused(data, width, step):
    with pytest.raises(ImageError, match=rf"{width}x24 \(mono8, {step} bytes a row\)"):
        raw_image(data, "mono8", width=width, height=24, step=step, is_big=False)


def test_a_format_that_nothing_knows_is_refused():
    with pytest.raises(ImageError, match="format 'draco' are not known"):
        codec_of(b"draco", "draco")


def test_a_video_that_starts_between_key_images_starts_at_the_first_one(tmp_path):
    pictures = [np.full((96, 128, 3), 15 * k, np.uint8) for k in range(N + 4)]
    options = {"bf": "0", "tune": "zerolatency", "g": "6", "keyint_min": "6"}
    packets = encode("libx264", pictures, **options)[4:]
    messages = Messages(is_ros1=False)
    made = [messages.video(t, data) for t, data in zip(TIMES, packets, strict=True)]
    stream, findings = only_camera(bag_of(tmp_path, messages, made, CLIP), tmp_path)
    assert [str(finding.code) for finding in findings] == ["corrupt"]
    assert "2 images before the first key frame" in findings[0].message
    assert stream.time_ns.tolist() == TIMES[2:]
    frames = iter_luma(stream.files)
    shades = [float(np.mean(frame.luma)) for frame in frames]
    assert (len(shades), frames.tally.n_errors) == (N - 2, 0)


@pytest.mark.parametrize(
    ("codec", "said"),
    [("libx264", "libx264"), ("libx264", "h264;yuv420p;bgr8"), ("libx265", "hevc")],
)
def test_packets_of_ffmpeg_image_transport_are_a_video(codec, said, tmp_path):
    pictures = [np.full((48, 64, 3), 20 + 15 * k, np.uint8) for k in range(N)]
    quiet = {"x265-params": "log-level=none:bframes=0"} if codec == "libx265" else {"bf": "0"}
    packets = encode(codec, pictures, tune="zerolatency", **quiet)
    messages = Messages(is_ros1=False)
    messages.store.register(get_types_from_msg(PACKET_FIELDS, PACKET))
    made = [
        messages.make(
            PACKET, header=messages.header(t), width=64, height=48, encoding=said, pts=k, flags=0,
            is_bigendian=False, data=np.frombuffer(data, np.uint8),
        )
        for k, (t, data) in enumerate(zip(TIMES, packets, strict=True))
    ]  # fmt: skip
    stream, findings = only_camera(bag_of(tmp_path, messages, made, PACKET), tmp_path)
    assert not findings
    assert stream.time_ns.tolist() == TIMES
    shades = [float(np.mean(frame.luma)) for frame in iter_luma(stream.files)]
    assert len(shades) == N
    assert np.all(np.diff(shades) > 10.0)


def test_what_is_left_out_is_told_with_its_reason(tmp_path):
    messages = Messages(is_ros1=False)
    far = np.full((24, 32), 700, np.uint16)
    near = messages.compressed(TIMES[0], jpeg(20))
    point = messages.make("geometry_msgs/msg/Point", x=0.0, y=0.0, z=0.0)
    sent = [
        Sent("/cam/depth/image_raw", IMAGE, messages.image(TIMES[0], far, "16UC1"), TIMES[0]),
        Sent("/cam/depth_rgb/compressed", COMPRESSED, near, TIMES[0]),
        Sent("/place", "geometry_msgs/msg/Point", point, TIMES[0]),
    ]
    bag = write_bag(tmp_path / "a.mcap", sent, messages)
    notes = import_dataset(str(bag), tmp_path / "out" / "m.jsonl").notes
    assert set(notes) == {
        "/cam/depth/image_raw (sensor_msgs/msg/Image): not taken, 1 message: depth: distances "
        "show no light",
        "/place (geometry_msgs/msg/Point): not taken, 1 message: its numbers are read only if a "
        "[[topic]] rule names them",
        "/cam/depth_rgb/compressed -> cam_depth_rgb (camera)",
    }
