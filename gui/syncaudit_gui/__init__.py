"""Timeline viewer (PyQt6 + pyqtgraph): see in a second whether streams agree, and why."""
