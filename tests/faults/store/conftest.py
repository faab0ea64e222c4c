"""Disks that a fault test may fill, break and take away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.disks import CannotMount, SmallDisk, missing, small_disk


@pytest.fixture(params=["ext4", "xfs"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    """A small mounted file system; skipped with the reason where there can be none."""
    yield from mounted(str(request.param), tmp_path)


@pytest.fixture
def ext4(tmp_path: Path) -> Iterator[SmallDisk]:
    """The same, for what ext4 alone does."""
    yield from mounted("ext4", tmp_path)


@pytest.fixture
def few_inodes(tmp_path: Path) -> Iterator[SmallDisk]:
    """An ext4 with 700 inodes: a root takes 300 of them."""
    yield from mounted("ext4", tmp_path, "-N", "700")


def mounted(kind: str, folder: Path, *options: str) -> Iterator[SmallDisk]:
    """Made, or skipped."""
    reason = missing(kind)
    if reason:
        pytest.skip(reason)
    try:
        with small_disk(folder, kind, *options) as disk:
            yield disk
    except CannotMount as error:
        pytest.skip(str(error))
