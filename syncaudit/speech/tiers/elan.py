"""Parse ELAN annotation files (.eaf)."""

from __future__ import annotations

from xml.etree import ElementTree

from syncaudit.model import Interval, Tier
from syncaudit.speech.tiers.parsed import Parsed, broken, seconds


def parse_eaf(uri: str, text: str) -> Parsed:
    """Parse an ELAN file: aligned annotations, and those that refer to aligned ones.

    ``TIME_ORIGIN`` of the first medium is the position in the medium where the time of the
    annotations starts: it is added to every time and reported.

    StreamReadError if it is not an ELAN file.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise broken(uri, "declares a DOCTYPE, which ELAN files do not have")
    try:
        root = ElementTree.fromstring(text.encode("utf-8"))  # noqa: S314  # no entities, see above
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as error:
        raise broken(uri, f"is not XML ({error})") from error
    if root.tag != "ANNOTATION_DOCUMENT":
        raise broken(uri, f"is not an ELAN file (its root is <{root.tag[:40]}>)")
    medium = root.find(".//MEDIA_DESCRIPTOR")
    origin = medium.get("TIME_ORIGIN") if medium is not None else None
    origin_s = seconds(uri, "TIME_ORIGIN", origin) / 1000 if origin else 0.0
    slots = {
        slot.get("TIME_SLOT_ID", ""): seconds(uri, "a TIME_SLOT", value) / 1000 + origin_s
        for slot in root.iter("TIME_SLOT")
        if (value := slot.get("TIME_VALUE")) is not None
    }
    spans: dict[str, tuple[float, float]] = {}
    parents: dict[str, str] = {}
    for item in root.iter("ALIGNABLE_ANNOTATION"):
        start = slots.get(item.get("TIME_SLOT_REF1", ""))
        stop = slots.get(item.get("TIME_SLOT_REF2", ""))
        if start is not None and stop is not None:
            spans[item.get("ANNOTATION_ID", "")] = (start, stop)
    for item in root.iter("REF_ANNOTATION"):
        parents[item.get("ANNOTATION_ID", "")] = item.get("ANNOTATION_REF", "")
    tiers: list[Tier] = []
    n_untimed = 0
    for tier in root.iter("TIER"):
        intervals: list[Interval] = []
        for annotation in tier.iter("ANNOTATION"):
            for item in annotation:
                span = _span(item.get("ANNOTATION_ID", ""), spans, parents)
                if span is None:
                    n_untimed += 1
                    continue
                label = (item.findtext("ANNOTATION_VALUE") or "").strip()
                intervals.append(Interval(start_s=span[0], stop_s=span[1], label=label))
        tiers.append(Tier(name=tier.get("TIER_ID", ""), intervals=tuple(intervals)))
    return Parsed(tiers=tuple(tiers), n_untimed=n_untimed, origin_s=origin_s)


def _span(
    name: str, spans: dict[str, tuple[float, float]], parents: dict[str, str]
) -> tuple[float, float] | None:
    """Return the times of an annotation: its own, or those of the one it refers to."""
    seen: set[str] = set()
    while name not in spans:
        if name in seen or name not in parents:
            return None
        seen.add(name)
        name = parents[name]
    return spans[name]
