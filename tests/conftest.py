"""Take pytest-qt in only where Qt can be loaded: a bare machine lacks its system libraries.

pytest-qt ends the whole run where Qt cannot be loaded, so `addopts` keeps it out.
"""

try:
    from PyQt6 import QtWidgets  # noqa: F401
except ImportError:
    pass
else:
    pytest_plugins = ["pytestqt.plugin"]
