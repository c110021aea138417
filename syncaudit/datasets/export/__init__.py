"""Write clips that passed as WebDataset shards."""

from syncaudit.datasets.export.shards import Exported, ExportOptions, export_shards

__all__ = ["ExportOptions", "Exported", "export_shards"]
