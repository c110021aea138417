"""Measure images and states of robots against the motion of the joints."""
