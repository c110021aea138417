"""Find leaks between train and validation: shared recordings, files, episodes, video."""

from syncaudit.splits.duplicates import (
    Duplicate,
    Lookalike,
    VideoPair,
    VideoSet,
    count_videos,
    find_duplicates,
)
from syncaudit.splits.shared import SharedData, find_shared, leaked_clips
from syncaudit.splits.split_lists import (
    Split,
    splits_by_lists,
    splits_of_hugging_face,
    splits_stated,
)

__all__ = [
    "Duplicate",
    "Lookalike",
    "SharedData",
    "Split",
    "VideoPair",
    "VideoSet",
    "count_videos",
    "find_duplicates",
    "find_shared",
    "leaked_clips",
    "splits_by_lists",
    "splits_of_hugging_face",
    "splits_stated",
]
