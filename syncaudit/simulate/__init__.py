"""A simulated rig with known truth: cameras, IMU, CAN and microphone with chosen clock faults."""

from .camera import SIX_CAMERAS, CameraConfig
from .can_bus import CanConfig
from .clocks import ClockFault
from .config import EPOCH_NS, RigConfig
from .driving import STYLES, DrivingStyle, simulate_motion
from .frame_faults import FrameFault
from .imu import ImuConfig
from .light import FlashConfig
from .microphone import MicrophoneConfig
from .motion import Motion
from .rig import simulate_clip, simulate_manifest
from .truth import SourceTruth, Step, Truth, read_truth

__all__ = [
    "EPOCH_NS",
    "SIX_CAMERAS",
    "STYLES",
    "CameraConfig",
    "CanConfig",
    "ClockFault",
    "DrivingStyle",
    "FlashConfig",
    "FrameFault",
    "ImuConfig",
    "MicrophoneConfig",
    "Motion",
    "RigConfig",
    "SourceTruth",
    "Step",
    "Truth",
    "read_truth",
    "simulate_clip",
    "simulate_manifest",
    "simulate_motion",
]
