"""Read LeRobot's ``meta/info.json`` with every type checked, and resolve its paths."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Annotated, Any, ClassVar

from pydantic import Field

from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.datasets.wording import checked
from syncaudit.errors import ManifestError
from syncaudit.model.clip import MOST_EPISODES

INFO = "meta/info.json"
_NUMBERS = ("float16", "float32", "float64")
# Names of state and command vectors in LeRobot, and in openpi and DROID.
STATES = ("observation", "action", "state", "joint", "gripper", "cartesian")
_BOOKKEEPING = frozenset({"timestamp", "frame_index", "episode_index", "index", "task_index"})
CHUNK_SIZE = 1000
# ``03d``, ``06d``: widths in LeRobot's templates. An untrusted width could be anything.
_WIDTH = re.compile(r"(0?[1-9]?[0-9]d?)?")
_LOOSE: dict[str, Any] = {"extra": "ignore", "strict": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Feature:
    __pydantic_config__: ClassVar[dict[str, Any]] = _LOOSE

    dtype: str | None = None
    shape: list[int] | None = None
    info: dict[str, Any] | None = None
    video_info: dict[str, Any] | None = None

    @property
    def is_depth(self) -> bool:
        """Whether the images are distances, which do not show light and have little texture."""
        about = {**(self.video_info or {}), **(self.info or {})}
        return bool(about.get("is_depth_map") or about.get("video.is_depth_map"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """The part of ``meta/info.json`` that is used."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _LOOSE

    codebase_version: str
    fps: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    features: dict[str, _Feature | None]
    data_path: str | None = None
    video_path: str | None = None
    chunks_size: Annotated[int, Field(ge=0)] | None = None
    total_episodes: int | None = None


def read_info(source: Source) -> Info:
    """Read ``meta/info.json`` and check the type of every key."""
    return checked(Info, source.read_json(INFO), path=source.uri_of(INFO))


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Locations of episodes, and the roles of features."""

    fps: float
    data_path: str
    video_path: str
    chunks_size: int
    total_episodes: int | None
    videos: Mapping[str, str]  # feature to source name
    images: Mapping[str, str]
    states: Mapping[str, str]
    ignored: tuple[str, ...]

    @classmethod
    def of(cls, info: Info) -> Layout:
        """Derive the layout from a data set's info."""
        features = {key: value for key, value in info.features.items() if value is not None}
        total = info.total_episodes

        def cameras(kind: str) -> list[str]:
            return [key for key, it in features.items() if it.dtype == kind and not it.is_depth]

        videos, images = cameras("video"), cameras("image")
        states = [
            key
            for key, it in features.items()
            if it.dtype in _NUMBERS and key.startswith(STATES) and len(it.shape or ()) == 1
        ]
        names = _short_names([*videos, *images, *states])
        return cls(
            fps=info.fps,
            data_path=info.data_path or "",
            video_path=info.video_path or "",
            chunks_size=info.chunks_size or CHUNK_SIZE,
            total_episodes=total if total is not None and 0 < total <= MOST_EPISODES else None,
            videos={key: names[key] for key in videos},
            images={key: names[key] for key in images},
            states={key: names[key] for key in states},
            ignored=tuple(
                f"{key} ({it.dtype})"
                for key, it in features.items()
                if key not in {*videos, *images, *states, *_BOOKKEEPING}
            ),
        )

    def tell(self, job: Import) -> None:
        """Note how features were interpreted."""
        for key, name in {**self.videos, **self.images}.items():
            job.note(f"{key} -> camera {name}")
        for key, name in self.states.items():
            job.note(f"{key} -> state {name}")
        for text in self.ignored:
            job.note(f"ignored {text}")
        job.note("timestamps are frame_index / fps: a counter, not capture times")


def _short_names(keys: list[str]) -> dict[str, str]:
    """Return source names: keys without their common prefix, where that stays unique."""
    short = {key: key.removeprefix("observation.").removeprefix("images.") for key in keys}
    taken = list(short.values())
    return {key: name if taken.count(name) == 1 else key for key, name in short.items()}


def filled(source: Source, template: str, values: Mapping[str, object]) -> str:
    """Return the file that a path template of the data set names.

    ManifestError if it uses unknown fields, formats other than digits, or leaves the data set.
    """
    try:
        parts = list(Formatter().parse(template))
        is_plain = all(
            name is None or (name in values and not kind and _WIDTH.fullmatch(width or ""))
            for _, name, width, kind in parts
        )
        name = template.format(**values) if is_plain else ""
    except ValueError:
        is_plain, name = False, ""
    shown = json.dumps(template[:80])
    if not is_plain:
        raise _broken(
            source,
            f"the path template {shown} cannot be filled: expected names among "
            f"{', '.join(values)}, with widths such as :03d",
        )
    is_inside = name and not name.startswith("/") and ".." not in name.split("/")
    if not is_inside or "://" in name or "::" in name or not name.isprintable():
        raise _broken(source, f"the path template {shown} leads out of the data set")
    return name


def _broken(source: Source, what: str) -> ManifestError:
    return ManifestError(what, path=source.uri_of(INFO), hint="Copy it again, or correct it.")
