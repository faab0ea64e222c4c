from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.errors import BenchError
from benchmarks.machine import file_system, require_space
from benchmarks.report import splice

MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:20 / /mem rw shared:1 - tmpfs first rw
24 22 0:21 / /mem rw - tmpfs second rw
25 22 0:22 / /memory rw - xfs /dev/vdb rw
"""


def test_only_what_lies_between_the_markers_is_replaced() -> None:
    text = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb <!-- y: begin --><!-- y: end -->"
    expected = "a\n<!-- x: begin -->\n\nnew\n\n<!-- x: end -->\nb <!-- y: begin --><!-- y: end -->"
    assert expected == splice(text, name="x", content="new")


def test_writing_the_same_table_twice_changes_nothing() -> None:
    once = splice("<!-- x: begin --><!-- x: end -->", name="x", content="new")
    assert once == splice(once, name="x", content="new")


@pytest.mark.parametrize("text", ["", "<!-- x: begin -->", "<!-- x: end --><!-- x: begin -->"])
def test_a_document_without_both_markers_is_refused(text: str) -> None:
    with pytest.raises(BenchError, match="lacks the markers"):
        splice(text, name="x", content="new")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/var/tmp", "ext4 on /dev/vda"), ("/mem/a", "tmpfs on second"), ("/memory", "xfs on /dev/vdb")],
)
def test_a_path_is_on_the_file_system_mounted_nearest_above_it(path: str, expected: str) -> None:
    assert expected == file_system(Path(path), MOUNTS)


def test_too_little_space_is_refused_with_the_numbers(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"serving needs 1048576\.0 GiB in .* which has [0-9.]+ GiB free"):
        require_space(tmp_path, 1 << 50, what="serving")


def test_a_record_of_another_shape_is_refused_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "ingest.json"
    path.write_text('{"runs": []}')
    with pytest.raises(BenchError, match=r"ingest\.json: Object missing required field"):
        results.load_ingest(path)
