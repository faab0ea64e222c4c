"""The one error of the benchmarks: a run that would not mean anything is refused, with the reason."""

from __future__ import annotations


class BenchError(Exception):
    """What is missing or went wrong, and what mends it. Nothing was recorded."""
