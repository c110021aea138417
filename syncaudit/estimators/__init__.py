"""Who is how far from whom: one function a pair of kinds, each measures or refuses."""

from syncaudit.estimators.events import EventEvidence, limit_light, measure_flashes
from syncaudit.estimators.inertial import measure_imu_imu
from syncaudit.estimators.knocks.measure import estimate_knocks
from syncaudit.estimators.rotation.measure import (
    measure_camera_camera,
    measure_camera_gyro,
    measure_yaw_camera,
)
from syncaudit.estimators.sound.measure import estimate_microphones
from syncaudit.estimators.speech import measure_speech
from syncaudit.estimators.state import measure_camera_state, measure_states
from syncaudit.estimators.vehicle import measure_can_imu

__all__ = [
    "EventEvidence",
    "estimate_knocks",
    "estimate_microphones",
    "limit_light",
    "measure_camera_camera",
    "measure_camera_gyro",
    "measure_camera_state",
    "measure_can_imu",
    "measure_flashes",
    "measure_imu_imu",
    "measure_speech",
    "measure_states",
    "measure_yaw_camera",
]
