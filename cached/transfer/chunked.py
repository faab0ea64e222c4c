"""Reading the text of an error answer that came chunked, as S3 sends them. Payload is never taken chunked: its
length would be known only at its end. Pure.
"""

from __future__ import annotations

import re

_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})[^\r\n]*\r\n")


def unchunk(raw: bytes) -> tuple[bytes, bool]:
    """The content of what came so far, and whether nothing more will: the last chunk was seen, or garbage."""
    content = bytearray()
    position = 0
    while match := _SIZE_LINE.match(raw, position):
        size = int(match.group(1), 16)
        if size == 0:
            return bytes(content), True
        content += raw[match.end() : match.end() + size]
        position = match.end() + size + 2
    return bytes(content), b"\n" in raw[position:]
