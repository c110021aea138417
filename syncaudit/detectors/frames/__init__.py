"""Inspect the frames of a camera: damaged, frozen, repeated, moving."""
