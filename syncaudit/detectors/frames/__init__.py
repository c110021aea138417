"""What the frames of a camera look like: damaged, frozen, repeated, moving."""
