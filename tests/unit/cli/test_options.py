from __future__ import annotations

import pytest
import typer

from cached.cli.options import digests_of, seconds_of, uri_of

A, B = "a" * 64, "b" * 64


def test_the_path_of_a_digest_may_hold_an_equals_sign() -> None:
    assert digests_of([f"w=1/x={A}", f"y={B}"]) == {"w=1/x": A, "y": B}


def test_digests_in_capitals_are_the_same_digests() -> None:
    assert digests_of([f"w={A.upper()}"]) == {"w": A}


@pytest.mark.parametrize("pairs", [["w"], [f"={A}"], ["w=zz"], [f"w={A}", f"w={B}"]])
def test_a_digest_that_makes_no_sense_is_a_usage_error(pairs: list[str]) -> None:
    with pytest.raises(typer.BadParameter):
        digests_of(pairs)


@pytest.mark.parametrize(("text", "expected"), [(None, None), ("90", 90), ("10m", 600), ("250ms", 0.25)])
def test_times_have_units(text: str | None, expected: float | None) -> None:
    assert seconds_of(text) == expected


@pytest.mark.parametrize("text", ["soon", "-1", "1 day"])
def test_a_time_that_is_none_is_a_usage_error(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a time span"):
        seconds_of(text)


def test_a_local_path_is_answered_with_the_uri_it_may_mean() -> None:
    with pytest.raises(typer.BadParameter, match="did you mean file:///srv/m"):
        uri_of("/srv/m")
