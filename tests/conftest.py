"""Fixtures that every folder of tests may ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.hostile import Hostile


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    """A server that behaves until told otherwise; see tests/helpers/hostile."""
    with Hostile() as server:
        yield server


@pytest.fixture
def hostile_tls() -> Iterator[Hostile]:
    """The same over TLS; clients must trust its `ca_file`."""
    with Hostile(tls=True) as server:
        yield server
