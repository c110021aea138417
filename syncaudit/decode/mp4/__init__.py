"""Read frame information from the boxes of an MP4 file (ISO/IEC 14496-12) without a demuxer."""
