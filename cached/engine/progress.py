"""The live numbers of one download, and the views that show them. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from cached.api.types import FileView
from cached.sources.base import Listing
from cached.transfer.filestate import Tally
from cached.types import Level


@dataclass(slots=True)
class FileProgress:
    """One file: its counters, and once it is in place how it was proved."""

    path: str
    size: int
    tally: Tally = field(default_factory=Tally)
    reused: bool = False
    verified: Level | None = None

    def view(self) -> FileView:
        """As the API shows it."""
        return FileView(
            path=self.path, size=self.size, done=self.tally.done, reused=self.reused, verified=self.verified
        )

    def finish(self, level: Level, *, reused: bool) -> None:
        """It is in place."""
        self.tally.done = self.size
        self.reused = reused
        self.verified = level


@dataclass(slots=True)
class Progress:
    """All files of a download. Empty until the URI is resolved."""

    files: dict[str, FileProgress] = field(default_factory=dict)
    revision: str | None = None
    notes: tuple[str, ...] = ()
    fetched_before: int = 0
    """Bytes fetched by tries that were given up: they came over the network all the same."""

    def begin(self, listing: Listing) -> None:
        """A listing was made, or made anew."""
        self.fetched_before = self.fetched
        self.files = {entry.path: FileProgress(entry.path, entry.size) for entry in listing.entries}
        self.revision = listing.revision
        self.notes = listing.notes

    @property
    def total(self) -> int:
        """Bytes of all files."""
        return sum(each.size for each in self.files.values())

    @property
    def done(self) -> int:
        """Bytes in place."""
        return sum(each.tally.done for each in self.files.values())

    @property
    def fetched(self) -> int:
        """Payload bytes that came over the network."""
        return self.fetched_before + sum(each.tally.fetched for each in self.files.values())

    @property
    def reused(self) -> int:
        """Bytes linked instead of fetched."""
        return sum(each.size for each in self.files.values() if each.reused)

    @property
    def files_done(self) -> int:
        """Files in place."""
        return sum(each.verified is not None for each in self.files.values())
