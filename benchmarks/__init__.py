"""Measures cached beside the tools that people use today, one module a question.

`python -m benchmarks ingest` and `python -m benchmarks warmhit`; docs/benchmarks.md says how and why. Nothing
outside this package imports it, and it touches cached only as a user does: its programs and its socket.
"""
