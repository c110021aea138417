"""Clips of data sets that hold one row a step: what an array is, and the files made of it."""
