"""Spark with Delta."""

from conformance.adapters.spark.adapter import create

__all__ = ["create"]
