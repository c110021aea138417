"""Audit timestamps alone: rates, gaps, jitter, steps and whatever else they show."""
