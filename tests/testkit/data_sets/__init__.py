"""A small data set of every format that is imported."""
