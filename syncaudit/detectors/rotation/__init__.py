"""How a camera turns from frame to frame."""
