"""What holds for every test: one thread of BLAS, and Qt only where it can be loaded."""

import os

# Its threads wait for one another by spinning: many small systems of equations take ten times as
# long where another program wants the same cores. Before anything imports numpy.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# pytest-qt ends the whole run where Qt cannot be loaded, as on a machine without its system
# libraries; so `addopts` keeps it out.
try:
    from PyQt6 import QtWidgets  # noqa: F401
except ImportError:
    pass
else:
    pytest_plugins = ["pytestqt.plugin"]
