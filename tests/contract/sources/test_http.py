"""What web servers do beyond the contract: redirects, refused HEADs, signed URLs, no lengths."""

from __future__ import annotations

from pathlib import Path

import pytest

from cached import blocking
from cached.config import Source
from cached.errors import Code, NotAuthorized, NotFound, Permanent, Retryable, Unsupported
from cached.sources.http import reach
from cached.sources.http.url import Url
from cached.sources.registry import Sources
from cached.types import Uri
from tests.contract.sources.conftest import Open
from tests.contract.sources.places import WebPlace
from tests.contract.sources.wire import fetch
from tests.helpers.hostile import Hostile, Op, faults

DATA = b"weights" * 1000


@pytest.fixture
def web(hostile: Hostile, open_sources: Open) -> Sources:
    """Sources for a server that holds one file."""
    hostile.put_file("files/big", DATA)
    return open_sources(Source(prefix=f"{hostile.url}/"))


def url(hostile: Hostile, path: str = "files/big") -> Uri:
    return Uri(f"{hostile.url}/{path}")


def both(hostile: Hostile, path: str, fault: faults.Fault) -> None:
    for op in (Op.HEAD, Op.GET):
        hostile.misbehave(path, fault, times=None, op=op)


async def test_a_query_goes_on_the_wire_and_nowhere_else(web: Sources, hostile: Hostile) -> None:
    asked = url(hostile, "files/big?X-Signature=a%2Fb+c&x=%7E")
    source, listing = await web.resolve(asked)
    (entry,) = listing.entries
    request = await blocking.run(source.request, listing, entry)
    assert {each.target for each in hostile.requests} == {"/files/big?X-Signature=a%2Fb+c&x=%7E"}
    assert request.target == "/files/big?X-Signature=a%2Fb+c&x=%7E"
    assert "Signature" not in entry.path + listing.revision + listing.source_id + repr(entry.pin) + repr(entry.alias)


async def test_two_signatures_of_one_file_are_one_revision(web: Sources, hostile: Hostile) -> None:
    first, second = [(await web.resolve(url(hostile, f"files/big?sig={number}")))[1] for number in range(2)]
    assert (first.revision, first.source_id) == (second.revision, second.source_id)


async def test_payload_comes_from_where_a_redirect_leads_under_the_first_name(web: Sources, hostile: Hostile) -> None:
    both(hostile, "files/latest", faults.Redirect("big?part=1"))
    source, listing = await web.resolve(url(hostile, "files/latest"))
    (entry,) = listing.entries
    request = await blocking.run(source.request, listing, entry)
    assert (entry.path, request.target) == ("latest", "/files/big?part=1")
    assert (await blocking.run(fetch, request, entry)).body == DATA


async def test_a_fresh_request_follows_the_redirect_anew(web: Sources, hostile: Hostile) -> None:
    """xet-core#238: the signed URL that a redirect gives expires in the middle of a download."""
    both(hostile, "files/latest", faults.Redirect("big", sign=True))
    source, listing = await web.resolve(url(hostile, "files/latest"))
    (entry,) = listing.entries
    old = await blocking.run(source.request, listing, entry)
    new = await blocking.run(lambda: source.request(listing, entry, fresh=True))
    assert (old.target, new.target) == ("/files/big?X-Signature=0", "/files/big?X-Signature=1")


async def test_a_redirect_from_https_to_plain_http_is_refused(
    on_https: WebPlace, hostile: Hostile, hostile_tls: Hostile, open_sources: Open
) -> None:
    hostile.put_file("files/big", DATA)
    both(hostile_tls, "files/big", faults.Redirect(f"{hostile.url}/files/big"))
    with pytest.raises(Permanent, match="redirects to plain http"):
        await open_sources(on_https.rule).resolve(url(hostile_tls))
    assert hostile.requests == []


async def test_a_redirect_further_inside_the_network_is_refused_without_a_request(
    web: Sources, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = reach.reach_of_url

    async def as_if_public(asked: Url) -> reach.Reach:
        return reach.Reach.PUBLIC if asked.host == "127.0.0.1" else await real(asked)

    monkeypatch.setattr(reach, "reach_of_url", as_if_public)
    hostile.put_file("files/secret", b"mine")
    both(hostile, "files/big", faults.Redirect(f"http://localhost:{hostile.port}/files/secret"))
    with pytest.raises(NotAuthorized, match="further inside the network"):
        await web.resolve(url(hostile))
    assert [each.target for each in hostile.requests] == ["/files/big"]


async def test_redirects_without_end_are_an_error(web: Sources, hostile: Hostile) -> None:
    both(hostile, "files/big", faults.Redirect("big"))
    with pytest.raises(Permanent, match="more than 5 times"):
        await web.resolve(url(hostile))


@pytest.mark.parametrize("status", [400, 403, 405, 501])
async def test_where_head_is_refused_a_get_of_one_byte_answers(web: Sources, hostile: Hostile, status: int) -> None:
    hostile.misbehave("files/big", faults.Refuse(status, "NoHead"), times=None, op=Op.HEAD)
    _, listing = await web.resolve(url(hostile))
    assert (listing.entries[0].size, hostile.asked("files/big")[0].range) == (len(DATA), "bytes=0-0")


async def test_where_head_leaves_the_length_out_a_get_of_one_byte_tells_it(web: Sources, hostile: Hostile) -> None:
    hostile.misbehave("files/big", faults.NoLength(), times=None, op=Op.HEAD)
    _, listing = await web.resolve(url(hostile))
    assert [(entry.size, entry.ranges) for entry in listing.entries] == [(len(DATA), True)]


async def test_an_empty_file_is_a_file_where_head_is_refused_too(web: Sources, hostile: Hostile) -> None:
    """A range of an empty file is a 416."""
    hostile.put_file("files/empty", b"")
    hostile.misbehave("files/empty", faults.Refuse(405, "NoHead"), times=None, op=Op.HEAD)
    _, listing = await web.resolve(url(hostile, "files/empty"))
    assert listing.entries[0].size == 0


async def test_a_whole_model_is_not_read_where_ranges_are_ignored(web: Sources, hostile: Hostile) -> None:
    hostile.put_file("files/huge", 1 << 30, ranges=False)
    hostile.misbehave("files/huge", faults.Refuse(405, "NoHead"), times=None, op=Op.HEAD)
    _, listing = await web.resolve(url(hostile, "files/huge"))
    assert listing.entries[0].size == 1 << 30
    assert hostile.payload < 64 << 20


async def test_a_file_without_a_length_is_refused(web: Sources, hostile: Hostile) -> None:
    both(hostile, "files/big", faults.NoLength())
    with pytest.raises(Unsupported, match="does not state its length"):
        await web.resolve(url(hostile))


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (404, NotFound, Code.NOT_FOUND),
        (410, NotFound, Code.NOT_FOUND),
        (401, NotAuthorized, Code.NOT_AUTHORIZED),
        (403, NotAuthorized, Code.NOT_AUTHORIZED),
        (429, Retryable, Code.SOURCE_UNAVAILABLE),
        (503, Retryable, Code.SOURCE_UNAVAILABLE),
        (418, Permanent, Code.SOURCE_UNAVAILABLE),
    ],
)
async def test_a_refusal_says_what_to_do_and_shows_no_signature(
    web: Sources, hostile: Hostile, status: int, kind: type[Permanent | Retryable], code: Code
) -> None:
    both(hostile, "files/big", faults.Refuse(status, "Refused"))
    with pytest.raises(kind) as caught:
        await web.resolve(url(hostile, "files/big?X-Signature=hidden"))
    assert (caught.value.code, bool(caught.value.hint)) == (code, True)
    assert "hidden" not in caught.value.message + caught.value.hint


async def test_a_busy_server_is_asked_again(web: Sources, hostile: Hostile) -> None:
    hostile.misbehave("files/big", faults.slow_down(), times=2, op=Op.HEAD)
    _, listing = await web.resolve(url(hostile))
    assert listing.entries[0].size == len(DATA)


async def test_an_unknown_authority_names_the_setting(hostile_tls: Hostile, open_sources: Open) -> None:
    with pytest.raises(Permanent) as caught:
        await open_sources(Source(prefix=f"{hostile_tls.url}/")).resolve(url(hostile_tls))
    assert "ca_file" in caught.value.hint


async def test_a_bundle_that_cannot_be_read_is_named(hostile_tls: Hostile, open_sources: Open, tmp_path: Path) -> None:
    rule = Source(prefix=f"{hostile_tls.url}/", ca_file=str(tmp_path / "ca.pem"))
    with pytest.raises(Permanent, match=r"ca\.pem"):
        await open_sources(rule).resolve(url(hostile_tls))


async def test_a_server_that_is_gone_is_worth_another_try(open_sources: Open) -> None:
    with Hostile() as server:
        gone = server.url
    with pytest.raises(Retryable, match="cannot reach"):
        await open_sources(Source(prefix=f"{gone}/")).resolve(Uri(f"{gone}/files/big"))
