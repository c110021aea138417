"""Make clips of data sets that hold one row per step: roles of arrays, and files from them."""
