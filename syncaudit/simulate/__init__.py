"""A simulated rig with known truth: its devices, their clock faults, and flashes."""

from .camera import SIX_CAMERAS, CameraConfig
from .can_bus import CanConfig
from .clocks import ClockFault
from .config import EPOCH_NS, RigConfig
from .driving import STYLES, DrivingStyle, simulate_motion
from .frame_faults import FrameFault, SpoiltFrames
from .imu import ImuConfig
from .light import FlashConfig, TriggerConfig
from .light_faults import AmbientStep, Headlight, LightFault
from .microphone import MicrophoneConfig
from .motion import Motion
from .pulse_shapes import Lamp, SquarePulse, XenonPulse
from .pulse_trains import BurstTrain, ListedTrain, SpacedTrain
from .rig import simulate_clip, simulate_manifest
from .taps import TapConfig
from .truth import LightTruth, ShutterTruth, SourceTruth, Step, Truth, read_truth

__all__ = [
    "EPOCH_NS",
    "SIX_CAMERAS",
    "STYLES",
    "AmbientStep",
    "BurstTrain",
    "CameraConfig",
    "CanConfig",
    "ClockFault",
    "DrivingStyle",
    "FlashConfig",
    "FrameFault",
    "Headlight",
    "ImuConfig",
    "Lamp",
    "LightFault",
    "LightTruth",
    "ListedTrain",
    "MicrophoneConfig",
    "Motion",
    "RigConfig",
    "ShutterTruth",
    "SourceTruth",
    "SpacedTrain",
    "SpoiltFrames",
    "SquarePulse",
    "Step",
    "TapConfig",
    "TriggerConfig",
    "Truth",
    "XenonPulse",
    "read_truth",
    "simulate_clip",
    "simulate_manifest",
    "simulate_motion",
]
