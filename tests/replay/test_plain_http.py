"""Plain web servers promise little, and are taken at no more than their word.

Ranges that are advertised and not served: gopeed#1458, rustup#4710. Short answers: requests#4956, urllib3#311.
"""

from __future__ import annotations

import pytest

from cached.errors import Code
from cached.types import State
from tests.helpers.hostile import Op, Synthetic, faults
from tests.helpers.rig import PART, Rig

SIZE = 8 * PART
DATA = Synthetic(SIZE, "files/big").read(0, SIZE)


def url(rig: Rig) -> str:
    return f"{rig.server.url}/files/big"


def ranges(rig: Rig) -> list[str | None]:
    return [request.range for request in rig.server.asked("files/big")]


async def test_a_strong_etag_allows_parts(rig: Rig) -> None:
    rig.server.put_file("files/big", SIZE)
    assert await rig.ready(url(rig)) == {"big": DATA}
    assert len(ranges(rig)) == 8


@pytest.mark.parametrize("etag", ['W/"weak"', None])
async def test_without_a_strong_etag_it_is_one_stream(rig: Rig, etag: str | None) -> None:
    rig.server.put_file("files/big", SIZE, etag=etag)
    assert await rig.ready(url(rig)) == {"big": DATA}
    assert ranges(rig) == [None]


@pytest.mark.parametrize("etag", ['W/"weak"', None])
async def test_without_a_strong_etag_a_cut_begins_anew(rig: Rig, etag: str | None) -> None:
    rig.server.put_file("files/big", SIZE, etag=etag)
    rig.server.misbehave("files/big", faults.Cut(after=3 * PART), times=2)
    assert await rig.ready(url(rig)) == {"big": DATA}
    assert ranges(rig) == [None, None, None]


async def test_advertised_ranges_that_are_not_served_are_one_stream(rig: Rig) -> None:
    """gopeed#1458, rustup#4710."""
    rig.server.put_file("files/big", SIZE)
    rig.server.misbehave("files/big", faults.IgnoreRange(), times=None)
    assert await rig.ready(url(rig)) == {"big": DATA}
    assert ranges(rig).count(None) == 1


async def test_a_file_without_a_length_is_refused(rig: Rig) -> None:
    rig.server.put_file("files/big", SIZE)
    for op in (Op.HEAD, Op.GET):
        rig.server.misbehave("files/big", faults.NoLength(), times=None, op=op)
    assert (await rig.refused(url(rig))).reason is Code.UNSUPPORTED


@pytest.mark.parametrize("status", [403, 405, 501])
async def test_a_server_that_refuses_head_is_asked_otherwise(rig: Rig, status: int) -> None:
    rig.server.put_file("files/big", SIZE)
    rig.server.misbehave("files/big", faults.Refuse(status, "NoHead"), times=None, op=Op.HEAD)
    assert await rig.ready(url(rig)) == {"big": DATA}


async def test_a_replaced_file_is_never_mixed(rig: Rig) -> None:
    rig.server.put_file("files/big", SIZE)
    new = Synthetic(SIZE, "new")
    rig.server.when("files/big", lambda: rig.server.put_file("files/big", new, etag='"second"'), skip=3)
    assert await rig.ready(url(rig)) == {"big": new.read(0, SIZE)}


async def test_redirects_that_never_end_are_an_error(rig: Rig) -> None:
    rig.server.put_file("files/big", SIZE)
    for op in (Op.HEAD, Op.GET):
        rig.server.misbehave("files/big", faults.Redirect("/files/big"), times=None, op=op)
    view = await rig.prefetch(url(rig))
    assert (view.state, len(rig.server.requests) <= 12) == (State.FAILED, True)


async def test_a_relative_redirect_is_followed_and_the_first_name_kept(rig: Rig) -> None:
    rig.server.put_file("files/big", SIZE)
    rig.server.put_file("files/latest", 0)
    for op in (Op.HEAD, Op.GET):
        rig.server.misbehave("files/latest", faults.Redirect("big"), times=None, op=op)
    assert await rig.ready(f"{rig.server.url}/files/latest") == {"latest": DATA}
