"""Results of an audit over time, for players of recordings: Foxglove and Rerun."""

from syncaudit.report.overlay.mcap_file import write_mcap
from syncaudit.report.overlay.overlay import Overlay, overlay_of
from syncaudit.report.overlay.rerun_file import write_rerun

__all__ = ["Overlay", "overlay_of", "write_mcap", "write_rerun"]
