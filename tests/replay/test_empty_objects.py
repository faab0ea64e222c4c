"""Zero bytes mean a folder marker or a file, told apart by the slash (kserve#379, google-cloud-go#242)."""

from __future__ import annotations

from tests.helpers.rig import Rig


async def test_folder_markers_are_skipped(rig: Rig) -> None:
    """kserve#379: the console's folder objects failed the download."""
    for key, data in (("m/", b""), ("m/sub/", b""), ("m/sub/x.bin", b"x")):
        rig.server.put(f"bkt/{key}", data)
    assert await rig.ready("s3://bkt/m") == {"sub/x.bin": b"x"}


async def test_an_empty_file_is_kept(rig: Rig) -> None:
    """Read in the source of kserve's storage initializer: it skips every object of size 0, also `__init__.py`."""
    rig.server.put("bkt/m/__init__.py", b"")
    rig.server.put("bkt/m/x.bin", b"x")
    assert await rig.ready("s3://bkt/m") == {"__init__.py": b"", "x.bin": b"x"}


async def test_no_range_of_an_empty_object_is_asked_for(rig: Rig) -> None:
    """google-cloud-go#242: any Range on an empty object is a 416, which failed the whole download."""
    rig.server.put("bkt/m/empty", b"")
    assert await rig.ready("s3://bkt/m/empty") == {"empty": b""}
    assert [request.range for request in rig.server.asked("bkt/m/empty") if request.range] == []
