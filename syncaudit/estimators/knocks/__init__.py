"""Measure a microphone against an accelerometer by common knocks."""
