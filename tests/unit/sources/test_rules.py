"""A source rule that could not be obeyed stops the start, with the key's name and what is allowed."""

from __future__ import annotations

import pytest

from cached import codec
from cached.config import parse_config
from cached.errors import Permanent


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"prefix": "models"}, "prefix is 'models'"),
        ({"prefix": "gs://models/"}, "prefix is 'gs://models/'"),
        ({"prefix": "file://srv/models/"}, "file:/// and a folder"),
        ({"prefix": "https://h/", "endpoint": "https://other"}, "endpoint and region are for s3:// alone"),
        ({"prefix": "file:///srv/", "region": "eu-central-1"}, "endpoint and region are for s3:// alone"),
        ({"prefix": "file:///srv/", "ca_file": "/etc/ca.pem"}, "ca_file is for s3:// and https:// alone"),
        ({"prefix": "s3://b/", "endpoint": "s3.example.internal:9000"}, "endpoint is 's3.example.internal:9000'"),
        ({"prefix": "s3://b/", "endpoint": "https://key:secret@h"}, "endpoint holds a user or password"),
        ({"prefix": "s3://b/", "endpoint": "https://h/?x=1"}, "it must be http://host or https://host"),
    ],
)
def test_a_rule_that_cannot_be_obeyed_is_refused_with_its_place(rule: dict[str, str], says: str) -> None:
    with pytest.raises(Permanent) as caught:
        parse_config(codec.encode({"sources": [rule]}), where="test")
    assert says in caught.value.message
    assert "`sources[0]`" in caught.value.message
    assert "secret" not in caught.value.message


def test_a_prefix_has_one_rule() -> None:
    twice = codec.encode({"sources": [{"prefix": "s3://b/", "region": "a"}, {"prefix": "s3://b/", "region": "b"}]})
    with pytest.raises(Permanent, match="lists the prefix 's3://b/' twice"):
        parse_config(twice, where="test")


@pytest.mark.parametrize(
    "rule",
    [
        {"prefix": "s3://b/", "endpoint": "http://10.0.0.5:9000", "region": "eu", "ca_file": "/etc/ca.pem"},
        {"prefix": "s3://", "endpoint": "https://[::1]:8443/store"},
        {"prefix": "https://h/", "ca_file": "/etc/ca.pem"},
        {"prefix": "file:///srv/"},
    ],
)
def test_a_rule_with_what_its_scheme_knows_is_taken(rule: dict[str, str]) -> None:
    (source,) = parse_config(codec.encode({"sources": [rule]}), where="test").sources
    assert {key: value for key, value in codec.to_builtins(source).items() if value is not None} == rule
