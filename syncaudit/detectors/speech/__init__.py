"""Detect speech: band energies of a sound, and the sounds that a tier lists."""
