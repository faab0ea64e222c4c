from __future__ import annotations

import msgspec
import pytest

from cached import codec
from cached.cli.settings_text import as_yaml, documented_defaults
from cached.config import Config, Source, Timeouts, Transfer, parse_config


def test_the_documented_defaults_are_the_defaults() -> None:
    assert parse_config(documented_defaults(), where="test") == Config()


@pytest.mark.parametrize("kind", [Config, Timeouts, Transfer, Source])
def test_every_key_is_there_with_a_comment(kind: type[msgspec.Struct]) -> None:
    lines = [line.strip() for line in documented_defaults().splitlines()]
    for field in msgspec.structs.fields(kind):
        place = next(n for n, line in enumerate(lines) if line.startswith((f"{field.name}:", f"# `{field.name}`:")))
        assert lines[place].startswith("#") or lines[place - 1].startswith("#"), field.name


def test_settings_survive_the_way_through_yaml() -> None:
    config = Config(root="/x: y", sources=(Source(prefix="s3://b/", region="eu"),), port=0)
    assert parse_config(as_yaml(codec.to_builtins(config)), where="test") == config
