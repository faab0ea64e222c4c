"""A worker process: `python -m cached.transfer.worker`, commands on stdin, answers on stdout.

It moves payload and decides nothing (see `cached.transfer.protocol`). It holds no credential beyond the signed
requests it is sent, imports no SDK and no framework, and may be killed at any moment. It must never outlive
its parent: the kernel kills it with the thread that started it, and the end of stdin ends it at once.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import BinaryIO

from cached.transfer import protocol
from cached.transfer.answers import Answers
from cached.transfer.fetch import Fetcher
from cached.transfer.http1 import Limits
from cached.transfer.lane import Lane, crash, start_thread
from cached.transfer.openfile import OpenFile
from cached.transfer.protocol import Close, Closed, Command, Drop, Fetch, Hash, Hello, Open
from cached.transfer.reread import Rereader

_PR_SET_PDEATHSIG = 1
ORPHANED = 3
"""Exit status of a worker whose parent is not the one that Hello names."""


class Worker:
    """The lanes and the files. Used by the reading thread alone."""

    def __init__(self, hello: Hello, answers: Answers) -> None:
        self._answers = answers
        self._files: dict[int, OpenFile] = {}
        limits = Limits(
            connect=hello.connect,
            first_byte=hello.first_byte,
            stall_window=hello.stall_window,
            stall_floor=hello.stall_floor,
        )
        self._fetchers = [(self._lane(f"fetch-{n}"), Fetcher(limits)) for n in range(hello.lanes)]
        self._rereaders = [(self._lane(f"hash-{n}"), Rereader()) for n in range(hello.hash_lanes)]

    def _lane(self, name: str) -> Lane:
        return Lane(name, self._answers.answer)

    def obey(self, command: Command) -> None:
        """Start what `command` asks for. Raises LookupError for a lane or file that does not exist."""
        match command:
            case Open():
                self._open(command)
            case Fetch():
                self._fetch(command)
            case Hash():
                self._hash(command)
            case Drop():
                self._files[command.file].drop()
            case Close():
                self._close(command)
            case Hello():
                raise LookupError("a second Hello")

    def _open(self, command: Open) -> None:
        if command.file in self._files:
            self._files[command.file].restart(command.digests)
        else:
            self._files[command.file] = OpenFile(command.path, command.size, command.digests)

    def _fetch(self, command: Fetch) -> None:
        lane, fetcher = self._fetchers[command.lane]
        file = self._files[command.file]
        lane.put(lambda: fetcher.run(command, file, self._answers.begin(command.job)))

    def _hash(self, command: Hash) -> None:
        lane, rereader = self._rereaders[command.lane]
        file = self._files[command.file]
        lane.put(lambda: rereader.run(command, file))

    def _close(self, command: Close) -> None:
        file = self._files.pop(command.file)
        file.close()
        digests = file.digests
        self._answers.answer(Closed(job=command.job, digests=digests.hex(), covered=digests.covered))


def _die_with_parent() -> None:
    if ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError("prctl(PR_SET_PDEATHSIG) was refused")


def _ignore_polite_signals() -> None:
    """Ctrl-C and a service manager's SIGTERM reach the whole process group; the daemon alone decides when its
    workers end, and lets parts in flight finish first.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _serve(commands: BinaryIO) -> None:
    first = commands.readline()
    if not first:
        return
    hello = protocol.decode_command(first)
    if not isinstance(hello, Hello):
        raise TypeError("the first command is not Hello")
    if os.getppid() != hello.parent:  # it died before prctl could take effect
        os._exit(ORPHANED)
    answers = Answers(sys.stdout.fileno())
    worker = Worker(hello, answers)
    start_thread("teller", answers.tell_for_ever)
    for line in commands:
        worker.obey(protocol.decode_command(line))


def main() -> None:
    """Serve until stdin ends; never returns."""
    try:
        _die_with_parent()
        _ignore_polite_signals()
        _serve(sys.stdin.buffer)
    except BaseException:  # noqa: BLE001  whatever it is, the process ends with it
        crash()
    os._exit(0)  # at once: nothing in flight is worth waiting for, the control process no longer listens


if __name__ == "__main__":
    main()
