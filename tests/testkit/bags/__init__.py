"""Bags written by hand, of every storage."""
