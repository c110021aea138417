"""A robot cell with known truth: an arm at work, seen from a stand and from its wrist."""

from .episode import CAMERAS, ContentFault, Episode, EpisodeConfig, record_episode
from .lerobot import write_lerobot
from .scene import SceneStyle
from .task import TaskStyle

__all__ = [
    "CAMERAS",
    "ContentFault",
    "Episode",
    "EpisodeConfig",
    "SceneStyle",
    "TaskStyle",
    "record_episode",
    "write_lerobot",
]
