"""Load clips from manifests, and import data sets into manifests."""

from syncaudit.datasets.manifest import ClipTable, iter_manifest, load_manifest
from syncaudit.datasets.rows import clip_to_row, write_manifest

__all__ = ["ClipTable", "clip_to_row", "iter_manifest", "load_manifest", "write_manifest"]
