"""The job ``audit``: one table of any size, or a fleet.

A table whose log is of usual size is audited whole, by one executor. The log of a large one is
split by the paths of its file actions into buckets, each of which is audited with all of the small
actions; what only the whole table shows is summed up from numbers of the buckets. The checks are
those of :mod:`conformance.audit`, and there are no others.
"""

from conformance.pipeline.audit.job import run_audit_job

__all__ = ["run_audit_job"]
