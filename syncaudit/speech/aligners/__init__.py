"""Align text with audio in time: forced aligners, one per module."""
