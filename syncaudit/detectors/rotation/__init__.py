"""Estimate how a camera rotates from frame to frame."""
