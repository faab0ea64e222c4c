"""A small server that can break every rule of HTTP and S3 on demand, and says what it was asked.

Read `server.Hostile` for how it is used and `faults` for what can go wrong. It runs in threads of a test,
or as a child process: `python -m tests.helpers.hostile`.
"""

from __future__ import annotations

from tests.helpers.hostile.content import Content, Literal, Synthetic, digest
from tests.helpers.hostile.exchange import Op, Request
from tests.helpers.hostile.items import Item
from tests.helpers.hostile.server import Hostile

__all__ = ["Content", "Hostile", "Item", "Literal", "Op", "Request", "Synthetic", "digest"]
