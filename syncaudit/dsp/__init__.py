"""Signal processing on plain arrays: splines, robust weights, variance of correlated sums."""
