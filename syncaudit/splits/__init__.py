"""Find leaks between train and validation: shared recordings, files, episodes, video."""
