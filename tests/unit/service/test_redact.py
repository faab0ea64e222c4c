from __future__ import annotations

import pytest

from cached.service import redact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GET https://h/x?X-Amz-Signature=abc failed", "GET https://h/x?*** failed"),
        ("https://user:pass@h/x", "https://h/x"),
        ("s3://b/what?.txt", "s3://b/what?.txt"),
        ("'https://h/x?a=b', next", "'https://h/x?***', next"),
        ("https://h/x", "https://h/x"),
        ("Authorization: Bearer abc\nHost: h", "Authorization: ***\nHost: h"),
        ("(('Authorization', 'Bearer abc'), ('Host', 'h'))", "(('Authorization', '***'), ('Host', 'h'))"),
    ],
)
def test_text_keeps_its_sense_and_loses_its_secrets(text: str, expected: str) -> None:
    assert redact.text(text) == expected


@pytest.mark.parametrize("key", ["Authorization", "x-amz-security-token", "secret_key", "PASSWORD", "credentials"])
def test_what_stands_under_a_secret_s_name_is_hidden(key: str) -> None:
    assert redact.fields({"request": {key: "abc", "host": "h"}}) == {"request": {key: "***", "host": "h"}}


def test_strings_inside_lists_are_cleaned_and_numbers_kept() -> None:
    assert redact.fields(["https://h?q", 3, None, True]) == ["https://h?***", 3, None, True]
