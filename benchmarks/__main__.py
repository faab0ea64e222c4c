"""`python -m benchmarks QUESTION [options]`: hands over to the module of that question."""

from __future__ import annotations

import importlib
import signal
import sys

from benchmarks.errors import BenchError

QUESTIONS = {
    "ingest": "getting a model onto disk: CPU, wall time, memory, beside s5cmd, boto3 and kserve-storage",
    "warmhit": "looking up a cached model through the socket: latency alone and under load",
    "table": "write the tables of docs/benchmarks.md again from the recorded results",
}


def usage() -> str:
    """What can be asked."""
    lines = [f"  {name:<8} {text}" for name, text in QUESTIONS.items()]
    return "\n".join(["usage: python -m benchmarks QUESTION [--help | options]", *lines])


def main(argv: list[str]) -> int:
    """Exit code: 0 measured, 1 refused or failed (the reason is on stderr), 2 wrong usage."""
    if not argv or argv[0] not in QUESTIONS:
        print(usage(), file=sys.stderr)
        return 0 if argv[:1] in (["-h"], ["--help"]) else 2
    # An exception unwinds: server, daemon, namespace and files go, whoever ends the run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    module = importlib.import_module(f"benchmarks.{argv[0]}")
    try:
        module.main(argv[1:])
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
