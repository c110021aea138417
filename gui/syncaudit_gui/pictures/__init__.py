"""Pictures of cameras at any frame, decoded on a thread each; no Qt in here."""

from syncaudit_gui.pictures.camera_thread import CameraThread
from syncaudit_gui.pictures.picture import Picture, PictureRequest

__all__ = ["CameraThread", "Picture", "PictureRequest"]
