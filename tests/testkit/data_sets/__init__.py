"""A small data set in every importable format."""
