"""How far inside the network an address is, as far as redirects care."""

from __future__ import annotations

import pytest

from cached.errors import NotAuthorized
from cached.sources.http.reach import Reach, furthest_in, refuse_inward
from cached.sources.http.url import parse_url


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        ("93.184.216.34", Reach.PUBLIC),
        ("2606:2800:220:1::1", Reach.PUBLIC),
        ("10.1.2.3", Reach.PRIVATE),
        ("100.64.0.1", Reach.PRIVATE),
        ("fd00:ec2::254", Reach.PRIVATE),
        ("169.254.169.254", Reach.LINK),
        ("fe80::1", Reach.LINK),
        ("127.0.0.1", Reach.MACHINE),
        ("::1", Reach.MACHINE),
        ("0.0.0.0", Reach.MACHINE),
        ("::ffff:169.254.169.254", Reach.LINK),
    ],
)
def test_an_address_has_the_reach_of_those_who_can_speak_to_it(address: str, reach: Reach) -> None:
    assert furthest_in([address]) is reach


def test_a_name_is_as_far_in_as_its_innermost_address() -> None:
    assert furthest_in(["93.184.216.34", "127.0.0.1", "10.0.0.1"]) is Reach.MACHINE


@pytest.mark.parametrize(
    ("first", "led_to"),
    [
        ("https://93.184.216.34/f", "https://10.0.0.1/f"),
        ("https://93.184.216.34/f", "https://169.254.169.254/latest/meta-data/iam"),
        ("https://10.0.0.1/f", "https://169.254.169.254/latest/meta-data/iam"),
        ("https://10.0.0.1/f", "https://localhost/f"),
        ("https://10.0.0.1/f", "https://[::ffff:127.0.0.1]/f"),
    ],
)
async def test_a_redirect_further_in_is_refused(first: str, led_to: str) -> None:
    with pytest.raises(NotAuthorized, match="further inside the network"):
        await refuse_inward(parse_url(first), parse_url(led_to))


@pytest.mark.parametrize(
    ("first", "led_to"),
    [
        ("https://93.184.216.34/f", "https://93.184.216.35/f"),
        ("https://10.0.0.1/f", "https://10.0.0.2/f"),
        ("https://10.0.0.1/f", "https://93.184.216.34/f"),
        ("http://127.0.0.1:1/f", "http://localhost:2/f"),
    ],
)
async def test_a_redirect_as_far_out_or_further_is_followed(first: str, led_to: str) -> None:
    assert await refuse_inward(parse_url(first), parse_url(led_to)) is None  # type: ignore[func-returns-value]
