"""Timeline viewer (PyQt6 + pyqtgraph); not built yet."""
