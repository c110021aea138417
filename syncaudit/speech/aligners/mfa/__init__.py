"""The Montreal Forced Aligner: an external program, and what it is given and writes."""
