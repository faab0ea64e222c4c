"""s3:// as a source: resolves a URI to pinned entries and signs requests for them.

Order of a resolve: HEAD of the exact key; when there is none, the listing of the folder below it, then a HEAD
for each object over one part, at most `HEADS` at a time. Smaller objects are pinned by the listing's ETag alone,
and what their answers' headers add is taken up by `confirm`: 2,000 small files cost two listing calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from cached import blocking, config
from cached.errors import NotAuthorized, NotFound
from cached.sources.base import Entry, Listing, Request
from cached.sources.pins import revision_of
from cached.sources.s3 import evidence, listing
from cached.sources.s3.connection import Connection, Connections
from cached.sources.s3.errors import StaleCredentials
from cached.sources.s3.location import Location, parse
from cached.types import Uri

HEADS = 8
"""At a time: half of the threads for blocking calls, so that a big model leaves some to others."""


class S3Source:
    """See `cached.sources.base.Source`."""

    scheme: ClassVar[str] = "s3"

    def __init__(
        self, rule: config.Source | None, *, name: str, timeouts: config.Timeouts, transfer: config.Transfer
    ) -> None:
        self._name = name
        self._part = int(transfer.part)
        self._connections = Connections(rule, timeouts)

    async def resolve(self, uri: Uri) -> Listing:
        """See `Source.resolve`. Stale credentials are renewed once."""
        location = parse(uri)
        connection = await blocking.run(self._connections.get, location.bucket)
        try:
            return await self._resolve(uri, location, connection)
        except StaleCredentials:
            renewed = await blocking.run(self._connections.renew, connection)
        return await self._resolve(uri, location, renewed)

    def request(self, listing: Listing, entry: Entry, *, fresh: bool = False) -> Request:
        """See `Source.request`."""
        bucket = parse(listing.uri).bucket
        connection = self._connections.renewed(bucket) if fresh else self._connections.get(bucket)
        return connection.request(entry.locator, entry.pin)

    def confirm(self, entry: Entry, headers: Mapping[str, str]) -> Entry:
        """See `Source.confirm`."""
        return evidence.confirmed(entry, headers)

    async def close(self) -> None:
        """See `Source.close`."""
        await blocking.run(self._connections.close)

    async def _resolve(self, uri: Uri, location: Location, connection: Connection) -> Listing:
        entries, notes = await self._find(location, connection)
        address, _ = connection.address()
        return Listing(
            uri=uri,
            entries=tuple(entries),
            revision=revision_of(entries),
            source_id=f"{address.origin}{address.base}",
            rule=self._name,
            notes=notes,
        )

    async def _find(self, location: Location, connection: Connection) -> tuple[list[Entry], tuple[str, ...]]:
        """The object of exactly this key, else the folder. S3 answers 403 for a missing object to those who may
        not list, so a refused HEAD decides nothing while the folder has files.
        """
        if not location.may_be_object:
            return await self._folder(location, connection), ()
        try:
            entry = await blocking.look(listing.head, connection, location.name, location.key)
        except NotFound:
            return await self._folder(location, connection), ()
        except NotAuthorized as refused:
            return await self._folder_instead(location, connection, refused), ()
        return [entry], await _notes(location, connection)

    async def _folder(self, location: Location, connection: Connection) -> list[Entry]:
        found = await blocking.look(listing.list_folder, connection, location)
        if not found:
            raise await _nothing_at(location, connection)
        return sorted(await self._pinned(found, connection), key=lambda entry: entry.path)

    async def _folder_instead(self, location: Location, connection: Connection, refused: NotAuthorized) -> list[Entry]:
        try:
            return await self._folder(location, connection)
        except NotFound:
            raise refused from None

    async def _pinned(self, entries: list[Entry], connection: Connection) -> list[Entry]:
        gate = asyncio.Semaphore(HEADS)

        async def pinned(entry: Entry) -> Entry:
            if entry.size <= self._part:
                return entry
            async with gate:
                return await blocking.look(listing.pin, connection, entry)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(pinned(entry)) for entry in entries]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]


async def _notes(location: Location, connection: Connection) -> tuple[str, ...]:
    """Whoever may read one object but not list gets the object without a note."""
    try:
        both = await blocking.look(listing.has_folder, connection, location)
    except NotAuthorized:
        return ()
    if not both:
        return ()
    return (f"both an object {location} and a folder {location}/ exist: this is the object; end with / for the folder",)


async def _nothing_at(location: Location, connection: Connection) -> NotFound:
    if not location.key:
        return NotFound(f"the bucket {location.bucket!r} is empty", hint="upload the model first")
    looked = f"an object {location.key!r} or " if location.may_be_object else ""
    near = await blocking.look(listing.neighbours, connection, location)
    return NotFound(
        f"nothing found: looked for {looked}files below {location.folder!r} in the bucket {location.bucket!r}",
        hint=f"there is {', '.join(map(repr, near))}" if near else "keys are case-sensitive and taken literally",
    )
