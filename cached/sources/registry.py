"""Which source serves a URI: the longest matching prefix of the configuration, or the ambient ones.

With any source listed, nothing outside the listed prefixes is fetched: the daemon stands on the node's network, and
its place there is not for whoever can name a URI.
"""

from __future__ import annotations

from collections.abc import Sequence

from cached import config
from cached.config import Config
from cached.errors import NotAuthorized, Unsupported
from cached.sources.base import Listing, Source
from cached.sources.file import FileSource
from cached.sources.http.source import HttpSource
from cached.sources.s3.source import S3Source
from cached.types import Uri

SERVED = ("s3", "https", "http", "file")
_AMBIENT = {"s3": "s3://", "https": "https://"}
"""Without any source listed: the rule's name by scheme. Plain http and file need a rule that says so."""


def matching(rules: Sequence[config.Source], uri: Uri) -> config.Source | None:
    """The rule with the longest prefix of `uri`, on a `/` boundary. Pure."""
    found = [rule for rule in rules if _covers(rule.prefix, uri)]
    return max(found, key=lambda rule: len(rule.prefix), default=None)


def _covers(prefix: str, uri: str) -> bool:
    return uri == prefix or uri.startswith(prefix if prefix.endswith("/") else f"{prefix}/")


class Sources:
    """The sources of a configuration, one a rule, made when first needed."""

    def __init__(self, settings: Config) -> None:
        self._settings = settings
        self._made: dict[str, Source] = {}

    def for_uri(self, uri: Uri) -> tuple[Source, str]:
        """The source that serves `uri`, and the name of its rule, which is its domain of trust.

        Raises Unsupported for a scheme that is not served, NotAuthorized for a URI that no rule covers.
        """
        if uri.scheme not in SERVED:
            raise Unsupported(
                f"{uri.scheme}:// is not served", hint=f"served are {', '.join(f'{each}://' for each in SERVED)}"
            )
        rule = matching(self._settings.sources, uri)
        name = rule.prefix if rule else None if self._settings.sources else _AMBIENT.get(uri.scheme)
        if name is None:
            raise NotAuthorized(f"no source covers {uri.shown}", hint=self._hint(uri))
        if name not in self._made:
            self._made[name] = self._make(uri.scheme, rule, name)
        return self._made[name], name

    def _hint(self, uri: Uri) -> str:
        if not self._settings.sources:
            return f"{uri.scheme}:// needs a rule of its own: list its prefix under `sources` in the configuration"
        listed = ", ".join(rule.prefix for rule in self._settings.sources)
        return f"the configuration lists under `sources`: {listed}; add a prefix that covers it"

    def _make(self, scheme: str, rule: config.Source | None, name: str) -> Source:
        if scheme == "s3":
            return S3Source(rule, name=name, timeouts=self._settings.timeouts, transfer=self._settings.transfer)
        if scheme == "file":
            return FileSource(name)
        return HttpSource(rule, name=name, timeouts=self._settings.timeouts)

    async def resolve(self, uri: Uri) -> tuple[Source, Listing]:
        """What `uri` is now, and the source to fetch it from. Raises what `for_uri` and `Source.resolve` raise."""
        source, _ = self.for_uri(uri)
        return source, await source.resolve(uri)

    async def close(self) -> None:
        """Close every source."""
        for source in self._made.values():
            await source.close()
