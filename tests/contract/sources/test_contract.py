"""What every source promises (`cached.sources.base.Source`), on every kind of server it speaks to."""

from __future__ import annotations

import contextlib
import gc
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cached import blocking
from cached.errors import NotFound, SourceChanged
from cached.sources.base import Entry, Listing, Request, Source, file_validator
from cached.sources.registry import Sources
from tests.contract.sources.conftest import PLACES
from tests.contract.sources.places import PART, WEIGHTS, Place, settings
from tests.contract.sources.wire import Answer, fetch, sockets_to

BIG = "weights.safetensors"


async def ask(source: Source, listing: Listing, entry: Entry, span: tuple[int, int] | None = None) -> Answer:
    request = await blocking.run(source.request, listing, entry)
    return await blocking.run(fetch, request, entry, span)


def big(listing: Listing) -> Entry:
    return next(entry for entry in listing.entries if entry.path == BIG)


async def test_every_file_is_listed_once_in_order_with_its_size(place: Place, sources: Sources) -> None:
    _, listing = await sources.resolve(place.uri())
    assert [(entry.path, entry.size) for entry in listing.entries] == [
        (path, len(data)) for path, data in sorted(place.files.items())
    ]


async def test_every_file_is_pinned(place: Place, sources: Sources) -> None:
    _, listing = await sources.resolve(place.uri())
    assert all(entry.pin.validator for entry in listing.entries)
    assert all(entry.pin.etag for entry in listing.entries if entry.ranges)


async def test_a_listing_says_what_was_asked_and_by_which_rule(place: Place, sources: Sources) -> None:
    _, listing = await sources.resolve(place.uri())
    assert (listing.uri, listing.rule, bool(listing.source_id)) == (place.uri(), place.rule.prefix, True)


async def test_a_request_brings_exactly_the_bytes(place: Place, sources: Sources) -> None:
    source, listing = await sources.resolve(place.uri())
    answers = [await ask(source, listing, entry) for entry in listing.entries]
    assert [(answer.status, answer.body) for answer in answers] == [
        (200, data) for _, data in sorted(place.files.items())
    ]


@pytest.mark.parametrize("place", [each for each in PLACES if each != "on_http_weak"], indirect=True)
@pytest.mark.parametrize("span", [(0, 1), (PART, 2 * PART), (len(WEIGHTS) - 7, len(WEIGHTS))], ids=str)
async def test_a_range_brings_exactly_that_range(place: Place, sources: Sources, span: tuple[int, int]) -> None:
    source, listing = await sources.resolve(place.uri())
    assert big(listing).ranges
    answer = await ask(source, listing, big(listing), span)
    assert answer.body == WEIGHTS[slice(*span)]
    if answer.headers:
        assert (answer.status, answer.headers["content-range"]) == (
            206,
            f"bytes {span[0]}-{span[1] - 1}/{len(WEIGHTS)}",
        )


async def test_a_request_leaves_room_for_what_a_worker_adds(place: Place, sources: Sources) -> None:
    source, listing = await sources.resolve(place.uri())
    request = await blocking.run(source.request, listing, listing.entries[0])
    names = {name.lower() for name, _ in request.headers}
    assert names & {"range", "connection", "accept-encoding"} == set()


async def test_a_request_shows_no_secrets_when_printed(place: Place, sources: Sources) -> None:
    source, listing = await sources.resolve(place.uri())
    request = await blocking.run(source.request, listing, listing.entries[0])
    assert not re.search("contract-secret|Signature|Credential", repr(request))


async def test_a_fresh_request_brings_the_same(place: Place, sources: Sources) -> None:
    source, listing = await sources.resolve(place.uri())
    entry = big(listing)

    def again() -> Request:
        return source.request(listing, entry, fresh=True)

    assert fetch(await blocking.run(again), entry).body == WEIGHTS


async def test_the_answers_headers_are_accepted_and_change_no_identity(place: Place, sources: Sources) -> None:
    source, listing = await sources.resolve(place.uri())
    for entry in listing.entries:
        answer = await ask(source, listing, entry)
        confirmed = source.confirm(entry, answer.headers)
        assert (confirmed.path, confirmed.size, confirmed.pin) == (entry.path, entry.size, entry.pin)


async def test_nothing_of_a_replacement_passes_for_the_pinned_file(place: Place, sources: Sources) -> None:
    source, listing = await sources.resolve(place.uri())
    entry = big(listing)
    place.put(BIG, WEIGHTS[::-1])
    answer = await ask(source, listing, entry)
    assert answer.body == WEIGHTS or _is_refused(source, entry, answer)


def _is_refused(source: Source, entry: Entry, answer: Answer) -> bool:
    """By the server, by the source, or by the comparison of the pin that a worker makes for every source."""
    if answer.status == 412:
        return True
    with contextlib.suppress(SourceChanged):
        source.confirm(entry, answer.headers)
        return _etag_now(entry, answer) != (entry.pin.etag or entry.pin.validator)
    return True


def _etag_now(entry: Entry, answer: Answer) -> str | None:
    if answer.headers:
        return answer.headers.get("etag")
    return file_validator(Path(entry.locator).stat())


async def test_two_looks_at_an_unchanged_model_are_equal(place: Place, sources: Sources) -> None:
    first = await sources.resolve(place.uri())
    assert await sources.resolve(place.uri()) == first


async def test_two_sources_see_the_same(place: Place, sources: Sources) -> None:
    _, first = await sources.resolve(place.uri())
    other = Sources(settings(place.rule))
    try:
        assert (await other.resolve(place.uri()))[1] == first
    finally:
        await other.close()


async def test_the_revision_changes_with_the_content(place: Place, sources: Sources) -> None:
    _, first = await sources.resolve(place.uri())
    place.put(BIG, WEIGHTS[::-1])
    _, second = await sources.resolve(place.uri())
    assert second.revision != first.revision
    assert big(second).pin != big(first).pin


async def test_a_neighbour_of_a_like_name_is_not_part_of_the_model(place: Place, sources: Sources) -> None:
    _, first = await sources.resolve(place.uri())
    place.put_beside()
    _, second = await sources.resolve(place.uri())
    assert second == first


async def test_a_revision_is_short_enough_to_read_and_long_enough_to_tell(place: Place, sources: Sources) -> None:
    _, listing = await sources.resolve(place.uri())
    assert re.fullmatch("[0-9a-f]{12,40}", listing.revision)


async def test_nothing_there_is_an_error_that_names_what_was_looked_for(place: Place, sources: Sources) -> None:
    with pytest.raises(NotFound) as caught:
        await sources.resolve(place.uri("no-such model"))
    assert re.search("no-such( |%20)model", caught.value.message)
    assert caught.value.hint


async def test_closing_frees_everything(place: Place) -> None:
    """Sockets are counted, since some libraries drop them without a word; the rest warns when it is collected."""
    port = urlsplit(place.rule.endpoint or place.rule.prefix).port or 0
    gc.collect()  # what earlier tests left to the collector would be counted now and be gone afterwards
    before = sockets_to(port)
    sources = Sources(settings(place.rule))
    source, listing = await sources.resolve(place.uri())
    await blocking.run(source.request, listing, listing.entries[0])
    await sources.close()
    gc.collect()
    assert sockets_to(port) == before
    del sources, source
    gc.collect()


async def test_closing_twice_is_closing_once(place: Place) -> None:
    sources = Sources(settings(place.rule))
    await sources.resolve(place.uri())
    await sources.close()
    await sources.close()
