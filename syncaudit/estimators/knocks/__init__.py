"""Knocks that a microphone hears and an accelerometer feels."""
