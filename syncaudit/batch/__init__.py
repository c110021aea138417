"""Run many clips: one task each, on one machine or many, with outputs that survive crashes."""

from syncaudit.batch.fingerprint import fingerprint_of
from syncaudit.batch.ledger import VerdictFile
from syncaudit.batch.merge import Shard, merge_shards, read_shard
from syncaudit.batch.output_folder import OutputFolder, fetch_outputs, fetched_verdicts
from syncaudit.batch.rejudge import Change, judge_again
from syncaudit.batch.run import run_batch
from syncaudit.batch.summary import BatchSummary, Progress

__all__ = [
    "BatchSummary",
    "Change",
    "OutputFolder",
    "Progress",
    "Shard",
    "VerdictFile",
    "fetch_outputs",
    "fetched_verdicts",
    "fingerprint_of",
    "judge_again",
    "merge_shards",
    "read_shard",
    "run_batch",
]
