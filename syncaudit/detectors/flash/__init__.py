"""Find lights that go on and off in a camera's frames, and time them by its rows."""
