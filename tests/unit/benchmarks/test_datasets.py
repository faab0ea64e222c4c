from __future__ import annotations

from pathlib import Path

from benchmarks.cases import Sizes, cases, space_needed
from benchmarks.datasets import GIB, MIB, build, next_version, same_bytes, shards


def test_no_two_files_of_a_set_share_bytes_or_an_etag(tmp_path: Path) -> None:
    dataset = shards("s", count=3, size=2 * MIB)
    folder = build(dataset, tmp_path)
    halves = {half for file in dataset.files for half in _halves((folder / file.name).read_bytes())}
    assert (len(halves), len({file.etag for file in dataset.files})) == (6, 3)


def _halves(content: bytes) -> tuple[bytes, bytes]:
    return content[:MIB], content[MIB:]


def test_equal_content_is_equal_bytes_and_an_equal_etag_across_versions(tmp_path: Path) -> None:
    old = shards("v1", count=2, size=MIB)
    new = next_version(old, name="v2", changed=1)
    left, right = build(old, tmp_path), build(new, tmp_path)
    same = [same_bytes(left / file.name, right / file.name) for file in old.files]
    etags = [a.etag == b.etag for a, b in zip(old.files, new.files, strict=True)]
    assert (same, etags) == ([False, True], [False, True])


def test_a_file_that_is_a_beginning_of_another_is_not_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * MIB)
    (tmp_path / "b").write_bytes(b"x" * MIB + b"y")
    assert not same_bytes(tmp_path / "a", tmp_path / "b")


def test_a_size_that_is_no_multiple_of_the_block_is_kept(tmp_path: Path) -> None:
    folder = build(shards("s", count=1, size=MIB + 5), tmp_path)
    assert (folder / "part-00000.bin").stat().st_size == MIB + 5


def test_the_second_version_changes_one_file_of_ten() -> None:
    case = next(case for case in cases(Sizes()) if case.held)
    assert case.held
    changed = [file.name for file in case.dataset.files if file not in case.held.files]
    assert (len(case.dataset.files), changed) == (10, ["part-00000.bin"])


def test_the_default_sets_never_need_more_than_four_gibibytes_at_once() -> None:
    assert space_needed(cases(Sizes())) == 4 * GIB
