"""The settings as YAML that parses back. Comments are the docstrings of `cached.config`, read from its source, so
that they cannot differ.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from cached import codec, config
from cached.config import Bytes, Config, Seconds, Source

WIDTH = 110
INDENT = "  "


def as_yaml(value: Any) -> str:
    """Plain data as YAML, keys in their order."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=WIDTH)


def documented_defaults() -> str:
    """Every key with its default and what it means."""
    return "\n".join(_struct(Config(), 0)) + "\n"


def _struct(value: msgspec.Struct, depth: int) -> Iterator[str]:
    docs = _docs(type(value).__name__)
    for field in msgspec.structs.fields(type(value)):
        inner = getattr(value, field.name)
        yield from _comment(docs[field.name] if field.name in docs else inspect.getdoc(type(inner)) or "", depth)
        if field.name == "sources":
            yield from _source()
        if isinstance(inner, msgspec.Struct):
            yield f"{INDENT * depth}{field.name}:"
            yield from _struct(inner, depth + 1)
        else:
            yield f"{INDENT * depth}{field.name}: {_scalar(inner)}"


def _source() -> Iterator[str]:
    """The list is empty by default, so the keys of its items stand in comments."""
    docs = _docs(Source.__name__)
    yield "# Each rule has these keys; only `prefix` must be there."
    for field in msgspec.structs.fields(Source):
        yield from _comment(f"`{field.name}`: {docs[field.name]}", 0)


def _comment(text: str, depth: int) -> Iterator[str]:
    for line in textwrap.wrap(" ".join(text.split()), WIDTH):
        yield f"{INDENT * depth}# {line}"


def _docs(name: str) -> dict[str, str]:
    """The text under each field of the struct `name` in cached/config.py."""
    tree = ast.parse(inspect.getsource(config))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return {
        field.target.id: text.value.value
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _scalar(value: object) -> str:
    if isinstance(value, Bytes):
        return _with_unit(int(value), (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)))
    if isinstance(value, Seconds):
        return f"{float(value):g}s"
    return codec.encode(value).decode()  # JSON is YAML


def _with_unit(count: int, units: tuple[tuple[str, int], ...]) -> str:
    return next((f"{count // size}{unit}" for unit, size in units if count and count % size == 0), str(count))
