"""Many clips: a pool of processes, a ledger that survives crashes, and the outputs of a run."""

from syncaudit.batch.fingerprint import fingerprint_of
from syncaudit.batch.run import run_batch
from syncaudit.batch.summary import BatchSummary, Progress, Tally

__all__ = ["BatchSummary", "Progress", "Tally", "fingerprint_of", "run_batch"]
