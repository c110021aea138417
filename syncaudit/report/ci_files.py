"""Verdicts for CI servers: JUnit, SARIF for code-scanning views, Markdown for job pages.

SARIF: OASIS Standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0" (2020).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from syncaudit.model import ClipVerdict, Verdict
from syncaudit.report.reasons import ACTIONS, REASONS
from syncaudit.writing import replacing_text

# Characters that XML 1.0 cannot hold, even escaped.
_FORBIDDEN = {code: "\ufffd" for code in range(32) if code not in (9, 10, 13)} | {
    0xFFFE: "\ufffd",
    0xFFFF: "\ufffd",
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}


def write_junit(clips: Iterable[ClipVerdict], counts: Mapping[str, int], path: Path) -> None:
    """Write one JUnit test case per clip: rejected is failed, unverified is skipped.

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


_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write_sarif(clips: Iterable[ClipVerdict], path: Path, *, version: str, manifest: str) -> None:
    """Write one SARIF result per reason (``error``) and warning (``warning``) of every clip.

    `manifest` is the URI of the manifest that lists the clips. The file is replaced in one step.
    """
    driver = {
        "name": "syncaudit",
        "version": version,
        "rules": [
            {"id": code, "shortDescription": {"text": words}} for code, words in REASONS.items()
        ],
    }
    head = {"$schema": _SCHEMA, "version": "2.1.0"}
    with replacing_text(path) as file:
        # Results are streamed: a million clips do not fit into memory twice.
        file.write(json.dumps(head)[:-1] + ', "runs": [{"tool": ')
        file.write(json.dumps({"driver": driver}) + ', "results": [')
        separator = "\n"
        for clip in clips:
            for result in _results(clip, manifest):
                file.write(separator + json.dumps(result, ensure_ascii=False))
                separator = ",\n"
        file.write("\n]}]}\n")


def _results(clip: ClipVerdict, manifest: str) -> Iterable[dict[str, Any]]:
    level = {Verdict.REJECT: "error", Verdict.UNVERIFIED: "note"}.get(clip.verdict, "warning")
    for findings, own in ((clip.reasons, level), (clip.warnings, "warning")):
        for finding in findings:
            source = finding.source
            name = clip.clip_id if source is None else f"{clip.clip_id}/{source}"
            yield {
                "ruleId": finding.code,
                "level": own,
                "message": {"text": f"{clip.clip_id}: {finding.message}"},
                "locations": [
                    {
                        "physicalLocation": {"artifactLocation": {"uri": manifest}},
                        "logicalLocations": [{"fullyQualifiedName": name, "kind": "clip"}],
                    }
                ],
                # The same finding of the same clip is the same issue in every run.
                "partialFingerprints": {"clipSourceCode/v1": f"{name}/{finding.code}"},
            }


_MARK = "<!-- syncaudit -->"
"""First line, by which a later run recognises a file that it may overwrite."""

_MOST_CAUSES = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~@&$:])")


def write_markdown(
    counts: Mapping[str, int],
    causes: Sequence[Mapping[str, Any]],
    worst: Iterable[ClipVerdict],
    path: Path,
) -> None:
    """Write counts, causes by source, and the worst clips as Markdown.

    `causes` are those of `Causes.to_view`. The file is replaced in one step.
    """
    lines = [_MARK, "## syncaudit", ""]
    lines += ["| " + " | ".join(map(str, Verdict)) + " |", "| --- " * len(Verdict) + "|"]
    lines += ["| " + " | ".join(f"{counts[verdict]:,}" for verdict in Verdict) + " |", ""]
    if causes:
        lines += ["| cause | source | clips | size | what to do |", "| --- " * 5 + "|"]
        for cause in causes[:_MOST_CAUSES]:
            name, action = ACTIONS.get(cause["code"], (cause["code"], "see the report"))
            cells = (
                f"{cause['verdict']}: {name}",
                _plain(cause["source"]),
                f"{cause['clips']:,}",
                cause["size"] or "",
                action,
            )
            lines.append("| " + " | ".join(cells) + " |")
        more = len(causes) - _MOST_CAUSES
        lines += [f"\n... and {more} more, see the report", ""] if more > 0 else [""]
    for clip in worst:
        first = clip.reasons[0].message if clip.reasons else str(clip.verdict)
        lines.append(f"- **{_plain(clip.clip_id)}**: {_plain(first)}")
    with replacing_text(path) as file:
        file.write("\n".join(lines).rstrip("\n") + "\n")


def _plain(text: str) -> str:
    """Escape untrusted text so that Markdown shows it literally, on one line."""
    shown = "".join(char if char.isprintable() else " " for char in text)
    return _SPECIAL.sub(r"\\\1", " ".join(shown.split()))
