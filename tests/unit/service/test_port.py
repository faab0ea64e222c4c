"""What anybody who reaches the port can see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cached.errors import Code
from cached.types import State, Uri
from tests.helpers.memory_cache import Totals, ready, view

if TYPE_CHECKING:
    from tests.unit.service.conftest import Service


def samples(text: bytes) -> dict[str, float]:
    return {
        sample.name + "".join(f"[{value}]" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


async def test_readiness_follows_recovery_and_stopping(starting: Service) -> None:
    before = await starting.get("/readyz")
    starting.front.open(starting.cache)
    during = await starting.get("/readyz")
    starting.front.close()
    after = await starting.get("/readyz")
    assert [(reply.status, reply.body) for reply in (before, during, after)] == [
        (503, b"recovery is not done\n"),
        (200, b"ready\n"),
        (503, b"the daemon is stopping\n"),
    ]


async def test_health_is_good_as_long_as_the_loop_turns(starting: Service) -> None:
    assert (await starting.get("/healthz")).status == 200


async def test_metrics_before_recovery_say_that_it_is_not_ready(starting: Service) -> None:
    found = samples((await starting.get("/metrics")).body)
    assert found["cached_ready"] == 0
    assert not any(name.startswith("cached_models") for name in found)


async def test_metrics_hold_the_engine_s_numbers(service: Service) -> None:
    service.cache.counters = Totals(
        fetched_bytes=11, reused_bytes=12, downloads_finished={"Ready": 2, "NotFound": 1}, retries={"stalled": 3}
    )
    service.cache.put(ready())
    found = samples((await service.get("/metrics")).body)
    expected = {
        "cached_ready": 1,
        "cached_fetched_bytes_total": 11,
        "cached_reused_bytes_total": 12,
        "cached_downloads_finished_total[Ready]": 2,
        "cached_downloads_finished_total[NotFound]": 1,
        "cached_retries_total[stalled]": 3,
        "cached_models[Ready]": 1,
        "cached_models[Failed]": 0,
        "cached_disk_free_bytes": 400,
    }
    assert {name: found[name] for name in expected} == expected


async def test_metrics_name_the_process(service: Service) -> None:
    assert samples((await service.get("/metrics")).body)["process_resident_memory_bytes"] > 0


async def test_the_api_is_not_on_the_port(service: Service) -> None:
    reply = await service.get("/v1/models")
    assert (reply.status, reply.json["code"]) == (404, Code.NOT_FOUND)


async def test_the_page_shows_models_and_why_one_failed(service: Service) -> None:
    service.cache.put(view("m", state=State.FAILED, reason=Code.NOT_FOUND, message="nothing at s3://b/m"))
    body = (await service.get("/")).body.decode()
    assert "NotFound nothing at s3://b/m" in body


async def test_the_page_escapes_what_comes_from_outside(service: Service) -> None:
    service.cache.put(view("m", uri=Uri("s3://b/<script>alert(1)</script>"), message="<img src=x>"))
    body = (await service.get("/")).body.decode()
    assert "<script" not in body
    assert "<img" not in body


async def test_the_page_shows_no_signature_of_a_url(service: Service) -> None:
    service.cache.put(view("m", uri=Uri("https://h/x?X-Amz-Signature=abc"), message="GET https://h/x?sig=abc: 403"))
    assert "abc" not in (await service.get("/")).body.decode()


async def test_the_page_loads_nothing_and_runs_nothing(service: Service) -> None:
    policy = (await service.get("/")).headers["content-security-policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


@pytest.mark.parametrize("text", ['http-equiv="refresh"', "recovery is not done"])
async def test_the_page_of_a_daemon_that_recovers_says_so_and_reloads(starting: Service, text: str) -> None:
    assert text in (await starting.get("/")).body.decode()
