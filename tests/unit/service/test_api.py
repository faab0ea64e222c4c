"""The API over its real socket, with an engine in memory behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import structlog

from cached import codec
from cached.api.types import Event, FileView, Want
from cached.errors import CachedError, Code, Conflict, NotFound, Permanent, Retryable
from cached.service.answers import BODY_MAX
from cached.service.api import _lines
from cached.types import ModelName, State, Uri
from tests.helpers.memory_cache import ready, view

if TYPE_CHECKING:
    from tests.unit.service.conftest import Service

WANT = Want(uri=Uri("s3://b/m"), name=ModelName("m"))


async def test_a_prefetch_is_taken_and_answered_with_its_model(service: Service) -> None:
    model = await service.do(service.client.prefetch, WANT)
    assert (model.name, model.uri, model.state) == ("m", "s3://b/m", State.QUEUED)


async def test_a_prefetch_is_answered_at_once_with_202(service: Service) -> None:
    reply = await service.ask("POST", "/v1/prefetches", codec.encode(WANT))
    assert reply.status == 202


async def test_models_are_listed_by_name(service: Service) -> None:
    service.cache.put(view("b"))
    service.cache.put(view("a"))
    assert [model.name for model in await service.do(service.client.models)] == ["a", "b"]


async def test_a_model_comes_with_its_files(service: Service) -> None:
    files = (FileView(path="w", size=3, done=1),)
    service.cache.put(view(), files)
    assert (await service.do(service.client.model, ModelName("m"))).files == files


async def test_removing_says_what_was_freed(service: Service) -> None:
    service.cache.put(ready())
    assert (await service.do(service.client.remove, ModelName("m"))).bytes_freed == 7


async def test_status_says_where_the_daemon_listens(service: Service) -> None:
    status = await service.do(service.client.status)
    assert (status.socket, status.port) == (str(service.client.socket), service.front.port)


async def test_a_name_in_use_is_a_conflict_at_the_caller(service: Service) -> None:
    service.cache.put(view(uri=Uri("s3://b/other")))
    with pytest.raises(Conflict, match="stands for s3://b/other") as caught:
        await service.do(service.client.prefetch, WANT)
    assert (caught.value.hint, caught.value.details) == ("--move", {"name": "m"})


async def test_a_name_in_use_moves_when_that_is_asked_for(service: Service) -> None:
    service.cache.put(view(uri=Uri("s3://b/other")))
    assert (await service.do(service.client.prefetch, WANT, move=True)).uri == WANT.uri


async def test_an_unknown_field_is_named_with_what_is_allowed(service: Service) -> None:
    reply = await service.ask("POST", "/v1/prefetches", b'{"uri": "s3://b/m", "nmae": "x"}')
    assert reply.status == 400
    assert reply.json["message"] == (
        "the request is not a Want: unknown field `nmae`; allowed: uri, name, allow, ignore, sha256, "
        "namespace, priority, deadline, pin, expires, reason"
    )


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"uri": "no-scheme"}', b'{"uri": "s3://b", "allow": "x"}'])
async def test_a_request_that_is_no_want_is_refused(service: Service, body: bytes) -> None:
    reply = await service.ask("POST", "/v1/prefetches", body)
    assert (reply.status, reply.json["code"]) == (400, Code.INVALID_ARGUMENT)


@pytest.mark.parametrize(
    ("target", "message"),
    [("?mvoe=1", "unknown parameter `mvoe`; allowed: move"), ("?move=yes", "`move` is 'yes'; allowed: 0, 1")],
)
async def test_an_unknown_parameter_is_named_with_what_is_allowed(service: Service, target: str, message: str) -> None:
    reply = await service.ask("POST", f"/v1/prefetches{target}", codec.encode(WANT))
    assert (reply.status, reply.json["message"]) == (400, message)


async def test_a_body_over_the_limit_is_refused_as_an_error_body(service: Service) -> None:
    reply = await service.ask("POST", "/v1/prefetches", b" " * (BODY_MAX + 1))
    assert (reply.status, reply.json["code"]) == (413, Code.INVALID_ARGUMENT)


async def test_an_unknown_path_is_an_error_body(service: Service) -> None:
    reply = await service.ask("GET", "/v2/models")
    assert (reply.status, reply.json["code"]) == (404, Code.NOT_FOUND)


async def test_a_wrong_method_is_an_error_body_that_says_which_are_right(service: Service) -> None:
    reply = await service.ask("PUT", "/v1/models/m")
    assert (reply.status, reply.headers["allow"]) == (405, "DELETE,GET,HEAD")
    assert reply.json["message"] == "PUT /v1/models/m: Method Not Allowed; allowed: DELETE, GET, HEAD"


async def test_a_name_that_cannot_be_one_is_refused(service: Service) -> None:
    reply = await service.ask("GET", "/v1/models/Not%20A%20Name")
    assert (reply.status, reply.json["code"]) == (400, Code.INVALID_ARGUMENT)


async def test_a_bug_is_500_with_its_trace_in_the_log_alone(service: Service) -> None:
    service.cache.fail(ZeroDivisionError("secret detail"))
    with structlog.testing.capture_logs() as logs:
        reply = await service.ask("GET", "/v1/models")
    assert (reply.status, reply.json["code"]) == (500, Code.INTERNAL)
    assert b"secret detail" not in reply.body
    assert [(line["event"], line["path"]) for line in logs] == [("request_failed", "/v1/models")]


async def test_before_recovery_is_done_every_call_says_so(starting: Service) -> None:
    reply = await starting.ask("GET", "/v1/models")
    assert (reply.status, reply.headers["retry-after"], reply.json["code"]) == (503, "1", Code.DAEMON_UNREACHABLE)
    assert "recovery is not done" in reply.json["message"]


async def test_a_stopping_daemon_takes_no_work(service: Service) -> None:
    service.front.close()
    with pytest.raises(Retryable, match="is stopping"):
        await service.do(service.client.prefetch, WANT)


async def test_events_begin_with_a_snapshot_and_end_when_the_model_is_ready(service: Service) -> None:
    files = (FileView(path="w", size=3, done=0),)
    service.cache.put(view(), files)
    events = service.client.events(ModelName("m"))
    first = await service.do(next, events)
    service.cache.put(ready(), ())
    rest = await service.do(list, events)
    assert (first.files, [event.model.state for event in rest]) == (files, [State.READY])


async def test_events_say_that_the_model_was_removed(service: Service) -> None:
    service.cache.put(view())
    events = service.client.events(ModelName("m"))
    await service.do(next, events)
    await service.do(service.client.remove, ModelName("m"))
    assert [event.removed for event in await service.do(list, events)] == [True]


async def test_events_of_an_unknown_model_are_not_found(service: Service) -> None:
    with pytest.raises(NotFound):
        await service.do(list, service.client.events(ModelName("m")))


@pytest.mark.parametrize("failure", [CachedError("damaged"), ZeroDivisionError()])
async def test_a_stream_that_fails_never_looks_like_one_that_ended(service: Service, failure: Exception) -> None:
    service.cache.put(view())
    events = service.client.events(ModelName("m"))
    await service.do(next, events)
    with structlog.testing.capture_logs() as logs:
        service.cache.fail(failure)
        with pytest.raises(Retryable, match="went away"):
            await service.do(list, events)
    assert [line["event"] for line in logs] == ["events_failed"]


async def test_a_stopping_daemon_breaks_its_streams_within_the_grace(service: Service) -> None:
    service.cache.put(view())
    events = service.client.events(ModelName("m"))
    await service.do(next, events)
    waiting = asyncio.create_task(service.do(list, events))
    async with asyncio.timeout(10):
        await service.servers.close()
        with pytest.raises(Retryable, match="went away"):
            await waiting


async def test_a_deadline_ends_the_wait_for_an_event(service: Service) -> None:
    service.cache.put(view())
    loop = asyncio.get_running_loop()
    with pytest.raises(Retryable) as caught:
        await service.do(list, service.client.events(ModelName("m"), deadline=loop.time() + 0.3))
    assert caught.value.code is Code.TIMEOUT


async def test_a_silent_stream_sends_empty_lines() -> None:
    async def silent() -> AsyncIterator[Event]:
        yield Event(model=view())
        await asyncio.Event().wait()

    lines = _lines(silent(), pause=0.01)
    first, *rest = [await anext(lines) for _ in range(3)]
    await lines.aclose()
    assert (json.loads(first)["model"]["name"], rest) == ("m", [b"\n", b"\n"])


async def test_a_bad_name_never_reaches_the_engine(service: Service) -> None:
    service.cache.fail(ZeroDivisionError())
    with pytest.raises(Permanent, match="is not a model name"):
        await service.do(service.client.model, "UPPER")  # type: ignore[arg-type]
