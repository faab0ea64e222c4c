from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cached.errors import Permanent
from cached.layout import TEMP, TRASH, Layout, check_relative_path, check_tree_paths, slug
from cached.types import Digest, ModelName, TreeId, Uri

HEX = "ab" * 32
LAYOUT = Layout(Path("/r"))

segments = st.text(st.characters(codec="utf-8", exclude_characters="/\\\0"), min_size=1, max_size=20).filter(
    lambda text: text not in {".", ".."}
)


def test_everything_lies_below_the_root() -> None:
    assert LAYOUT.blob(Digest(HEX)) == Path("/r/blobs/sha256/ab") / HEX
    assert LAYOUT.tree(TreeId(HEX)) == Path("/r/trees") / HEX
    assert LAYOUT.manifest(TreeId(HEX)) == Path(f"/r/manifests/{HEX}.json")
    assert LAYOUT.ref(ModelName("m")) == Path("/r/refs/m.json")
    assert LAYOUT.alias(HEX) == Path(f"/r/aliases/{HEX}.json")
    assert LAYOUT.model(ModelName("m")) == Path("/r/models/m")
    assert LAYOUT.model_at(ModelName("m"), TreeId(HEX)) == Path(f"/r/models/m@{HEX[:12]}")


def test_folders_come_after_their_parents() -> None:
    made = {LAYOUT.root}
    for folder in LAYOUT.folders:
        assert folder.parent in made
        made.add(folder)


@given(st.text(max_size=20))
def test_no_model_name_meets_a_temporary_or_trash(text: str) -> None:
    for prefix in (TEMP, TRASH):
        with pytest.raises(ValueError, match="is not a model name"):
            ModelName(prefix + text)


@pytest.mark.parametrize(
    "path",
    ["a", "a/b.bin", "...", "a..b", ".hidden", "a b", "a+b%20#?", "é", "e\u0301", "a\nb", "-", "C", "C:x", "~"],
)
def test_odd_but_harmless_names_are_kept(path: str) -> None:
    assert check_relative_path(path) == path


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "segment ''"),
        ("/etc/passwd", "segment ''"),
        ("a/", "segment ''"),
        ("a//b", "segment ''"),
        (".", "segment '.'"),
        ("a/./b", "segment '.'"),
        ("..", "segment '..'"),
        ("a/../../b", "segment '..'"),
        ("a\0b", "NUL"),
        ("a\\b", "backslash"),
        ("\\\\host\\share", "backslash"),
        ("C:", "drive letter"),
        ("C:/x", "drive letter"),
        ("\ud800", "UTF-8"),
        ("é" * 128, "255 bytes"),
        ("/".join(["d" * 200] * 21), "4095 bytes"),
    ],
)
def test_a_name_that_cannot_be_stored_is_refused_with_the_reason(path: str, why: str) -> None:
    with pytest.raises(Permanent, match=why) as caught:
        check_relative_path(path)
    assert "--ignore" in caught.value.hint


@pytest.mark.parametrize("path", ["é" * 127, "/".join(["d" * 255] * 15) + "/" + "d" * 255])
def test_the_longest_names_that_fit_are_kept(path: str) -> None:
    assert check_relative_path(path) == path


@given(st.text(max_size=60))
def test_a_path_that_passes_stays_below_its_tree(path: str) -> None:
    try:
        check_relative_path(path)
    except Permanent:
        return
    joined = Path("/r/trees/t") / path
    assert joined.is_relative_to("/r/trees/t")
    assert ".." not in joined.parts
    assert str(joined) == f"/r/trees/t/{path}"


@given(st.lists(segments, min_size=1, max_size=5))
def test_paths_of_plain_segments_pass(parts: list[str]) -> None:
    path = "/".join(parts)
    if len(path) > 1 and path[1] == ":":
        return  # may look like a drive letter
    assert check_relative_path(path) == path


def test_files_in_folders_are_a_tree() -> None:
    check_tree_paths(["a", "b/a", "b/c/d", "bc"])


@pytest.mark.parametrize("paths", [("a", "a"), ("x/a", "b", "x/a")])
def test_a_path_that_comes_twice_is_refused(paths: tuple[str, ...]) -> None:
    with pytest.raises(Permanent, match="two files have the path"):
        check_tree_paths(paths)


@pytest.mark.parametrize("paths", [("foo", "foo/bar"), ("foo/bar/baz", "foo"), ("a/b", "a/b/c/d")])
def test_a_file_that_is_also_a_folder_is_refused(paths: tuple[str, ...]) -> None:
    with pytest.raises(Permanent, match="is a file and also the folder"):
        check_tree_paths(paths)


@pytest.mark.parametrize(
    "paths", [("a", "A"), ("x/é", "x/e\u0301"), ("Foo", "foo/bar")], ids=["case", "form", "folder"]
)
def test_names_that_fold_together_clash_only_where_the_file_system_folds(paths: tuple[str, ...]) -> None:
    check_tree_paths(paths)
    with pytest.raises(Permanent):
        check_tree_paths(paths, folds=True)


@pytest.mark.parametrize(
    ("uri", "begins"),
    [
        ("s3://Bucket/Llama-3/v4/", "bucket-llama-3-v4-"),
        ("file:///", "model-"),
        ("https://h/" + "x" * 300, "h-" + "x" * 98 + "-"),
    ],
)
def test_a_slug_is_readable(uri: str, begins: str) -> None:
    name = slug(Uri(uri))
    assert name.startswith(begins)
    assert len(name) == len(begins) + 8


@given(st.text(min_size=1, max_size=200).filter(lambda text: "\0" not in text))
def test_every_uri_has_a_name(rest: str) -> None:
    assert ModelName(slug(Uri(f"s3://{rest}")))


def test_uris_that_look_alike_have_names_of_their_own() -> None:
    assert slug(Uri("s3://b/a_b")) != slug(Uri("s3://b/a-b"))


def test_the_query_of_a_url_is_in_no_name() -> None:
    one, other = (slug(Uri(f"https://h/m.bin?X-Signature={each}")) for each in ("deadbeef", "cafe"))
    assert (one.rpartition("-")[0], other.rpartition("-")[0], one != other) == ("h-m-bin", "h-m-bin", True)
