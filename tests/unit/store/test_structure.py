from __future__ import annotations

import json
from pathlib import Path

import pytest

from cached.errors import Corrupt
from cached.store.structure import check_structure


def weights(*ends: int, data: int, metadata: bool = False) -> bytes:
    header: dict[str, object] = {
        f"t{number}": {"dtype": "U8", "shape": [1], "data_offsets": [0, end]} for number, end in enumerate(ends)
    }
    if metadata:
        header["__metadata__"] = {"format": "pt"}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(data)


def check(tmp_path: Path, content: bytes, *, path: str = "model.safetensors") -> None:
    file = tmp_path / "data"
    file.write_bytes(content)
    check_structure(path, file)


@pytest.mark.parametrize(
    "content",
    [weights(10, 20, data=20), weights(7, data=7, metadata=True), weights(data=0)],
    ids=["two tensors", "metadata", "no tensors"],
)
def test_whole_weights_pass(tmp_path: Path, content: bytes) -> None:
    check(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (weights(10, 20, data=19), "describes"),
        (weights(10, data=20), "describes"),
        (b"", "does not begin"),
        (b"short", "does not begin"),
        (b"<html>502 Bad Gateway</html>", "does not begin"),
        ((1 << 60).to_bytes(8, "little") + b"{}", "does not begin"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git-lfs pointer"),
    ],
)
def test_what_is_not_whole_weights_is_refused_with_its_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(Corrupt, match=reason) as caught:
        check(tmp_path, content)
    assert "model.safetensors" in caught.value.message


def test_other_files_are_not_looked_into(tmp_path: Path) -> None:
    check(tmp_path, b"anything", path="config.json")
