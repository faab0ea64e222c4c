"""What the TCP port serves, to anybody who reaches it and read-only: metrics, health and the status page."""

from __future__ import annotations

from aiohttp import web
from prometheus_client.exposition import choose_encoder

from cached.service.answers import errors
from cached.service.cache import Front
from cached.service.metrics import registry_of
from cached.service.page import HEADERS, page, waiting_page


class Port:
    """The handlers."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._registry = registry_of(front)

    def app(self) -> web.Application:
        """The application that the port serves."""
        app = web.Application(middlewares=[errors])
        app.router.add_get("/", self.page)
        app.router.add_get("/metrics", self.metrics)
        app.router.add_get("/healthz", self.healthz)
        app.router.add_get("/readyz", self.readyz)
        return app

    async def metrics(self, request: web.Request) -> web.Response:
        """In the format that the scraper accepts."""
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(self._registry), headers={"Content-Type": content_type})

    async def healthz(self, _: web.Request) -> web.Response:
        """200: the event loop turns. A task that died ends the process, so there is no other state."""
        return web.Response(text="ok\n")

    async def readyz(self, _: web.Request) -> web.Response:
        """200 once recovery is done, until the daemon stops."""
        if self._front.ready:
            return web.Response(text="ready\n")
        return web.Response(text=f"{self._front.waiting_for}\n", status=503)

    async def page(self, _: web.Request) -> web.Response:
        """For people."""
        if self._front.ready:
            text = page(self._front.status(), self._front.cache.models())
        else:
            text = waiting_page(self._front.waiting_for)
        return web.Response(text=text, content_type="text/html", headers=HEADERS)
