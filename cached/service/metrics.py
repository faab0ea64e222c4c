"""Prometheus metrics, read from the engine when they are asked for. docs/operations.md has the table for people.

The engine counts in plain integers and knows nothing of Prometheus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

import cached
from cached.api.types import Status
from cached.service.cache import Counters, Front
from cached.types import State


def registry_of(front: Front) -> CollectorRegistry:
    """The cache's metrics and those of its process."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(CacheCollector(front))
    ProcessCollector(registry=registry)
    return registry


class CacheCollector(Collector):
    """Before recovery is done there is nothing to say but that."""

    def __init__(self, front: Front) -> None:
        self._front = front

    def collect(self) -> Iterator[Metric]:
        """See `Collector.collect`."""
        yield GaugeMetricFamily(
            "cached_ready", "1 once recovery is done and requests are served", value=int(self._front.ready)
        )
        version = GaugeMetricFamily("cached_build_info", "1, with the version as a label", labels=["version"])
        version.add_metric([cached.__version__], 1)
        yield version
        if self._front.ready:
            yield from _gauges(self._front.status())
            yield from _counters(self._front.cache.counters)


def _gauges(status: Status) -> Iterator[Metric]:
    models = GaugeMetricFamily("cached_models", "Models by state", labels=["state"])
    for state in State:
        models.add_metric([state], status.models.get(state, 0))
    yield models
    for name, text, value in (
        ("cached_disk_total_bytes", "Size of the file system that holds the root", status.disk_total),
        ("cached_disk_free_bytes", "Free for the daemon on that file system", status.disk_free),
        ("cached_blobs", "Blobs: distinct file contents stored", status.blobs),
        ("cached_blob_bytes", "Content stored, each blob once", status.bytes_blobs),
        ("cached_partial_bytes", "Preallocated for downloads that are not done", status.bytes_partial),
        ("cached_workers", "Worker processes", status.workers),
    ):
        yield GaugeMetricFamily(name, text, value=value)


def _counters(counters: Counters) -> Iterator[Metric]:
    for name, text, value in (
        ("cached_fetched_bytes", "Payload that came over the network", counters.fetched_bytes),
        ("cached_reused_bytes", "Payload that was linked instead of fetched", counters.reused_bytes),
        ("cached_downloads_started", "Downloads begun", counters.downloads_started),
        ("cached_parts", "Parts fetched and checked", counters.parts_done),
        ("cached_worker_restarts", "Workers that ended and were replaced", counters.worker_restarts),
    ):
        yield CounterMetricFamily(name, text, value=value)
    yield _labelled(
        "cached_downloads_finished", "Downloads ended, by Ready or the reason", "outcome", counters.downloads_finished
    )
    yield _labelled("cached_retries", "Parts tried again, by fault", "fault", counters.retries)


def _labelled(name: str, text: str, label: str, values: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family
