"""Diagnose this machine: versions, codecs, GPU, aligners, engines, viewer, resources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from syncaudit.doctor.decoding import probe_codecs, probe_gpu
from syncaudit.doctor.machine import probe_machine
from syncaudit.doctor.packages import probe_extras, probe_speech, probe_versions, probe_viewer
from syncaudit.doctor.symptom import Status, Symptom

__all__ = ["GROUPS", "Probe", "Status", "Symptom", "examine_machine"]

Probe = Callable[[], Sequence[Symptom]]

GROUPS: Mapping[str, Probe] = {
    "versions": probe_versions,
    "codecs": probe_codecs,
    "gpu": probe_gpu,
    "speech": probe_speech,
    "viewer": probe_viewer,
    "extras": probe_extras,
    "machine": probe_machine,
}


def examine_machine(
    groups: Mapping[str, Probe] = GROUPS, *, timeout_s: float = 20.0
) -> dict[str, list[Symptom]]:
    """Run all probes in parallel; none can raise, hang or crash this process.

    A group is reported as not answering after `timeout_s`.
    """
    found: dict[str, list[Symptom]] = {}

    def run(name: str, probe: Probe) -> None:
        try:
            found[name] = list(probe())
        except Exception as error:  # noqa: BLE001  # a diagnosis must survive what it diagnoses
            why = f"the probe failed: {type(error).__name__}: {error}"
            found[name] = [Symptom(name, Status.UNKNOWN, why)]

    threads = [
        threading.Thread(target=run, args=item, daemon=True, name=f"doctor-{item[0]}")
        for item in groups.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_s)
    late = f"no answer within {timeout_s:g} s"
    return {name: found.get(name) or [Symptom(name, Status.UNKNOWN, late)] for name in groups}
