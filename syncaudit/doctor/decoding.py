"""Check which video can be decoded here: codecs on the CPU, and a GPU with its decoders."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from syncaudit.decode import DECODERS
from syncaudit.decode.samples import N_FRAMES, SAMPLES
from syncaudit.doctor.isolated import ask_python
from syncaudit.doctor.symptom import Status, Symptom

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
_CODEC_CURE = "pip install --force-reinstall av (its own wheels decode all of these)"
_DRIVER = Path("/proc/driver/nvidia/version")
_SMI_S = 10.0
_LOAD = "import ctypes; ctypes.CDLL('libnvcuvid.so.1'); print('libnvcuvid.so.1 loads')"
_CAPABILITY = (
    "In a container: --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility,video; "
    "else install the NVIDIA driver."
)


def probe_codecs() -> list[Symptom]:
    """Return for every codec whether its sample decodes on the CPU."""
    answer = ask_python(_DECODE)
    rows = [line.split("\t") for line in answer.said.splitlines()] if answer.is_ok else []
    found = {row[0]: (int(row[1]), row[2]) for row in rows if len(row) == 3 and row[1].isdecimal()}
    return [_codec(codec, *found.get(codec, (0, answer.said[:200]))) for codec in SAMPLES]


def _codec(codec: str, n_frames: int, why: str) -> Symptom:
    if n_frames == N_FRAMES and not why:
        return Symptom(codec, Status.OK, "decodes on the CPU")
    detail = f"{n_frames} of {N_FRAMES} frames decoded" + (f": {why}" if why else "")
    return Symptom(codec, Status.FAULTY, detail, cure=_CODEC_CURE)


def probe_gpu(driver: Path = _DRIVER) -> list[Symptom]:
    """Return the available GPUs, driver and decoder back ends."""
    with ThreadPoolExecutor() as pool:
        back_ends = list(pool.map(_back_end, (name for name in DECODERS if name != "cpu")))
    devices = _devices()
    if not devices and not driver.exists():
        detail = "no NVIDIA GPU is visible; video is decoded on the CPU"
        return [Symptom("GPU", Status.ABSENT, detail), *back_ends]
    library = ask_python(_LOAD)
    return [
        Symptom(
            "GPU",
            Status.OK if devices else Status.UNKNOWN,
            "; ".join(devices) or "a driver is loaded, but nvidia-smi names no device",
        ),
        Symptom(
            "NVDEC library",
            Status.OK if library.is_ok else Status.FAULTY,
            library.said,
            cure=None if library.is_ok else _CAPABILITY,
        ),
        *back_ends,
    ]


def _devices() -> list[str]:
    """Return name and driver version of every GPU that nvidia-smi reports."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    try:
        done = subprocess.run(  # noqa: S603  # the driver's own program
            [program, "--query-gpu=name,driver_version", "--format=csv,noheader"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SMI_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode:
        return []
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return [", driver ".join(line.strip().rsplit(", ", 1)) for line in lines if line.strip()]


def _back_end(name: str) -> Symptom:
    answer = ask_python(
        "from syncaudit.decode import DECODERS; "
        f"print(DECODERS[{name!r}]().unavailable_reason() or '')"
    )
    if answer.is_ok and not answer.said:
        return Symptom(f"decoder {name}", Status.OK, "decodes samples as the CPU does")
    return Symptom(f"decoder {name}", Status.ABSENT, answer.said)
