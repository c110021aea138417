"""Settings for every test: one BLAS thread, and Qt only if it can be loaded."""

import os

# BLAS threads wait for one another by spinning: many small systems of equations take ten times as
# long if another program uses the same cores. Set before anything imports numpy.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# pytest-qt aborts the whole run if Qt cannot be loaded, as on a machine without its system
# libraries; therefore `addopts` disables it.
try:
    from PyQt6 import QtWidgets  # noqa: F401
except ImportError:
    pass
else:
    pytest_plugins = ["pytestqt.plugin"]
