"""The hostile server as a program: `python -m tests.helpers.hostile --object bucket/key=1GiB`.

Prints one line of JSON (url, port, ca_file) when it serves, and ends on SIGTERM or Ctrl-C, or, with
--until-eof, when its standard input closes, so that it never outlives the test that started it.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys

from cached.config import Bytes
from tests.helpers.hostile.server import Hostile


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hostile", description="Serve synthetic objects, as S3 and as plain files.")
    parser.add_argument("--port", type=int, default=0, help="0 picks one")
    parser.add_argument("--rate", type=Bytes, help="bytes a second of all payload, such as 50MiB")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--object", action="append", default=[], metavar="BUCKET/KEY=SIZE")
    parser.add_argument("--file", action="append", default=[], metavar="PATH=SIZE")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input closes")
    return parser.parse_args()


def _fill(server: Hostile, arguments: argparse.Namespace) -> None:
    for text in arguments.object:
        path, _, size = text.rpartition("=")
        server.put(path, int(Bytes(size)))
    for text in arguments.file:
        path, _, size = text.rpartition("=")
        server.put_file(path, int(Bytes(size)))


def main() -> None:
    """Serve until told to end."""
    arguments = _arguments()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})  # before any thread starts
    with Hostile(port=arguments.port, tls=arguments.tls, rate=arguments.rate) as server:
        _fill(server, arguments)
        address = {"url": server.url, "port": server.port, "ca_file": str(server.ca_file or "")}
        sys.stdout.write(json.dumps(address) + "\n")
        sys.stdout.flush()
        if arguments.until_eof:
            sys.stdin.read()
        else:
            signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
