"""Widgets: drawing, and mouse and key handling."""
