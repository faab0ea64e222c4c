"""JSON in and out, and the one place where errors become answers.

A CachedError is answered with the status of its code; routing's own refusals take the same form; anything
else is a bug: 500, with the trace in the log and not in the answer.
"""

from __future__ import annotations

import math
from typing import TypeVar

import msgspec
import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from cached import codec
from cached.api.types import ErrorBody
from cached.errors import CachedError, Code, Permanent, Retryable

T = TypeVar("T", bound=msgspec.Struct)

BODY_MAX = 4 << 20
"""Bytes of a request. A want with the sha256 of 10,000 files has 2 MB."""

log = structlog.get_logger("cached.service")


def answer(value: msgspec.Struct, *, status: int = 200) -> web.Response:
    """`value` as JSON."""
    return web.Response(body=codec.encode(value), status=status, content_type="application/json")


async def body_of(request: web.Request, kind: type[T]) -> T:
    """The `kind` in the request's body. Raises Permanent that names the field and what is allowed."""
    data = await request.read()
    try:
        return codec.decode(data, kind)
    except msgspec.MsgspecError as error:
        reason = codec.explain(error, kind, data, msgspec.json.decode)
        raise Permanent(f"the request is not a {kind.__name__}: {reason}") from error


def flags_of(request: web.Request, *known: str) -> dict[str, bool]:
    """The query's yes-or-no parameters: `1` or `0`, absent is no. Raises Permanent for anything else."""
    flags = dict.fromkeys(known, False)
    for key, value in request.query.items():
        if key not in flags:
            raise Permanent(f"unknown parameter `{key}`; allowed: {', '.join(known) or 'none'}")
        if value not in {"0", "1"}:
            raise Permanent(f"`{key}` is {value[:80]!r}; allowed: 0, 1")
        flags[key] = value == "1"
    return flags


@web.middleware
async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every failure as an ErrorBody."""
    try:
        return await handler(request)
    except CachedError as error:
        return _refusal(error, error.http_status)
    except web.HTTPException as refusal:
        return _routing(request, refusal)
    except Exception:
        log.exception("request_failed", method=request.method, path=request.path)
        bug = CachedError("the daemon failed on this request", hint="this is a bug; its log has the trace")
        return _refusal(bug, bug.http_status)


def _refusal(error: CachedError, status: int) -> web.Response:
    body = ErrorBody(code=error.code, message=error.message, hint=error.hint, details=error.details)
    response = answer(body, status=status)
    if isinstance(error, Retryable) and error.retry_after is not None:
        response.headers["Retry-After"] = str(math.ceil(error.retry_after))
    return response


def _routing(request: web.Request, refusal: web.HTTPException) -> web.Response:
    """404, 405 and 413, which aiohttp raises itself."""
    code = Code.NOT_FOUND if refusal.status == 404 else Code.INVALID_ARGUMENT
    message = f"{request.method} {request.path}: {refusal.reason}"
    if isinstance(refusal, web.HTTPMethodNotAllowed):
        message += f"; allowed: {', '.join(sorted(refusal.allowed_methods))}"
    if isinstance(refusal, web.HTTPRequestEntityTooLarge):
        message += f"; a request has at most {BODY_MAX} bytes"
    response = _refusal(Permanent(message, code=code), refusal.status)
    if allow := refusal.headers.get("Allow"):
        response.headers["Allow"] = allow
    return response
