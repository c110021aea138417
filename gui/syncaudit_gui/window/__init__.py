"""The window: its panels, and a controller for each thing that a person does with them."""
