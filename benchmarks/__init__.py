"""Measures cached beside the tools that people use today, one module a question.

`python -m benchmarks ingest` and `python -m benchmarks warmhit`; docs/benchmarks.md says how and why. Nothing
in cached imports it, and it runs cached only as a user does: by its programs and its socket.
"""
