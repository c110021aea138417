"""Two microphones that hear the same sounds."""
