"""Every store test works on a root of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cached import fsops
from cached.store.store import Store
from tests.unit.store.making import StillClock, open_store


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "root"
    yield root
    if root.exists():  # pytest cannot empty 0555 folders unless it is almighty
        fsops.remove_folder(root)


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def store(root: Path, clock: StillClock) -> Iterator[Store]:
    store = open_store(root, clock=clock)
    yield store
    store.close()
