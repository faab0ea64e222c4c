"""A worker process for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.worker import WorkerProcess


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    """A real worker; at the end it must leave on its own, without a word on stderr."""
    with WorkerProcess() as process:
        yield process
        assert process.end() == (0, "")
