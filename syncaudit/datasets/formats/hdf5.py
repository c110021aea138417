"""Import HDF5 files of robot demonstrations: ACT, ALOHA, robomimic and LIBERO."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from syncaudit.datasets.formats.nested import files_below, first_below
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.datasets.steps.episode import Episode, broken_clip, clip_of, rate_of_rules
from syncaudit.datasets.steps.hdf5_file import (
    arrays_of,
    child_of,
    names_in,
    open_hdf5,
    require_h5py,
)
from syncaudit.errors import ManifestError
from syncaudit.model import Clip

if TYPE_CHECKING:
    import h5py

_SUFFIXES = (".hdf5", ".h5")
_DEPTH = 2  # suite, task
_ACTIONS = ("action", "actions")
# In robomimic: the simulator's own state, and every observation again, one step later.
_REPEATED = ("states", "next_obs/")
_UNLIKE = "holds neither 'action' beside 'observations' (ACT, ALOHA) nor 'data/demo_0' (robomimic)"


class Hdf5Format:
    """One clip per episode: an ACT or ALOHA file, a robomimic or LIBERO group ``demo_0``.

    Steps have no timestamps: they are counted at the simulator's ``control_freq`` or the
    ``rate_hz`` of the rules, else only numbered.
    """

    name = "hdf5"
    summary = "HDF5 of ACT, ALOHA (observations/, action), robomimic, LIBERO (data/demo_0/obs)"
    takes_rules = True

    def probe(self, source: Source) -> str | None:
        """Accept a file or folder in which an HDF5 file holds demonstrations."""
        names = first_below(source, _SUFFIXES, depth=_DEPTH)
        if not names:
            return f"no *{' or *'.join(_SUFFIXES)} file, up to {_DEPTH} levels down"
        if find_spec("h5py") is None:
            return None  # the import reports what it needs
        reasons = []
        for name in names:
            try:
                with open_hdf5(source, name) as file:
                    if _episodes(file):
                        return None
                reasons.append(f"{name} {_UNLIKE}")
            except ManifestError as error:
                reasons.append(str(error))
        return reasons[0]

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the episodes, files in the order of their names."""
        require_h5py(self.name)
        rate_hz = rate_of_rules(job.rules)
        for name in files_below(source, _SUFFIXES, depth=_DEPTH):
            stem = name.rpartition(".")[0]
            try:
                with open_hdf5(source, name) as file:
                    yield from _clips(source, stem, file, rate_hz, job)
            except ManifestError as error:
                fault = f"corrupt: {name} {error.message}. {error.hint}"
                yield broken_clip(stem, [fault], job, source)


def _episodes(file: h5py.File) -> list[str]:
    """Return the groups that hold one episode each; "" is the file itself."""

    def has_actions(group: str) -> bool:
        return any(hasattr(child_of(file, f"{group}{name}"), "shape") for name in _ACTIONS)

    if has_actions(""):
        return [""]
    names = names_in(child_of(file, "data"))
    return [f"data/{name}" for name in names if has_actions(f"data/{name}/")]


def _clips(
    source: Source, stem: str, file: h5py.File, rate_hz: float | None, job: Import
) -> Iterator[Clip]:
    names = _episodes(file)
    if not names:
        job.note(f"ignored a file that {_UNLIKE}")
    for name in names:
        group = child_of(file, name) if name else file
        arrays = arrays_of(group)
        for repeated in [key for key in arrays if key.startswith(_REPEATED)]:
            job.note(f"ignored {repeated}: the simulator's own state, or obs a step later")
            del arrays[repeated]
        n_steps = next((arrays[key].shape[0] for key in _ACTIONS if key in arrays), 0)
        episode = Episode(
            clip_id=f"{stem}/{name.rpartition('/')[2]}" if name else stem,
            arrays=arrays,
            rows=(0, n_steps),
            rate_hz=rate_hz or _stated_rate_hz(file),
        )
        yield clip_of(episode, job, source)


def _stated_rate_hz(file: h5py.File) -> float | None:
    """Return the rate of the simulator, which robomimic stores beside the data."""
    try:
        arguments = json.loads(file["data"].attrs["env_args"])
        rate_hz = float(arguments["env_kwargs"]["control_freq"])
    except (KeyError, TypeError, ValueError, RecursionError, OSError):
        return None
    return rate_hz if 0 < rate_hz < 1e6 else None
