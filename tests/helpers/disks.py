"""Small file systems of their own, on loop devices, for faults that no mock has. Needs root."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cached import fsops

MIB = 1 << 20
SIZES = {"ext4": 64 * MIB, "xfs": 320 * MIB}
"""Of the image, which is sparse. mkfs.xfs makes none below 300 MB."""
MAKE = {"ext4": ("-q", "-F", "-m", "0"), "xfs": ("-q",)}


def missing(kind: str) -> str | None:
    """Why there can be no such disk here; None if there can."""
    if os.geteuid() != 0:
        return "mounting a file system needs root"
    return None if shutil.which(f"mkfs.{kind}") else f"mkfs.{kind} is not installed"


class CannotMount(Exception):
    """The kernel refuses; says why."""


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A file system on a loop device; `mount` is where it is while it is there."""

    kind: str
    image: Path
    mount: Path

    @property
    def free(self) -> int:
        """Bytes that may still be written."""
        state = os.statvfs(self.mount)
        return state.f_bavail * state.f_frsize

    def begin(self) -> None:
        """Mount it. Raises CannotMount."""
        command = ["mount", "-o", "loop", str(self.image), str(self.mount)]
        mounted = subprocess.run(command, check=False, capture_output=True, text=True)
        if mounted.returncode:
            raise CannotMount(f"cannot mount {self.kind} on a loop device here: {mounted.stderr.strip()}")

    def end(self, *options: str) -> None:
        """Unmount it; it must not be in use any more."""
        subprocess.run(["umount", *options, str(self.mount)], check=True)

    def again(self) -> None:
        """What a reboot does: what the journal has is played, all else is lost."""
        self.end()
        self.begin()

    def cut_power(self) -> None:
        """From now on nothing reaches the medium, and what the kernel had not written is lost: every call fails until
        it is mounted `again`."""
        folder = os.open(self.mount, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(folder, GOING_DOWN, NO_LOG_FLUSH)
        finally:
            os.close(folder)

    def turn_read_only(self) -> None:
        """What ext4 does when it meets an error of its own; `again` mends it."""
        device = Path("/sys/dev/block", "{}:{}".format(*_numbers(self.mount))).resolve().name
        subprocess.run(["mount", "-o", "remount,errors=remount-ro", str(self.mount)], check=True)
        Path("/sys/fs/ext4", device, "trigger_fs_error").write_text("a test")

    @contextlib.contextmanager
    def filled(self, *, but: int) -> Iterator[None]:
        """Others have all of it while the block runs, but for about `but` bytes."""
        ballast = self.mount / "ballast"
        with fsops.create(ballast) as file:
            length = self.free - but
            while length > 0:
                try:
                    fsops.allocate(file, length)
                    break
                except OSError:  # its own records take some of what was free
                    length -= 4096
        try:
            yield
        finally:
            ballast.unlink()

    @contextlib.contextmanager
    def crowded(self, *, but: int) -> Iterator[None]:
        """Others have every inode while the block runs, but for `but` of them."""
        crowd = self.mount / "crowd"
        crowd.mkdir()
        for number in range(os.statvfs(self.mount).f_favail - but):
            (crowd / str(number)).touch()
        try:
            yield
        finally:
            fsops.remove_folder(crowd)


GOING_DOWN = 0x8004587D
"""The ioctl of xfs (XFS_IOC_GOINGDOWN) that ext4 has too (EXT4_IOC_SHUTDOWN)."""
NO_LOG_FLUSH = (2).to_bytes(4, "little")


def _numbers(path: Path) -> tuple[int, int]:
    device = path.stat().st_dev
    return os.major(device), os.minor(device)


@contextlib.contextmanager
def small_disk(folder: Path, kind: str, *options: str) -> Iterator[SmallDisk]:
    """Made in `folder`, with more `options` for mkfs, and gone after the block. Raises CannotMount."""
    disk = SmallDisk(kind, folder / "image", folder / "disk")
    with disk.image.open("wb") as file:
        file.truncate(SIZES[kind])
    disk.mount.mkdir()
    subprocess.run([f"mkfs.{kind}", *MAKE[kind], *options, str(disk.image)], check=True)
    disk.begin()
    try:
        yield disk
    finally:
        disk.end("--lazy")  # a failed test may have left files open
        disk.image.unlink()
