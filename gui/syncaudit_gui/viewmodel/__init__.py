"""What the viewer shows and what it remembers, without a window: no Qt in here."""
