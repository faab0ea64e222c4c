"""The HTTP API on the unix socket: each handler translates one call for the engine, and decides nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

import structlog
from aiohttp import web

from cached import codec
from cached.api.types import Event, ModelList, Want
from cached.errors import Permanent
from cached.service.answers import BODY_MAX, answer, body_of, errors, flags_of
from cached.service.cache import Front
from cached.types import ModelName

HEARTBEAT = 15.0
"""Seconds after which a silent event stream sends an empty line: a client learns that the daemon lives, and the
daemon that the client does."""

log = structlog.get_logger("cached.service")


class Api:
    """The handlers."""

    def __init__(self, front: Front, *, heartbeat: float = HEARTBEAT) -> None:
        self._front = front
        self._heartbeat = heartbeat

    def app(self) -> web.Application:
        """The application that the socket serves."""
        app = web.Application(middlewares=[errors], client_max_size=BODY_MAX)
        app.router.add_post("/v1/prefetches", self.prefetch)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/v1/models/{name}", self.model)
        app.router.add_delete("/v1/models/{name}", self.remove)
        app.router.add_get("/v1/models/{name}/events", self.events)
        app.router.add_get("/v1/status", self.status)
        return app

    async def prefetch(self, request: web.Request) -> web.StreamResponse:
        """202: the want is durable, its download begins or is joined."""
        cache = self._front.cache
        flags = flags_of(request, "move")
        return answer(await cache.submit(await body_of(request, Want), move=flags["move"]), status=202)

    async def models(self, request: web.Request) -> web.StreamResponse:
        """Every model, by name."""
        flags_of(request)
        return answer(ModelList(models=self._front.cache.models()))

    async def model(self, request: web.Request) -> web.StreamResponse:
        """One model with its files."""
        flags_of(request)
        return answer(self._front.cache.model(_name(request)))

    async def remove(self, request: web.Request) -> web.StreamResponse:
        """The name and its demand are dropped."""
        flags_of(request)
        return answer(await self._front.cache.remove(_name(request)))

    async def status(self, request: web.Request) -> web.StreamResponse:
        """The cache in numbers."""
        flags_of(request)
        return answer(self._front.status())

    async def events(self, request: web.Request) -> web.StreamResponse:
        """NDJSON: a full snapshot, then changes, until the model is Ready, Failed or removed."""
        flags_of(request)
        lines = _lines(self._front.cache.events(_name(request)), pause=self._heartbeat)
        async with contextlib.aclosing(lines):
            first = await anext(lines)  # NotFound comes here, while it can still be the answer
            response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
            await response.prepare(request)
            try:
                await response.write(first)
                async for line in lines:
                    await response.write(line)
            except ConnectionResetError:
                return response  # the client left
            except Exception:
                log.exception("events_failed", path=request.path)
                _cut(request)
        return response


async def _lines(events: AsyncIterator[Event], *, pause: float) -> AsyncGenerator[bytes]:
    """Each event as a line, and an empty line whenever nothing happened for `pause` seconds."""
    upcoming: asyncio.Future[Event] | None = None
    try:
        while True:
            upcoming = upcoming or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({upcoming}, timeout=pause)
            if not done:
                yield b"\n"
                continue
            event, upcoming = upcoming, None
            try:
                line = codec.encode(event.result()) + b"\n"
            except StopAsyncIteration:
                return
            yield line
    finally:
        if upcoming is not None:
            upcoming.cancel()
            await asyncio.wait({upcoming})


def _cut(request: web.Request) -> None:
    """Break the connection: a stream that failed must not look like one that ended."""
    if request.transport is not None:
        request.transport.abort()


def _name(request: web.Request) -> ModelName:
    try:
        return ModelName(request.match_info["name"])
    except ValueError as error:
        raise Permanent(str(error)) from error
