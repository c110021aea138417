"""Read frame information from the boxes of an MP4 file (ISO/IEC 14496-12) without a demuxer."""

from syncaudit.decode.mp4.sample_tables import read_sample_table

__all__ = ["read_sample_table"]
