"""`python -m benchmarks table`: docs/benchmarks.md again from the recorded results, without measuring."""

from __future__ import annotations

import argparse

from benchmarks import report, results


def main(argv: list[str]) -> None:
    """Raises BenchError when there is no record."""
    argparse.ArgumentParser(prog="python -m benchmarks table", description=__doc__).parse_args(argv)
    report.write("ingest", report.ingest_markdown(results.load_ingest(results.FOLDER / "ingest.json")))
    report.write("warmhit", report.warmhit_markdown(results.load_warmhit(results.FOLDER / "warmhit.json")))
