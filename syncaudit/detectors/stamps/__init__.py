"""Timestamps alone: rates, gaps, jitter, steps and what else they show by themselves."""
