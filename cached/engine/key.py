"""The model key: what single-flight and everything in flight is matched by, never a name."""

from __future__ import annotations

import hashlib

from cached import codec
from cached.api.types import Want
from cached.types import ModelKey


def model_key(want: Want) -> ModelKey:
    """sha256 over the canonical JSON of what decides the content that is asked for."""
    return ModelKey(
        hashlib.sha256(codec.canonical({"uri": want.uri, "allow": want.allow, "ignore": want.ignore})).hexdigest()
    )
