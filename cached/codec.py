"""One way to read and write JSON: on disk, over the socket, between processes, and for YAML settings.

Structs say `forbid_unknown_fields=True`, so an unknown key is an error that names it. The checked strings
and numbers of `cached.types` and `cached.config` pass through as plain JSON values.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def _to_plain(value: object) -> object:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise NotImplementedError(f"no JSON form for {type(value).__name__}")


def _from_plain(kind: type[Any], value: object) -> object:
    return kind(value)


_encoder = msgspec.json.Encoder(enc_hook=_to_plain)
_sorted_encoder = msgspec.json.Encoder(enc_hook=_to_plain, order="sorted")


def encode(value: object) -> bytes:
    """`value` as compact JSON, fields in the order of their definition."""
    return _encoder.encode(value)


def canonical(value: object) -> bytes:
    """`value` as JSON with sorted keys and no spaces: the form that digests are taken over."""
    return _sorted_encoder.encode(value)


def pretty(value: object) -> str:
    """`value` as indented JSON for people and jq."""
    return msgspec.json.format(encode(value), indent=2).decode()


def decode(data: bytes | str, kind: type[T]) -> T:
    """The `kind` that the JSON `data` holds. Raises msgspec.ValidationError or msgspec.DecodeError."""
    return msgspec.json.decode(data, type=kind, dec_hook=_from_plain)


def decode_yaml(data: bytes | str, kind: type[T]) -> T:
    """The `kind` that the YAML `data` holds. Raises msgspec.ValidationError or msgspec.DecodeError."""
    return msgspec.yaml.decode(data, type=kind, dec_hook=_from_plain)


def convert(value: object, kind: type[T]) -> T:
    """The `kind` that plain Python data holds. Raises msgspec.ValidationError."""
    return msgspec.convert(value, kind, dec_hook=_from_plain)


def to_builtins(value: object) -> Any:
    """`value` as dicts, lists, strings and numbers."""
    return msgspec.to_builtins(value, enc_hook=_to_plain)
