"""Whether a weight file is what its own header says: catches truncation at the source and pointer files for nothing.

A `.safetensors` file is 8 bytes of header length (little-endian), the header (JSON with each tensor's `data_offsets`),
and the data: 8 + header + largest offset = file size. Source: the safetensors format documentation.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from cached.errors import Corrupt

HEADER_MAX = 100_000_000
"""Bytes; the format's own limit."""
_POINTER = b"version https://git-lfs"


class _Tensor(msgspec.Struct, frozen=True):
    data_offsets: tuple[int, int] = (0, 0)


def check_structure(path: str, file: Path) -> None:
    """Raises Corrupt when the bytes in `file`, to be published as `path`, cannot be weights; OSError."""
    if not path.endswith(".safetensors"):
        return
    size = file.stat().st_size
    with file.open("rb") as data:
        start = data.read(len(_POINTER))
        if start == _POINTER:
            raise _damaged(path, "it is a git-lfs pointer, not the weights", "upload the file itself (git lfs pull)")
        data.seek(8)
        length = int.from_bytes(start[:8], "little")
        header = data.read(length) if length <= min(HEADER_MAX, size) else b""
    stated = _stated_size(header)
    if stated is None or len(start) < 8:
        raise _damaged(path, "it does not begin with a safetensors header", _UPLOAD)
    if stated != size:
        raise _damaged(path, f"its header describes {stated} bytes, it has {size}", _UPLOAD)


_UPLOAD = "upload it again: what is at the source is damaged"


def _stated_size(header: bytes) -> int | None:
    try:
        tensors = msgspec.json.decode(header, type=dict[str, _Tensor])
    except msgspec.MsgspecError:
        return None
    return 8 + len(header) + max((tensor.data_offsets[1] for tensor in tensors.values()), default=0)


def _damaged(path: str, reason: str, hint: str) -> Corrupt:
    return Corrupt(f"{path} is not a whole weight file: {reason}", hint=f"{hint}; nothing was published")
