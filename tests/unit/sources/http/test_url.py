from __future__ import annotations

import pytest

from cached.errors import Code, Permanent
from cached.sources.http.url import file_name, joined, parse_url


@pytest.mark.parametrize(
    ("text", "target", "authority"),
    [
        ("https://h/a%20b?x=%2F&y=1+2", "/a%20b?x=%2F&y=1+2", "h"),
        ("https://h:443/f", "/f", "h"),
        ("http://h:8080/f", "/f", "h:8080"),
        ("https://[::1]:8443/f", "/f", "[::1]:8443"),
        ("https://h/f?", "/f?", "h"),
        ("https://h/f#part", "/f", "h"),
        ("https://h/a//b;c=1,d", "/a//b;c=1,d", "h"),
        ("https://h?q", "/?q", "h"),
    ],
)
def test_path_and_query_go_on_the_wire_untouched(text: str, target: str, authority: str) -> None:
    url = parse_url(text)
    assert (url.target, url.authority) == (target, authority)


@pytest.mark.parametrize(
    "text",
    [
        "https://h/a b",
        "https://h/é",
        "https://h/a\r\nHost: evil",
        "https:///f",
        "ftp://h/f",
        "https://h:port/f",
        "https://user:password@h/f",
        "https://h/a/../f",
        "https://h/a/%2e%2E/f",
        "https://h/a/..%2Ff",
        "https://h/a/..%5Cf",
        "https://h/a/..;x=1/f",
        "https://h/./f",
        "https://[::1/f",
    ],
)
def test_what_is_no_plain_url_is_refused(text: str) -> None:
    with pytest.raises(Permanent) as caught:
        parse_url(text)
    assert "password" not in caught.value.message
    assert caught.value.hint


def test_a_refusal_does_not_show_the_query() -> None:
    with pytest.raises(Permanent) as caught:
        parse_url("https://h/a b?X-Signature=secret")
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://h/models/m.tar.gz?X-Signature=a/b.bin", "m.tar.gz"),
        ("https://h/a%20b%2B%25", "a b+%"),
        ("https://h/caf%C3%A9", "café"),
    ],
)
def test_a_file_is_named_by_the_last_segment(url: str, name: str) -> None:
    """kserve#1462, #2938: a query, or the content type, gave files wrong names."""
    assert file_name(parse_url(url)) == name


@pytest.mark.parametrize(
    "url",
    [
        "https://h",
        "https://h/",
        "https://h/folder/",
        "https://h/a%2Fb",
        "https://h/a%5Cb",
        "https://h/a%00",
        "https://h/%FF",
    ],
)
def test_a_url_that_names_no_file_is_refused(url: str) -> None:
    with pytest.raises(Permanent):
        file_name(parse_url(url))


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("other", "https://h/dir/other"),
        ("/top?x=1", "https://h/top?x=1"),
        ("//cdn/f", "https://cdn/f"),
        ("http://cdn/f", "http://cdn/f"),
        ("?again", "https://h/dir/f?again"),
    ],
)
def test_a_redirect_may_be_relative(location: str, text: str) -> None:
    assert joined(parse_url("https://h/dir/f?q"), location).text == text


def test_a_redirect_to_what_is_no_url_is_the_servers_fault() -> None:
    with pytest.raises(Permanent, match="redirects to what is no URL") as caught:
        joined(parse_url("https://h/dir/f?X-Signature=secret"), "https://[::1")
    assert (caught.value.code, "secret" in caught.value.message) == (Code.SOURCE_UNAVAILABLE, False)
