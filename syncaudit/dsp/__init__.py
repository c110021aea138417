"""Process signals as plain arrays: splines, robust weights, variance of correlated sums."""
