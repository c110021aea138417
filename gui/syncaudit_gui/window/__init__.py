"""The window: its panels, and a controller for each kind of user action."""
