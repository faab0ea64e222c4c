"""What `codec.explain` makes of input that does not fit."""

from __future__ import annotations

import msgspec
import pytest

from cached import codec
from cached.api.types import LeaseAsk, Want
from cached.config import Config


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("timeouts: {conect: 3}", "unknown field `conect` in `timeouts`; allowed: connect, first_byte"),
        ("sources: [{prefix: a, x: 1}]", "unknown field `x` in `sources[0]`; allowed: prefix, endpoint, region"),
        ("sources: [{prefix: 's3://'}, {prefix: 3}]", "`sources[1].prefix` is 3: expected `str`, got `int`"),
        ("sources: [{prefix: a}]", "`sources[0]`: prefix is 'a'; it must begin with s3://"),
        ("port: ten", '`port` is "ten": expected `int`, got `str`'),
        ("timeouts: 3", "`timeouts` is 3: expected `object`, got `int`"),
        ("timeouts: {connect: 3x}", "`timeouts.connect`: '3x' is not a time span"),
        ("root: [" + "1, " * 100 + "1]", "...: expected `str`, got `array`"),
        ("- a", "Expected `object`, got `array`"),
    ],
)
def test_settings_are_told_where_what_and_what_is_allowed(text: str, words: str) -> None:
    with pytest.raises(msgspec.MsgspecError) as caught:
        codec.decode_yaml(text, Config)
    assert words in codec.explain(caught.value, Config, text, msgspec.yaml.decode)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name": "m"}', "Object missing required field `uri`"),
        ('{"uri": "s3://b", "allow": ["a", 1]}', "`allow[1]` is 1: expected `str`, got `int`"),
        (
            '{"uri": "s3://b", "sha256": {"w": "zz"}}',
            "`sha256.*`: expected 64 lower-case hexadecimal characters, got 'zz'",
        ),
        ('{"uri": "s3://b", "nmae": 1}', "unknown field `nmae`; allowed: uri, name, allow, ignore, sha256"),
        ("{", "Input data was truncated"),
    ],
)
def test_requests_are_told_the_same_way(text: str, words: str) -> None:
    with pytest.raises(msgspec.MsgspecError) as caught:
        codec.decode(text, Want)
    assert words in codec.explain(caught.value, Want, text, msgspec.json.decode)


def test_a_choice_is_told_with_what_may_be_chosen() -> None:
    text = '{"holder": "csi", "kind": "disk", "name": "m"}'
    with pytest.raises(msgspec.MsgspecError) as caught:
        codec.decode(text, LeaseAsk)
    said = codec.explain(caught.value, LeaseAsk, text, msgspec.json.decode)
    assert said == "`kind`: Invalid enum value 'disk'; allowed: volume, pod, shell"
