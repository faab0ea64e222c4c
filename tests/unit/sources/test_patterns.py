from __future__ import annotations

import pytest

from cached.errors import NotFound, Permanent
from cached.layout import check_tree_paths
from cached.sources.patterns import select
from tests.unit.sources.making import entry

PATHS = ["README.md", "config.json", "onnx/config.json", "w-1.safetensors", "w-2.safetensors"]


def chosen(paths: list[str] = PATHS, *, allow: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> list[str]:
    return [each.path for each in select([entry(path) for path in paths], allow=allow, ignore=ignore)]


def test_without_patterns_everything_is_wanted() -> None:
    assert chosen() == PATHS


def test_any_of_several_allow_patterns_is_enough() -> None:
    assert chosen(allow=("*.md", "w-1.*")) == ["README.md", "w-1.safetensors"]


def test_any_of_several_ignore_patterns_is_enough() -> None:
    assert chosen(ignore=("*.md", "*.safetensors")) == ["config.json", "onnx/config.json"]


def test_ignore_wins_over_allow() -> None:
    assert chosen(allow=("*.safetensors",), ignore=("w-1*",)) == ["w-2.safetensors"]


def test_a_star_matches_slashes_too() -> None:
    assert chosen(allow=("*.json",)) == ["config.json", "onnx/config.json"]


def test_a_pattern_matches_the_whole_path() -> None:
    assert chosen(allow=("onnx/*",)) == ["onnx/config.json"]
    with pytest.raises(NotFound):
        chosen(allow=("onnx",))


def test_patterns_tell_capitals_from_small_letters() -> None:
    assert chosen(ignore=("readme.md",)) == PATHS


@pytest.mark.parametrize(("pattern", "path"), [("w-[12].*", "w-2.safetensors"), ("config.jso?", "config.json")])
def test_sets_and_single_characters_match(pattern: str, path: str) -> None:
    assert path in chosen(allow=(pattern,))


def test_patterns_that_leave_nothing_are_an_error_that_repeats_them() -> None:
    with pytest.raises(NotFound) as caught:
        chosen(allow=("*.bin", "*.pt"), ignore=("x",))
    assert caught.value.message == "the patterns leave none of the 5 files (allow: *.bin, *.pt; ignore: x)"
    assert "'README.md'" in caught.value.hint


def test_nothing_of_nothing_is_nothing() -> None:
    assert chosen([], allow=("*.bin",)) == []


@pytest.mark.parametrize(
    ("paths", "left_out"),
    [
        (["foo", "foo/bar"], "foo"),
        (["config.json", "/config.json"], "/*"),
        (["a", "../b"], "../*"),
        (["a", ".."], ".."),
    ],
)
def test_what_clashes_or_escapes_refuses_the_selection_and_can_be_left_out(paths: list[str], left_out: str) -> None:
    """The order that the engine keeps: select, then check. So the hint of the refusal works."""
    with pytest.raises(Permanent):
        check_tree_paths(chosen(paths))
    check_tree_paths(chosen(paths, ignore=(left_out,)))


def test_an_escape_that_no_pattern_leaves_out_refuses_the_whole_model() -> None:
    with pytest.raises(Permanent, match=r"'\.\./b' cannot be stored"):
        check_tree_paths(chosen(["a", "../b", "c"], ignore=("c",)))
