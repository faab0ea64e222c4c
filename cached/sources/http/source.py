"""https:// and http:// as a source. One URL is one file, named by the last segment of its path.

A strong ETag pins it; without one there are no ranges and no resume, since nothing would tell a new version
from the old. The query goes on the wire untouched and is never shown: it may hold a signature.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import random
import re
import ssl
from collections.abc import Mapping
from typing import ClassVar

import aiohttp

from cached import blocking, config
from cached.config import Timeouts
from cached.errors import Permanent, Retryable, Unsupported
from cached.sources.base import Entry, Listing, Pin, Request
from cached.sources.http.probe import Answer, probe
from cached.sources.http.url import Url, file_name, parse_url
from cached.sources.pins import revision_of
from cached.types import Digest, Uri

TRIES = 3
"""Of a probe, when the answer is that it may succeed later."""


class HttpSource:
    """See `cached.sources.base.Source`."""

    scheme: ClassVar[str] = "https"

    def __init__(self, rule: config.Source | None, *, name: str, timeouts: Timeouts) -> None:
        self._name = name
        self._timeouts = timeouts
        self._ca_file = rule.ca_file if rule else None
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._renewed: dict[Uri, Url] = {}
        """Where a URI's redirect leads now, when the signature of an earlier one was refused."""

    async def resolve(self, uri: Uri) -> Listing:
        """See `Source.resolve`."""
        url = parse_url(uri)
        path = file_name(url)
        answer = await self._probe(url)
        self._renewed.pop(uri, None)
        entry = entry_of(url, path, answer)
        return Listing(
            uri=uri,
            entries=(entry,),
            revision=revision_of([entry]),
            source_id=url.place,
            rule=self._name,
        )

    def request(self, listing: Listing, entry: Entry, *, fresh: bool = False) -> Request:
        """See `Source.request`. `fresh` follows the redirect anew: a signed URL that it led to has expired."""
        if fresh:
            assert self._loop is not None
            again = asyncio.run_coroutine_threadsafe(self._probe(parse_url(listing.uri)), self._loop)
            self._renewed[listing.uri] = again.result().url
        url = self._renewed.get(listing.uri) or parse_url(entry.locator)
        return Request(
            scheme=url.scheme,
            host=url.host,
            port=url.port,
            target=url.target,
            headers=(("Host", url.authority), ("User-Agent", "cached"), ("Accept", "*/*")),
            ca_file=self._ca_file,
        )

    def confirm(self, entry: Entry, headers: Mapping[str, str]) -> Entry:  # noqa: ARG002
        """See `Source.confirm`; the worker holds every answer to the pinned ETag and size."""
        return entry

    async def close(self) -> None:
        """See `Source.close`."""
        if self._session is not None:
            await self._session.close()

    async def _probe(self, url: Url) -> Answer:
        session = await self._open()
        for attempt in range(TRIES):
            try:
                return await probe(session, url)
            except Retryable:
                if attempt == TRIES - 1:
                    raise
            longest = min(self._timeouts.retry_cap, self._timeouts.retry_base * 2**attempt)
            await asyncio.sleep(longest * random.random())  # noqa: S311  jitter
        raise AssertionError

    async def _open(self) -> aiohttp.ClientSession:
        if self._session is not None:
            return self._session
        trust = await blocking.run(self._trust)
        self._loop = asyncio.get_running_loop()
        if self._session is None:  # another resolve may have come first meanwhile
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=trust),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(
                    total=None, connect=self._timeouts.connect, sock_read=self._timeouts.first_byte
                ),
            )
        return self._session

    def _trust(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self._ca_file)
        except (OSError, ssl.SSLError) as error:
            raise Permanent(
                f"cannot read the authorities in {self._ca_file}: {error}", hint="check ca_file of the source"
            ) from error


def entry_of(url: Url, path: str, answer: Answer) -> Entry:
    """The one file that an answer describes. Raises Unsupported when it states no length. Pure."""
    size = _size(answer)
    if size is None:
        raise Unsupported(
            f"{url.place} does not state its length, so its end cannot be told from a cut",
            hint="serve it from a server that sends Content-Length",
        )
    etag = answer.headers.get("etag", "")
    strong = etag.startswith('"')
    # Two URLs of a server may share an ETag: only together with its place it names content.
    return Entry(
        path=path,
        size=size,
        pin=Pin(validator=etag or answer.headers.get("last-modified", ""), etag=etag if strong else None),
        locator=answer.url.text,
        ranges=strong and answer.headers.get("accept-ranges", "").lower() != "none",
        sha256=_sha256(answer.headers),
        alias=("url", f"{url.place} {etag}") if strong else None,
    )


def _size(answer: Answer) -> int | None:
    if answer.status == 206 and "content-length" not in answer.headers:
        return None  # payload would come the same way
    if answer.status in {206, 416}:
        text = answer.headers.get("content-range", "").rpartition("/")[2]
    else:
        text = answer.headers.get("content-length", "")
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text.strip()) else None


def _sha256(headers: Mapping[str, str]) -> Digest | None:
    """RFC 9530 Repr-Digest, or the Digest of RFC 3230 before it; of the stored bytes only when nothing encodes them."""
    if headers.get("content-encoding", "identity").lower() != "identity":
        return None
    found = re.search(r"sha-256=:([A-Za-z0-9+/=]+):", headers.get("repr-digest", ""), re.IGNORECASE) or re.search(
        r"sha-256=([A-Za-z0-9+/=]+)", headers.get("digest", ""), re.IGNORECASE
    )
    try:
        return Digest(base64.b64decode(found.group(1), validate=True).hex()) if found else None
    except (binascii.Error, ValueError):
        return None
