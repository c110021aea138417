"""Verdicts as SARIF 2.1.0: code-scanning views list every finding under its rule.

Format: OASIS Standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0" (2020).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from syncaudit.model import ClipVerdict, Verdict
from syncaudit.report.reasons import REASONS
from syncaudit.writing import replacing_text

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write_sarif(clips: Iterable[ClipVerdict], path: Path, *, version: str, manifest: str) -> None:
    """Write one result per reason (``error``) and warning (``warning``) of every clip.

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
