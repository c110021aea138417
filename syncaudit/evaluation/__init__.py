"""How often the filter errs on the user's own clips: known errors, people's labels, samples."""
