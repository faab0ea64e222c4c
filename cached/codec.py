"""One way to read and write JSON: on disk, over the socket, between processes, and for YAML settings.

Structs say `forbid_unknown_fields=True`, so an unknown key is an error that names it. The checked strings
and numbers of `cached.types` and `cached.config` pass through as plain JSON values.
"""

from __future__ import annotations

import enum
import re
import typing
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_PATH = re.compile(r" - at `\$(.*)`\Z")
_STEP = re.compile(r"\.([^.\[]+)|\[(.*?)\]")
_UNKNOWN = "Object contains unknown field "
_CHOICE = "Invalid enum value "


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


def explain(error: msgspec.MsgspecError, kind: type[Any], data: bytes | str, read: Callable[..., Any]) -> str:
    """`error` in words for whoever wrote `data`: the place, the value there, and what is allowed.

    `kind` is what was to be decoded and `read` the untyped reader (`msgspec.json.decode` or
    `msgspec.yaml.decode`).
    """
    if not isinstance(error, msgspec.ValidationError):
        return str(error)
    text = str(error)
    found = _PATH.search(text)
    text, steps = (text[: found.start()], _steps(found.group(1))) if found else (text, ())
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    if text.startswith(_UNKNOWN):
        inside = f" in `{place}`" if place else ""
        return f"unknown field {text.removeprefix(_UNKNOWN)}{inside}; allowed: {', '.join(_fields(kind, steps))}"
    if text.startswith(_CHOICE):
        return f"`{place}`: {text}; allowed: {', '.join(_choices(kind, steps))}"
    if place and text.startswith("Expected "):
        return f"`{place}` is {_at(read(data), steps)}: e{text[1:]}"
    return f"`{place}`: {text}" if place else text


def _steps(path: str) -> tuple[str | int, ...]:
    """`.sources[0].prefix` as ("sources", 0, "prefix"). msgspec does not say the key of a mapping: "*"."""
    return tuple(int(index) if index.isdigit() else name or "*" for name, index in _STEP.findall(path))


def _fields(kind: Any, steps: tuple[str | int, ...]) -> list[str]:
    """The names that a struct somewhere below `kind` knows."""
    struct = _struct(_kind_at(kind, steps))
    return [field.encode_name for field in msgspec.structs.fields(struct)] if struct else []


def _choices(kind: Any, steps: tuple[str | int, ...]) -> list[str]:
    """The values of an enum somewhere below `kind`."""
    found = _kind_at(kind, steps)
    kinds = [
        each for each in (found, *typing.get_args(found)) if isinstance(each, type) and issubclass(each, enum.Enum)
    ]
    return [str(member.value) for each in kinds for member in each]


def _kind_at(kind: Any, steps: tuple[str | int, ...]) -> Any:
    """The type of what is at that place."""
    for step in steps:
        if isinstance(step, str) and (struct := _struct(kind)):
            kind = typing.get_type_hints(struct).get(step)
    return kind


def _struct(kind: Any) -> type[msgspec.Struct] | None:
    """The struct that `kind` is or holds, as in `tuple[Source, ...]` or `Source | None`."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next(filter(None, map(_struct, typing.get_args(kind))), None)


def _at(value: Any, steps: tuple[str | int, ...]) -> str:
    """The value at that place as JSON, cut short."""
    for step in steps:
        if step == "*":
            break
        value = value[step]
    text = encode(value).decode()
    return text if len(text) <= 80 else f"{text[:80]}..."
