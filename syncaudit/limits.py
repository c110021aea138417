"""Limits on what an untrusted file may request: every limit on data that is read, in one table.

Each is far above what a recording needs and far below what a machine has. An error about one names
the file, the place in it and what to do.
"""

from __future__ import annotations

# Tables
LINE_BYTES = 1 << 24
"""A line of a CSV table or of a manifest: the longest real ones, of embeddings, have 1 MiB."""
TABLE_COLUMNS = 20_000
"""Columns of a table: wide motion-capture exports have 2,000."""
TABLE_BYTES = 1 << 34
"""Columns of a Parquet table, unpacked: those of 100 hours of a 1 kHz IMU take 20 GiB; a window
of them is read separately."""
ROW_CHARACTERS = 1 << 22
"""A row of a JSON table: the longest hold a matrix or a path, some kilobytes."""

# Arrays, images, sound
ARRAY_BYTES = 1 << 34
"""Rows of a NumPy array that are read at once."""
IMAGE_BYTES = 1 << 28
"""An image file: fits into a common memory limit."""
IMAGE_PIXELS = 1 << 28
"""A decoded image: 16,384 by 16,384; the largest camera sensors have 2^27.2."""
SOUND_SAMPLES = 1 << 30
"""Decoded audio, mixed to one channel: 6 hours at 48 kHz, 4 GiB."""
VIDEO_HEADER_BYTES = 1 << 28
"""Tables of a video file: those of a day at 60 Hz with ten tracks take 100 MB."""

# Bags and data sets
UNPACKED_BYTES = 1 << 28
"""A message or chunk of a bag, unpacked: an 8k image of three 16-bit colours has 199 MB."""
UNPACKED_FILE_BYTES = 1 << 30
UNPACKED_FOLD = 100
"""A packed file, unpacked: the larger of this many bytes and this many times its size. Sensor data
pack to a tenth, black images to less; a decompression bomb packs 10,000 to 1."""
METADATA_BYTES = 1 << 24
"""Description of a bag: some 300 bytes per file and topic."""
IMPORT_STALL_S = 20.0
"""An import reads or writes something all the time. One that only computes for this long is stuck
in its input; parsing the longest allowed item of a table takes a second."""

# Stores
REMOTE_WAIT_S = 60.0
"""Maximum wait for an answer of a store."""
REMOTE_TRIES = 3
REMOTE_BYTES_PER_S = 1 << 19
"""The slowest link on which outputs are still sent: 4 Mbit/s, of a mobile uplink."""
