"""Run the Montreal Forced Aligner, an external program, and read its output."""
