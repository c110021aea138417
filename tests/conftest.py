"""Hold BLAS to one thread, as the command line does, before anything imports numpy.

Its threads wait for one another by spinning: many small systems of equations take ten times as long
where another program wants the same cores.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
