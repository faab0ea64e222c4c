"""Asks a server what a URL is: HEAD, or a GET of one byte where HEAD is refused; redirects followed by hand.

Control-plane requests only. Errors of aiohttp and of the server become ours here.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import aiohttp
from yarl import URL

from cached.errors import CachedError, Code, NotAuthorized, NotFound, Permanent, Retryable
from cached.sources.http.reach import refuse_inward
from cached.sources.http.url import Url, joined

REDIRECTS_MAX = 5
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "cached"}
_NO_HEAD = {400, 403, 405, 501}
"""What servers say that sign or route GET only. Others answer a HEAD with 200 and leave the length out, as
RFC 9110 section 9.3.2 lets them."""
_MOVED = {301, 302, 303, 307, 308}


@dataclass(frozen=True, slots=True)
class Answer:
    """A final answer: where it came from, and its headers (lower-case names)."""

    url: Url
    status: int
    headers: Mapping[str, str]


async def probe(session: aiohttp.ClientSession, url: Url) -> Answer:
    """What `url` leads to. Raises NotFound, NotAuthorized, Permanent, Retryable."""
    answer = await _follow(session, "HEAD", url)
    if answer.status in _NO_HEAD or (answer.status == 200 and "content-length" not in answer.headers):
        answer = await _follow(session, "GET", url)
    empty = answer.status == 416 and answer.headers.get("content-range", "").strip() == "bytes */0"
    if answer.status in {200, 206} or empty:
        return answer
    raise _status_error(answer)


async def _follow(session: aiohttp.ClientSession, method: str, url: Url) -> Answer:
    first = url
    for _ in range(REDIRECTS_MAX + 1):
        answer = await _ask(session, method, url)
        if answer.status not in _MOVED:
            return answer
        location = answer.headers.get("location")
        if location is None:
            raise Permanent(f"{url.place} redirects to nowhere", code=Code.SOURCE_UNAVAILABLE, hint=_SERVER)
        url = joined(url, location)
        await refuse_inward(first, url)
        if (first.scheme, url.scheme) == ("https", "http"):
            raise Permanent(
                f"{first.place} redirects to plain http",
                code=Code.SOURCE_UNAVAILABLE,
                hint="name the http URL itself, under a rule of its own, if that is wanted",
            )
    raise Permanent(
        f"{first.place} redirects more than {REDIRECTS_MAX} times", code=Code.SOURCE_UNAVAILABLE, hint=_SERVER
    )


_SERVER = "the server is set up wrongly; try the URL with curl -IL"


async def _ask(session: aiohttp.ClientSession, method: str, url: Url) -> Answer:
    headers = _HEADERS if method == "HEAD" else {**_HEADERS, "Range": "bytes=0-0"}
    async with (
        _mapped(url),
        session.request(method, URL(url.text, encoded=True), headers=headers, allow_redirects=False) as response,
    ):
        response.close()  # the body is of no use, and may be a whole model
        return Answer(url, response.status, {name.lower(): value for name, value in response.headers.items()})


@contextlib.asynccontextmanager
async def _mapped(url: Url) -> AsyncIterator[None]:
    where = f"{url.scheme}://{url.authority}"
    try:
        yield
    except aiohttp.ClientConnectorCertificateError as error:
        raise Permanent(
            f"no trusted connection to {where}: {error.certificate_error}",
            code=Code.SOURCE_UNAVAILABLE,
            hint="set ca_file of the source to the PEM bundle of its authority",
        ) from error
    except TimeoutError as error:
        raise Retryable(f"{where} did not answer in time", hint="check the network") from error
    except aiohttp.ClientResponseError as error:  # its text repeats the whole URL, with a signature
        raise Retryable(f"{where} sends no proper answer: {error.message}", hint=_SERVER) from error
    except aiohttp.ClientError as error:
        raise Retryable(f"cannot reach {where}: {error}", hint="check the address and the network") from error


def _status_error(answer: Answer) -> CachedError:
    place, status = answer.url.place, answer.status
    if status in {404, 410}:
        return NotFound(f"there is nothing at {place} ({status})", hint="check the URL")
    if status in {401, 403}:
        return NotAuthorized(
            f"the server refuses {place} ({status})", hint="a signed URL may have expired: ask for a new one"
        )
    if status == 429 or status >= 500:
        return Retryable(f"the server answers {status} for {place}", hint="try again later")
    return Permanent(f"the server answers {status} for {place}", code=Code.SOURCE_UNAVAILABLE, hint=_SERVER)
