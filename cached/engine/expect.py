"""Whether content that is here is what a want expects of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from cached.engine.obtain import Obtained
from cached.errors import CachedError, Corrupt, NotFound
from cached.store.records import Manifest
from cached.types import Digest


def against(manifest: Manifest, expected: Mapping[str, Digest]) -> None:
    """Raises Corrupt or NotFound unless every expected sha256 is that of the manifest's file."""
    error = _unmet({each.path: each.digest for each in manifest.files}, expected)
    if error is not None:
        raise error


def unmet(found: Obtained, expected: Mapping[str, Digest]) -> CachedError | None:
    """The first expectation that `found` does not meet, as an error."""
    return _unmet({each.path: each.digest for each in found.files}, expected)


def _unmet(here: Mapping[str, Digest], expected: Mapping[str, Digest]) -> CachedError | None:
    for path, digest in expected.items():
        if path not in here:
            return NotFound(f"a sha256 was given for {path!r}, which the model does not have")
        if here[path] != digest:
            return Corrupt(
                f"{path} is not what was promised: the sha256 is {digest}, the bytes have {here[path]}",
                hint="correct the expected sha256, or publish the right file at the source",
                details={"path": path, "expected": digest, "found": here[path]},
            )
    return None
