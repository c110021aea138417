"""State and content of the viewer, independent of the window: no Qt in here."""
