"""Error rates of the filter on the user's own clips: injected errors, labels, samples."""
