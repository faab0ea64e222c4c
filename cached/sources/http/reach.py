"""Whether a redirect stays as far out as the source itself: the daemon stands on the node's network, and a server
must not borrow its place there (server-side request forgery).

It guards where redirects lead, not what a configured source is: a rule for an inner address is the operator's word.
"""

from __future__ import annotations

import asyncio
import enum
import ipaddress
import socket
from collections.abc import Sequence

from cached.errors import NotAuthorized, Retryable
from cached.sources.http.url import Url


class Reach(enum.IntEnum):
    """Who can speak to an address, from everybody to this machine alone."""

    PUBLIC = 0
    PRIVATE = 1
    LINK = 2
    """Link-local: where clouds keep their metadata service, and with it the node's credentials."""
    MACHINE = 3


async def refuse_inward(first: Url, led_to: Url) -> None:
    """Raises NotAuthorized when `led_to` is further in than `first`, Retryable when a name cannot be resolved. No
    request is made.
    """
    if led_to.host == first.host:
        return
    start, end = await reach_of_url(first), await reach_of_url(led_to)
    if end > start:
        raise NotAuthorized(
            f"{first.place} redirects to {led_to.host}, an address further inside the network than its own",
            hint="name that URL itself, under a rule of its own, if that is wanted",
        )


async def reach_of_url(url: Url) -> Reach:
    """How far in its host is. Raises Retryable when the name cannot be resolved."""
    try:
        # Not through cached.blocking: a renewal holds one of its threads while it waits for this.
        found = await asyncio.get_running_loop().getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Retryable(f"cannot find the address of {url.host}: {error}", hint="check name resolution") from error
    return furthest_in([str(address[0]) for *_, address in found])


def furthest_in(addresses: Sequence[str]) -> Reach:
    """Of all the addresses of a name the one furthest in: any of them may be connected to. Pure."""
    return max((_reach_of(address) for address in addresses), default=Reach.PUBLIC)


def _reach_of(text: str) -> Reach:
    address = ipaddress.ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    address = mapped or address
    if address.is_loopback or address.is_unspecified:
        return Reach.MACHINE
    if address.is_link_local:
        return Reach.LINK
    return Reach.PUBLIC if address.is_global else Reach.PRIVATE
