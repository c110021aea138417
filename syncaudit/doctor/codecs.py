"""Check which video codecs work here by decoding a tiny sample of each."""

from __future__ import annotations

from syncaudit.decode.samples import N_FRAMES, SAMPLES
from syncaudit.doctor.isolated import ask_python
from syncaudit.doctor.symptom import Status, Symptom

__all__ = ["probe_codecs"]

# One line per codec: its name, the number of decoded frames, the error.
_DECODE = """
from syncaudit.decode import iter_luma
from syncaudit.decode.samples import SAMPLES
from syncaudit.model import FrameFiles
for codec, path in SAMPLES.items():
    try:
        frames = iter_luma(FrameFiles(paths=(str(path),)))
        n, why = sum(1 for _ in frames), frames.tally.first_error or ""
    except Exception as error:
        n, why = 0, str(error)
    print(codec, n, " ".join(why.split()), sep="\\t", flush=True)
"""
_CURE = "pip install --force-reinstall av (its own wheels decode all of these)"


def probe_codecs() -> list[Symptom]:
    """Return for every codec whether its sample decodes on the CPU."""
    answer = ask_python(_DECODE)
    rows = [line.split("\t") for line in answer.said.splitlines()] if answer.is_ok else []
    found = {row[0]: (int(row[1]), row[2]) for row in rows if len(row) == 3 and row[1].isdecimal()}
    return [_symptom(codec, *found.get(codec, (0, answer.said[:200]))) for codec in SAMPLES]


def _symptom(codec: str, n_frames: int, why: str) -> Symptom:
    if n_frames == N_FRAMES and not why:
        return Symptom(codec, Status.OK, "decodes on the CPU")
    detail = f"{n_frames} of {N_FRAMES} frames decoded" + (f": {why}" if why else "")
    return Symptom(codec, Status.FAULTY, detail, cure=_CURE)
