from __future__ import annotations

import pytest

from cached.engine.plan import Known, check_expected, make_plan
from cached.errors import NotFound
from cached.sources.base import Entry, Listing, Pin
from cached.types import Digest, Level, Uri

A = Digest("a" * 64)


def entry(path: str, size: int, *, etag: str | None = None, sha256: Digest | None = None) -> Entry:
    return Entry(
        path=path,
        size=size,
        pin=Pin(validator=path),
        locator=path,
        alias=("etag", etag) if etag else None,
        sha256=sha256,
    )


def listing(*entries: Entry) -> Listing:
    return Listing(uri=Uri("s3://b/m"), entries=entries, revision="r", source_id="s", rule="r")


def test_what_is_known_is_linked_and_the_rest_fetched_largest_first() -> None:
    known = Known(A, Level.ALIAS)
    plan = make_plan(listing(entry("a", 1), entry("b", 5), entry("c", 9)), {"b": known})
    assert ([each.path for each in plan.fetch], plan.reuse) == (["c", "a"], ((entry("b", 5), known),))


@pytest.mark.parametrize("same", [{"etag": "e"}, {"sha256": A}])
def test_two_files_of_one_upstream_identity_are_fetched_once(same: dict[str, str]) -> None:
    first, second = entry("a", 4, **same), entry("b", 4, **same)  # type: ignore[arg-type]
    plan = make_plan(listing(first, second), {})
    assert (plan.fetch, plan.twins) == ((first,), {"a": (second,)})


def test_the_same_identity_with_another_size_is_another_file() -> None:
    plan = make_plan(listing(entry("a", 4, etag="e"), entry("b", 5, etag="e")), {})
    assert [each.path for each in plan.fetch] == ["b", "a"]


def test_a_sha256_for_a_path_that_is_not_there_is_refused() -> None:
    with pytest.raises(NotFound, match="'x'"):
        check_expected(listing(entry("a", 1)), {"x": A})
