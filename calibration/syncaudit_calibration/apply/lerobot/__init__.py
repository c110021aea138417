"""Write LeRobot data sets anew with rows that belong together: the measured lags taken out.

A row of LeRobot holds what counts as simultaneous, so a lag is no matter of stamps there: pictures,
states and commands have to be paired anew. Nothing is encoded again.
"""

from syncaudit_calibration.apply.lerobot.repair import repair_lerobot

__all__ = ["repair_lerobot"]
