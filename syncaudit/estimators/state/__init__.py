"""Measure images and states of robots against the motion of the joints."""

from syncaudit.estimators.state.measure import measure_camera_state
from syncaudit.estimators.state.states import measure_states

__all__ = ["measure_camera_state", "measure_states"]
