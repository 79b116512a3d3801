"""Writing: transactions, and the operations that use them.

Implements every writer requirement of the protocol. An operation reads a snapshot, stages actions
on a :class:`~reference_impl.write.commit.transaction.Transaction` and commits them as one version.
"""
