"""How values are written: types, partition values, bounds, deletion vectors.

The audit reads values by these modules alone. They share nothing with the reference implementation,
whose tables the audit judges as well, and they are strict where a reader is lenient.
"""
