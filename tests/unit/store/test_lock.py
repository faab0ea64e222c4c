from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from cached.errors import Conflict, Permanent
from cached.store.store import Store
from tests.unit.store.making import open_store


def test_a_second_store_on_one_root_is_refused_and_told_by_whom(store: Store) -> None:
    with pytest.raises(Conflict, match=f"pid {os.getpid()}") as caught:
        open_store(store.layout.root)
    assert caught.value.details == {"pid": os.getpid()}
    assert "--root" in caught.value.hint


def test_a_closed_store_gives_its_root_back(root: Path) -> None:
    open_store(root).close()
    open_store(root).close()


def test_the_lock_file_of_a_dead_process_is_no_obstacle(root: Path) -> None:
    root.mkdir()
    (root / "daemon.lock").write_text("4194304\n")
    open_store(root).close()
    assert (root / "daemon.lock").read_text() == f"{os.getpid()}\n"


def test_a_file_system_where_flock_does_nothing_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda *_args: None)
    with pytest.raises(Permanent, match="flock does nothing"):
        open_store(root)
