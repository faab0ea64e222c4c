"""Busy, refusing and silent servers.

Stalls: kserve#5611, xet-core#409. SlowDown: s3cmd PR#1232. No limit on a whole download: aiohttp#2249.
Expired tokens: aws-cli#4562. Regions: aws-cli#851. Archives: aws-cli#2385.
"""

from __future__ import annotations

import time

import pytest

from cached.clock import SystemClock
from cached.config import Timeouts
from cached.errors import Code
from cached.types import State
from tests.helpers.hostile import Hostile, Op, Synthetic, faults
from tests.helpers.rig import PART, TIMEOUTS, Rig
from tests.replay.conftest import Start

SIZE = 8 * PART
DATA = Synthetic(SIZE, "bkt/big").read(0, SIZE)


@pytest.mark.parametrize("fault", [faults.Stall(after=5000), faults.Mute(), faults.Trickle(rate=1000)], ids=repr)
async def test_a_silent_connection_is_dropped_and_the_rest_fetched_on_another(rig: Rig, fault: faults.Fault) -> None:
    """kserve#5611, xet-core#409: the download hung until the pod was deleted."""
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", fault, skip=2)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}


async def test_a_server_that_always_stalls_fails_the_model_with_its_reason(rig: Rig) -> None:
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.Stall(after=0), times=None)
    view = await rig.prefetch("s3://bkt/big")
    assert (view.state, view.reason) == (State.FAILED, Code.STALLED)


class Fast(SystemClock):
    """Two hundred seconds pass in one."""

    def monotonic(self) -> float:
        return time.monotonic() * 200


async def test_a_download_may_take_longer_than_any_timeout(start: Start) -> None:
    """aiohttp#2249: a total timeout of 5 minutes ended every large download. Here it takes longer."""
    with Hostile(rate=300 << 10) as server:
        rig = await start(server=server, clock=Fast(), timeouts=Timeouts(stall_window=TIMEOUTS.stall_window))
        server.put("bkt/big", SIZE)
        began = Fast().monotonic()
        assert await rig.ready("s3://bkt/big") == {"big": DATA}
        assert Fast().monotonic() - began > 300


@pytest.mark.parametrize(
    "fault",
    [
        faults.slow_down(),
        faults.slow_down(retry_after=0),
        faults.too_many(seconds=1),
        faults.Refuse(500, "InternalError"),
    ],
    ids=lambda fault: f"{fault.status}{dict(fault.headers)}",
)
async def test_a_busy_server_is_asked_again_until_it_answers(rig: Rig, fault: faults.Refuse) -> None:
    """s3cmd PR#1232."""
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", fault, times=5, skip=2)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}
    assert len(rig.server.asked("bkt/big")) == 8 + 5


async def test_a_server_that_stays_busy_fails_the_model_and_keeps_what_arrived(rig: Rig) -> None:
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.slow_down(), times=None, skip=4)
    view = await rig.prefetch("s3://bkt/big")
    assert (view.state, view.reason) == (State.FAILED, Code.SOURCE_UNAVAILABLE)
    before = rig.server.payload
    assert before == 4 * PART


async def test_an_expired_token_is_renewed_once_and_the_part_retried(rig: Rig) -> None:
    """aws-cli#4562: a 400 after an hour ended the download."""
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.expired_token(), skip=3)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}


async def test_a_token_that_expires_under_every_connection_at_once_is_renewed(rig: Rig) -> None:
    """aws-cli#4562: whatever was in flight is refused together; that is one expiry, not a second refusal."""
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.expired_token(), skip=1, times=3)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}


async def test_a_burst_of_refusals_is_not_as_many_tries(rig: Rig) -> None:
    """s3cmd PR#1232: every connection hears SlowDown at once; one part's tries are not used up by its neighbours'."""
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.slow_down(), times=4 * (rig.config.transfer.attempts - 2), skip=1)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}


async def test_a_token_that_stays_expired_is_an_authorisation_failure(rig: Rig) -> None:
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.expired_token(), times=None, skip=3)
    assert (await rig.refused("s3://bkt/big")).reason is Code.NOT_AUTHORIZED


@pytest.mark.parametrize("op", [Op.GET, Op.HEAD, Op.LIST])
async def test_refused_credentials_say_so(rig: Rig, op: Op) -> None:
    rig.server.put("bkt/m/big", SIZE)
    for path in ("bkt*", "bkt/"):
        rig.server.misbehave(path, faults.access_denied(), times=None, op=op)
    assert (await rig.refused("s3://bkt/m")).reason is Code.NOT_AUTHORIZED


async def test_the_region_is_corrected_once(rig: Rig) -> None:
    """aws-cli#851: a 301 without a Location."""
    rig.server.put("bkt/m/big", SIZE)
    for op in (Op.GET, Op.HEAD, Op.LIST, Op.BUCKET):
        rig.server.misbehave("bkt*", faults.RequireRegion("eu-west-3"), times=None, op=op)
    found = await rig.ready("s3://bkt/m")
    assert found == {"big": Synthetic(SIZE, "bkt/m/big").read(0, SIZE)}
    assert [request.status for request in rig.server.requests].count(301) <= 2


async def test_an_archived_object_is_refused_before_a_byte_by_its_key(rig: Rig) -> None:
    """aws-cli#2385."""
    rig.server.put("bkt/m/warm", b"x")
    rig.server.put("bkt/m/cold.bin", b"ice", storage_class="GLACIER")
    view = await rig.refused("s3://bkt/m")
    assert view.reason is Code.UNSUPPORTED
    assert "cold.bin" in view.message
    assert rig.server.payload == 0


async def test_an_object_being_restored_is_refused_and_a_restored_one_fetched(rig: Rig) -> None:
    rig.server.put("bkt/m/cold", b"ice", storage_class="GLACIER", restore='ongoing-request="true"')
    assert (await rig.refused("s3://bkt/m")).reason is Code.UNSUPPORTED
    rig.server.put("bkt/n/cold", b"water", storage_class="GLACIER", restore='ongoing-request="false"')
    assert await rig.ready("s3://bkt/n") == {"cold": b"water"}


@pytest.mark.parametrize("op", [Op.HEAD, Op.LIST])
async def test_a_wrong_clock_is_named(rig: Rig, op: Op) -> None:
    rig.server.put("bkt/m/big", SIZE)
    for path in ("bkt*", "bkt/"):
        rig.server.misbehave(path, faults.Refuse(403, "RequestTimeTooSkewed"), times=None, op=op)
    view = await rig.refused("s3://bkt/m")
    assert view.state is State.FAILED
