"""The power goes at each operation of a store's life, on real ext4 and xfs: from then on nothing reaches the medium,
and what the kernel had not written is lost. After the journal was played, what is promised holds."""

from __future__ import annotations

import contextlib
import copy
import os

import pytest

from cached import fsops
from cached.errors import CachedError
from cached.fsops import Op
from tests.faults.store.life import Diary, N, check_after, life
from tests.helpers.disks import SmallDisk
from tests.unit.store.making import broken_promises, open_store

EVERY = 1 if os.environ.get("CACHED_PROVE") == "1" else 16

pytestmark = [pytest.mark.root, pytest.mark.timeout(600)]


def cut(disk: SmallDisk, after: int) -> Diary | None:
    """Live until `after` operations are done; what was answered for until then. None: there were not so many."""
    store = open_store(disk.mount)
    if store.ref(N):
        store.remove(N)
    left, diary, known = after, Diary(), Diary()

    def observe(_op: Op) -> None:
        nonlocal left, known
        left -= 1
        if left == 0:
            known = copy.deepcopy(diary)
            disk.cut_power()

    with fsops.observed(observe), contextlib.suppress(CachedError, OSError):  # of the store, or its worker
        life(store, diary)
    store.close(clean=left > 0)
    return known if left <= 0 else None


def test_what_was_promised_survives_a_power_cut_after_each_operation(disk: SmallDisk) -> None:
    open_store(disk.mount).close()
    after = 1
    while diary := cut(disk, after):
        disk.again()
        assert broken_promises(disk.mount) == []
        assert {path for path in diary.owed() if not (disk.mount / path).exists()} == set()
        assert {path for path in diary.over() if (disk.mount / path).exists()} == set()
        check_after(open_store(disk.mount))
        after += EVERY
    assert after > 100


def test_without_its_syncs_a_store_loses_what_it_answered_for(disk: SmallDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the cut is real, and the syncs are what the test above rests on."""
    store, diary = open_store(disk.mount), Diary()
    for sync in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, sync, lambda _fd: None)
    life(store, diary)
    disk.cut_power()
    store.close()
    disk.again()
    assert {path for path in diary.owed() if not (disk.mount / path).exists()} == diary.owed() != set()
