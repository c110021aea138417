"""Speech: band energies of a sound, and what a tier says is heard when."""
