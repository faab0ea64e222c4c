from __future__ import annotations

import pytest

from cached.config import Config, Source
from cached.errors import NotAuthorized, Unsupported
from cached.sources.registry import Sources, matching
from cached.types import Uri


def rule_of(uri: str, *prefixes: str) -> str:
    """The rule that serves `uri` when these are listed."""
    return Sources(Config(sources=tuple(Source(prefix=prefix) for prefix in prefixes))).for_uri(Uri(uri))[1]


def test_the_longest_prefix_wins_whatever_the_order() -> None:
    rules = ["s3://models/", "s3://models/team-a/llama/", "s3://models/team-a/"]
    assert rule_of("s3://models/team-a/llama/v1", *rules) == "s3://models/team-a/llama/"
    assert rule_of("s3://models/team-a/llama/v1", *reversed(rules)) == "s3://models/team-a/llama/"


@pytest.mark.parametrize(
    ("prefix", "uri", "covered"),
    [
        ("s3://models", "s3://models", True),
        ("s3://models", "s3://models/m", True),
        ("s3://models", "s3://models-private/m", False),
        ("s3://models/team", "s3://models/team-b/m", False),
        ("s3://models/team/", "s3://models/team/m", True),
        ("s3://models/team/", "s3://models/team", False),
        ("s3://", "s3://any/thing", True),
        ("https://h", "https://h.evil.example/m", False),
        ("https://h", "https://h:8443/m", False),
        ("https://h/", "http://h/m", False),
        ("s3://Models/", "s3://models/m", False),
    ],
)
def test_a_prefix_ends_at_a_slash(prefix: str, uri: str, covered: bool) -> None:  # noqa: FBT001
    assert (matching([Source(prefix=prefix)], Uri(uri)) is not None) is covered


@pytest.mark.parametrize(("uri", "rule"), [("s3://bucket/m", "s3://"), ("https://host/file", "https://")])
def test_with_nothing_listed_the_ambient_sources_serve(uri: str, rule: str) -> None:
    assert rule_of(uri) == rule


@pytest.mark.parametrize("uri", ["http://host/file", "file:///srv/m"])
def test_plain_http_and_files_need_a_rule_of_their_own(uri: str) -> None:
    with pytest.raises(NotAuthorized) as caught:
        rule_of(uri)
    assert "`sources`" in caught.value.hint


def test_with_anything_listed_the_rest_is_refused_and_the_list_shown() -> None:
    with pytest.raises(NotAuthorized) as caught:
        rule_of("s3://other/m", "s3://models/", "https://host/")
    assert caught.value.message == "no source covers s3://other/m"
    assert "s3://models/, https://host/" in caught.value.hint


@pytest.mark.parametrize(
    "uri", ["gs://b/m", "hf://o/m", "oci://r/m", "hdfs://h/m", "pvc://c/m", "abfs://c/m", "ftp://h/m"]
)
def test_an_unknown_scheme_says_which_are_served(uri: str) -> None:
    with pytest.raises(Unsupported) as caught:
        rule_of(uri, "s3://models/")
    assert caught.value.hint == "served are s3://, https://, http://, file://"


def test_a_refusal_shows_no_secret_of_a_url() -> None:
    with pytest.raises(NotAuthorized) as caught:
        rule_of("https://user:password@host/m?X-Signature=secret", "s3://")
    assert caught.value.message == "no source covers https://host/m"


async def test_one_rule_has_one_source_for_all_that_it_serves() -> None:
    sources = Sources(Config(sources=(Source(prefix="s3://a/"), Source(prefix="s3://b/"))))
    first, second, other = (sources.for_uri(Uri(uri))[0] for uri in ("s3://a/x", "s3://a/y", "s3://b/x"))
    assert (first is second, first is other) == (True, False)
    await sources.close()
