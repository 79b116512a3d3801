"""Reference implementation of the Delta transaction-log protocol."""

from __future__ import annotations

import logging

from reference_impl.errors import DeltaError, LimitExceeded
from reference_impl.expressions.sql import Sql
from reference_impl.limits import Limits
from reference_impl.log.ratified import InlineCommit, RatifiedCommits, StagedCommit
from reference_impl.read import read_table
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.table import Table
from reference_impl.write.rows.clauses import When

logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "DeltaError",
    "InlineCommit",
    "LimitExceeded",
    "Limits",
    "RatifiedCommits",
    "Snapshot",
    "Sql",
    "StagedCommit",
    "Table",
    "When",
    "read_table",
]
