"""What is drawn, and what the mouse and the keys do."""
