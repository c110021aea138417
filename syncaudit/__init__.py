"""Tell whether the streams of a multimodal recording share one time."""

__version__ = "0.1.0"
