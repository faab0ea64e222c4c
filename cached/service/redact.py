"""Secrets never leave through a log line or the status page. Pure.

Presigned URLs carry their credentials in the query, some URLs in the user part; headers and tokens carry
them by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"

_SECRET_KEYS = ("authorization", "token", "secret", "password", "credential", "cookie", "signature")
_URI = re.compile(r"""(?i)\b([a-z][a-z0-9+.-]*)://(?:[^\s/@"'<>]*@)?([^\s?"'<>]*)(\?[^\s"'<>]*)?""")
_LITERAL = {"s3", "gs", "file"}
_HEADER = re.compile(r"""(?i)\b(authorization|cookie|x-amz-security-token)(["']?\s*[:=,]\s*["']?)[^\n"']+""")


def text(value: str) -> str:
    """`value` without the query and user part of any URL in it, and without the value of any secret header.

    In s3://, gs:// and file:// a `?` is part of a name and stays.
    """
    return _HEADER.sub(rf"\1\2{HIDDEN}", _URI.sub(_without_secrets, value))


def _without_secrets(match: re.Match[str]) -> str:
    scheme, place, query = match.groups()
    kept = query if query and scheme.lower() in _LITERAL else f"?{HIDDEN}" if query else ""
    return f"{scheme}://{place}{kept or ''}"


def fields(value: Any) -> Any:
    """Plain data with every string through `text`, and what stands under a secret's name hidden."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {key: HIDDEN if _is_secret(key) else fields(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [fields(inner) for inner in value]
    return value


def _is_secret(key: object) -> bool:
    return any(word in str(key).lower() for word in _SECRET_KEYS)
