from __future__ import annotations

import pytest

from cached.store.store import Store
from tests.unit.store.making import digest_of, sealed

DATA = b"one"
DIGEST = digest_of(DATA)
KNOWN = ("rule", "etag", '"abc-4"', 3)


def test_an_upstream_identity_recognises_bytes_that_are_here(store: Store) -> None:
    sealed(store, DATA)
    store.remember_alias(*KNOWN, DIGEST)
    assert store.find_alias(*KNOWN) == DIGEST


@pytest.mark.parametrize(
    "asked",
    [("other rule", "etag", '"abc-4"', 3), ("rule", "md5", '"abc-4"', 3), ("rule", "etag", "x", 3)],
    ids=["rule", "kind", "value"],
)
def test_another_identity_is_a_miss(store: Store, asked: tuple[str, str, str, int]) -> None:
    sealed(store, DATA)
    store.remember_alias(*KNOWN, DIGEST)
    assert store.find_alias(*asked) is None


def test_another_size_is_a_miss(store: Store) -> None:
    sealed(store, DATA)
    store.remember_alias("rule", "etag", '"abc-4"', 4, DIGEST)
    assert store.find_alias("rule", "etag", '"abc-4"', 4) is None


def test_an_alias_of_a_blob_that_is_gone_is_a_miss(store: Store) -> None:
    store.remember_alias(*KNOWN, DIGEST)
    assert store.find_alias(*KNOWN) is None


@pytest.mark.parametrize("text", [b"", b"\xff", b"{}", b'{"rule":1}'])
def test_a_torn_alias_is_a_miss_and_can_be_remembered_again(store: Store, text: bytes) -> None:
    sealed(store, DATA)
    store.remember_alias(*KNOWN, DIGEST)
    (path,) = store.layout.aliases.iterdir()
    path.write_bytes(text)
    assert store.find_alias(*KNOWN) is None
    store.remember_alias(*KNOWN, DIGEST)
    assert store.find_alias(*KNOWN) == DIGEST


def test_an_alias_under_anothers_name_is_a_miss(store: Store) -> None:
    sealed(store, DATA)
    store.remember_alias(*KNOWN, DIGEST)
    (path,) = store.layout.aliases.iterdir()
    store.remember_alias("b's rule", *KNOWN[1:], digest_of(b"b's own"))
    (other,) = set(store.layout.aliases.iterdir()) - {path}
    other.write_bytes(path.read_bytes())
    assert store.find_alias("b's rule", *KNOWN[1:]) is None
