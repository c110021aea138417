"""Align with pocketsphinx: English pronunciations, their placement in a sound, and their fit."""
