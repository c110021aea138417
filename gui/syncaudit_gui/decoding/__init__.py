"""Any frame of a camera as an image, decoded on one thread per camera; no Qt in here."""

from syncaudit_gui.decoding.camera_thread import CameraThread
from syncaudit_gui.decoding.frame_image import FrameImage, FrameRequest

__all__ = ["CameraThread", "FrameImage", "FrameRequest"]
