"""Jobs that go beyond one machine, on Spark through PySpark.

A job is a module, or a package, of this one; :mod:`conformance.pipeline.cli` starts it. Nothing
here is imported by the rest of the kit, which needs neither Spark nor Java.
"""
