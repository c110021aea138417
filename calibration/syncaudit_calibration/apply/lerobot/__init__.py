"""Rewrite LeRobot data sets with re-paired rows, so that the measured offsets are removed.

A LeRobot row holds samples that count as simultaneous, so correcting timestamps does not remove an
offset: frames, states and commands have to be re-paired. Nothing is re-encoded.
"""

from syncaudit_calibration.apply.lerobot.repair import repair_lerobot

__all__ = ["repair_lerobot"]
