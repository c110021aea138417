"""Hand-written bags in every storage format."""
