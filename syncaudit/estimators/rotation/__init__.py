"""Cameras against gyroscopes, and against one another, by how they turn."""
