"""pocketsphinx: English pronunciations, where they are placed in a sound, and how well they fit."""
