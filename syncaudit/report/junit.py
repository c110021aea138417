"""Verdicts as a JUnit report: CI servers show rejected clips as failed tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from syncaudit.model import ClipVerdict, Verdict
from syncaudit.writing import replacing_text

# Characters that XML 1.0 cannot hold, even escaped.
_FORBIDDEN = {code: "\ufffd" for code in range(32) if code not in (9, 10, 13)} | {
    0xFFFE: "\ufffd",
    0xFFFF: "\ufffd",
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}


def write_junit(clips: Iterable[ClipVerdict], counts: Mapping[str, int], path: Path) -> None:
    """Write one test case per clip: rejected is failed, unverified is skipped.

    The XML file is replaced in one step.
    """
    with replacing_text(path) as file:
        xml = XMLGenerator(file, encoding="utf-8", short_empty_elements=True)
        xml.startDocument()
        suite = AttributesImpl(
            {
                "name": "syncaudit",
                "tests": str(sum(counts.values())),
                "failures": str(counts["reject"]),
                "skipped": str(counts["unverified"]),
            }
        )
        xml.startElement("testsuites", suite)
        xml.startElement("testsuite", suite)
        for clip in clips:
            _add_case(xml, clip)
        xml.endElement("testsuite")
        xml.endElement("testsuites")
        xml.endDocument()
        file.write("\n")


def _add_case(xml: XMLGenerator, clip: ClipVerdict) -> None:
    xml.startElement(
        "testcase",
        AttributesImpl(
            {
                "classname": _safe(clip.recording_id),
                "name": _safe(clip.clip_id),
                "time": f"{clip.seconds:.3f}",
            }
        ),
    )
    tag = {Verdict.REJECT: "failure", Verdict.UNVERIFIED: "skipped"}.get(clip.verdict)
    if tag is not None:
        messages = [_safe(reason.message) for reason in clip.reasons]
        codes = ",".join(dict.fromkeys(reason.code for reason in clip.reasons))
        head = messages[0] if messages else str(clip.verdict)
        attributes = {"message": head} | ({"type": codes} if tag == "failure" else {})
        xml.startElement(tag, AttributesImpl(attributes))
        xml.characters("\n".join(messages))
        xml.endElement(tag)
    xml.endElement("testcase")


def _safe(text: str) -> str:
    return text.translate(_FORBIDDEN)
