"""Measure two microphones that record the same sounds."""
