"""Keys are literal, from the URI through the signature to the wire: encoded once, never normalised.

SeaweedFS checks every signature here. What it cannot store (it joins `//` and refuses `.` segments) goes to moto.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cached import blocking
from cached.sources.base import Listing, Source
from tests.contract.sources.conftest import Open
from tests.contract.sources.places import PART, S3Place
from tests.contract.sources.wire import fetch

NFC, NFD = "caf\u00e9", "cafe\u0301"
AWKWARD = [
    "a b",
    "a+b",
    "a%20b",
    "a%2Fb",
    "a%",
    "a#b",
    "a?b",
    "a?versionId=1&x=y",
    "a&b=c;d",
    "a:b@c,d",
    "[x]*$'(!)\"<>",
    "a\nb",
    "~._-",
    NFC,
    NFD,
    "模型 🤗",
]
NORMALISED = ["/slash", "sub//x", "./dot", "sub/./x", "sub/../x", "trailing."]


async def contents(source: Source, listing: Listing) -> dict[str, bytes]:
    found = {}
    for entry in listing.entries:
        request = await blocking.run(source.request, listing, entry)
        answer = await blocking.run(fetch, request, entry)
        source.confirm(entry, answer.headers)
        found[entry.path] = answer.body
    return found


def put_all(place: S3Place, keys: Iterable[str]) -> dict[str, bytes]:
    """One file a key; every second is over one part, so that a HEAD goes out for it too."""
    files = {key: key.encode() * (1 if number % 2 else PART) for number, key in enumerate(keys)}
    for key, data in files.items():
        place.put(key, data)
    return files


async def test_a_checking_server_takes_the_signature_of_every_awkward_key(on_weed: S3Place, open_sources: Open) -> None:
    files = put_all(on_weed, AWKWARD)
    assert await contents(*await open_sources(on_weed.rule).resolve(on_weed.uri())) == files


@pytest.mark.parametrize("key", AWKWARD)
async def test_an_awkward_key_is_an_object_of_its_own(on_weed: S3Place, open_sources: Open, key: str) -> None:
    on_weed.put(key, b"this one")
    uri = on_weed.uri(f"{on_weed.folder}/{key}")
    assert await contents(*await open_sources(on_weed.rule).resolve(uri)) == {key: b"this one"}


async def test_dots_and_double_slashes_reach_the_server_as_they_are(on_moto: S3Place, open_sources: Open) -> None:
    files = put_all(on_moto, [key for key in AWKWARD + NORMALISED if "\n" not in key])  # moto routes no newline
    assert await contents(*await open_sources(on_moto.rule).resolve(on_moto.uri())) == files


async def test_the_two_forms_of_an_accented_letter_are_two_keys(on_weed: S3Place, open_sources: Open) -> None:
    on_weed.put(NFC, b"composed")
    on_weed.put(NFD, b"decomposed")
    source, listing = await open_sources(on_weed.rule).resolve(on_weed.uri())
    assert await contents(source, listing) == {NFD: b"decomposed", NFC: b"composed"}


async def test_an_awkward_folder_is_literal_too(on_weed: S3Place, open_sources: Open) -> None:
    on_weed.put(f"v1+é #?%20/{NFD}/x", b"deep")
    uri = on_weed.uri(f"{on_weed.folder}/v1+é #?%20")
    assert await contents(*await open_sources(on_weed.rule).resolve(uri)) == {f"{NFD}/x": b"deep"}
