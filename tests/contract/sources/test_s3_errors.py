"""Each way that S3 says no becomes an error that says what failed and what mends it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec.structs import replace

from cached.config import Seconds, Source, Timeouts
from cached.errors import CachedError, Code, NotAuthorized, NotFound, Permanent, Retryable, SourceChanged, Unsupported
from cached.sources.registry import Sources
from cached.sources.s3 import listing as s3_listing
from cached.types import Uri
from tests.contract.sources.conftest import KEYS, Open
from tests.contract.sources.places import PART, HostileS3Place, S3Place, settings
from tests.helpers.hostile import Hostile, Op, Request, faults
from tests.helpers.hostile.content import Literal
from tests.helpers.hostile.exchange import Reply

MODEL = Uri("s3://models/m")
E = TypeVar("E", bound=CachedError)


@pytest.fixture
def open_hostile(on_hostile: HostileS3Place, open_sources: Open) -> Sources:
    """Sources for a hostile server that holds a small model."""
    on_hostile.put("a", b"a")
    on_hostile.put("big", bytes(2 * PART))
    on_hostile.put("c", b"c")
    return open_sources(on_hostile.rule)


async def refusal(sources: Sources, uri: Uri, kind: type[E]) -> E:
    with pytest.raises(kind) as caught:
        await sources.resolve(uri)
    assert caught.value.hint
    return caught.value


async def test_a_bucket_that_does_not_exist_is_named(on_weed: S3Place, open_sources: Open) -> None:
    error = await refusal(open_sources(on_weed.rule), Uri("s3://no-such-bucket/m"), NotFound)
    assert "'no-such-bucket'" in error.message
    assert (on_weed.rule.endpoint or "") in error.message


async def test_an_empty_bucket_is_not_a_model(on_moto: S3Place, open_sources: Open) -> None:
    on_moto.client.create_bucket(Bucket=on_moto.folder)
    error = await refusal(open_sources(on_moto.rule), Uri(f"s3://{on_moto.folder}/"), NotFound)
    assert error.message == f"the bucket '{on_moto.folder}' is empty"


async def test_a_near_miss_is_told_what_is_there(on_weed: S3Place, open_sources: Open) -> None:
    on_weed.put("config.json", b"{}")
    error = await refusal(open_sources(on_weed.rule), on_weed.uri(on_weed.folder[:-1]), NotFound)
    assert f"'{on_weed.folder[:-1]}/'" in error.message
    assert f"{on_weed.folder}/config.json" in error.hint


async def test_a_wrong_secret_is_told_from_an_unknown_key(
    on_weed: S3Place, open_sources: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_weed.put("config.json", b"{}")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    wrong = await refusal(open_sources(on_weed.rule), on_weed.uri(), NotAuthorized)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDUNKNOWN")
    unknown = await refusal(open_sources(on_weed.rule), on_weed.uri(), NotAuthorized)
    assert "signature" in wrong.message
    assert "InvalidAccessKeyId" in unknown.message
    assert KEYS.secret not in wrong.message + wrong.hint + unknown.message + unknown.hint


async def test_an_endpoint_that_nobody_listens_at_is_worth_another_try(open_sources: Open) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        error = await refusal(open_sources(Source(prefix="s3://", endpoint=endpoint)), MODEL, Retryable)
    assert endpoint in error.message
    assert "endpoint" in error.hint


async def test_an_endpoint_that_never_answers_is_worth_another_try(hostile: Hostile) -> None:
    place = HostileS3Place(hostile)
    place.put("a", b"a")
    for op in (Op.HEAD, Op.LIST):
        hostile.misbehave("models*", faults.Mute(), times=None, op=op)
    sources = Sources(replace(settings(place.rule), timeouts=Timeouts(first_byte=Seconds(0.05))))
    try:
        await refusal(sources, MODEL, Retryable)
    finally:
        await sources.close()


async def test_an_unknown_authority_names_the_setting(on_hostile_tls: HostileS3Place, open_sources: Open) -> None:
    rule = Source(prefix="s3://", endpoint=on_hostile_tls.rule.endpoint)
    error = await refusal(open_sources(rule), MODEL, Permanent)
    assert error.code is Code.SOURCE_UNAVAILABLE
    assert "ca_file" in error.hint


@pytest.mark.parametrize("content", [None, "not a certificate"])
async def test_a_bundle_that_cannot_be_read_is_named(
    on_hostile_tls: HostileS3Place, open_sources: Open, tmp_path: Path, content: str | None
) -> None:
    bundle = tmp_path / "ca.pem"
    if content:
        bundle.write_text(content)
    rule = Source(prefix="s3://", endpoint=on_hostile_tls.rule.endpoint, ca_file=str(bundle))
    error = await refusal(open_sources(rule), MODEL, Permanent)
    assert str(bundle) in error.message
    assert "ca_file" in error.hint


async def test_a_web_page_in_place_of_s3_is_recognised(hostile: Hostile, open_sources: Open) -> None:
    hostile.misbehave("*", Page(), times=None, op=Op.HEAD)
    hostile.misbehave("*", Page(), times=None, op=Op.LIST)
    error = await refusal(open_sources(Source(prefix="s3://", endpoint=hostile.url)), MODEL, Retryable)
    assert "S3 server" in error.hint


@dataclass(frozen=True, slots=True)
class Page:
    """404 to a HEAD, as of an unknown page; else a page for people."""

    def apply(self, request: Request, reply: Reply) -> Reply:  # noqa: ARG002
        if request.op is Op.HEAD:
            return Reply.text(404, "")
        return Reply.text(200, "<!doctype html><title>Console</title><p>Hello & welcome", content_type="text/html")


async def test_a_busy_server_says_when_to_come_again(open_hostile: Sources, hostile: Hostile) -> None:
    for op in (Op.HEAD, Op.LIST):
        hostile.misbehave("models*", faults.slow_down(retry_after=7), times=None, op=op)
    error = await refusal(open_hostile, MODEL, Retryable)
    assert error.retry_after == 7


async def test_a_server_that_is_busy_once_is_asked_again(open_hostile: Sources, hostile: Hostile) -> None:
    hostile.misbehave("models", faults.slow_down(), op=Op.LIST)
    _, listing = await open_hostile.resolve(MODEL)
    assert len(listing.entries) == 3


async def test_credentials_without_rights_are_told_which_are_needed(open_hostile: Sources, hostile: Hostile) -> None:
    for op in (Op.HEAD, Op.LIST):
        hostile.misbehave("models*", faults.access_denied(), times=None, op=op)
    error = await refusal(open_hostile, MODEL, NotAuthorized)
    assert "s3:ListBucket" in error.hint


async def test_a_missing_object_that_is_hidden_by_a_refusal_may_still_be_a_folder(
    open_hostile: Sources, hostile: Hostile
) -> None:
    hostile.misbehave("models/m", faults.access_denied(), times=None, op=Op.HEAD)
    _, listing = await open_hostile.resolve(MODEL)
    assert [entry.path for entry in listing.entries] == ["a", "big", "c"]


async def test_whoever_may_read_but_not_list_gets_the_object(open_hostile: Sources, hostile: Hostile) -> None:
    hostile.misbehave("models", faults.access_denied(), times=None, op=Op.LIST)
    _, listing = await open_hostile.resolve(Uri("s3://models/m/a"))
    assert [entry.path for entry in listing.entries] == ["a"]


async def test_pages_are_followed_to_the_last(open_sources: Open) -> None:
    with Hostile(page=2) as server:
        place = HostileS3Place(server)
        for number in range(7):
            place.put(f"{number}", b"x")
        _, listing = await open_sources(place.rule).resolve(MODEL)
        assert [entry.path for entry in listing.entries] == [str(number) for number in range(7)]
        assert len(server.asked("models", Op.LIST)) == 4


@dataclass(frozen=True, slots=True)
class Altered:
    """A listing with some of its text replaced."""

    change: Callable[[str], str]

    def apply(self, request: Request, reply: Reply) -> Reply:  # noqa: ARG002
        text = reply.whole.read(0, reply.whole.size).decode()
        return reply.body(Literal(self.change(text).encode()))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("<IsTruncated>false", "<IsTruncated>true"),
        lambda text: text.replace(
            "<IsTruncated>false</IsTruncated>",
            "<IsTruncated>true</IsTruncated><NextContinuationToken>bS8=</NextContinuationToken>",
        ),
    ],
    ids=["no token", "the same token for ever"],
)
async def test_a_listing_that_cannot_be_read_to_its_end_is_never_taken_as_complete(
    open_hostile: Sources, hostile: Hostile, change: Callable[[str], str]
) -> None:
    hostile.misbehave("models", Altered(change), times=None, op=Op.LIST)
    error = await refusal(open_hostile, MODEL, Permanent)
    assert error.code is Code.SOURCE_UNAVAILABLE


async def test_a_listing_that_is_cut_is_never_taken_as_complete(open_hostile: Sources, hostile: Hostile) -> None:
    hostile.misbehave("models", faults.Cut(after=400), times=None, op=Op.LIST)
    await refusal(open_hostile, MODEL, Retryable)


async def test_a_listing_without_etags_pins_nothing_and_is_refused(open_hostile: Sources, hostile: Hostile) -> None:
    hostile.misbehave("models", Altered(lambda text: text.replace("ETag>", "Tag>")), times=None, op=Op.LIST)
    assert "'m/a'" in (await refusal(open_hostile, MODEL, Unsupported)).message


async def test_an_object_that_goes_away_while_the_model_is_listed_is_a_change(
    open_hostile: Sources, hostile: Hostile
) -> None:
    hostile.when("models/m/big", lambda: hostile.shelf.remove("models/m/big"), op=Op.HEAD)
    error = await refusal(open_hostile, MODEL, SourceChanged)
    assert "big" in error.message


async def test_more_files_than_a_model_has_are_refused(open_hostile: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_listing, "FILES_MAX", 2)
    assert "over 2 files" in (await refusal(open_hostile, MODEL, Unsupported)).message


async def test_a_head_goes_out_only_for_objects_over_one_part(open_hostile: Sources, hostile: Hostile) -> None:
    await open_hostile.resolve(MODEL)
    asked = [request.path for request in hostile.requests if request.op is Op.HEAD]
    assert asked == ["models/m", "models/m/big"]
