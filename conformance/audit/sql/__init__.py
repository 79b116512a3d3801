"""Rules in SQL, read and evaluated by the audit itself, as far as their meaning is certain.

An expression of a constraint, an invariant or a generated column is Spark SQL. sqlglot reads its
text, Arrow computes its values; nothing here is shared with the reference implementation.
"""
