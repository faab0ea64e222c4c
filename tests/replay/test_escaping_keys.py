"""One bad key refuses the whole model, and nothing is written anywhere.

Keys that leave the folder: s5cmd#872, CVE-2021-32061, huggingface_hub#4540. Two keys for one path:
runai-model-streamer PR#183. A file that is also a folder: aws-cli#431.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cached.errors import Code
from cached.types import State
from tests.helpers.rig import Rig, names_in

ESCAPING = ["../up", "..", "sub/../../up", "/etc/passwd", "C:/x", r"\\host\share", "a//b", "./a", "sub/./a", "nul\0x"]


@pytest.mark.parametrize("key", ESCAPING)
async def test_a_key_that_leaves_the_folder_refuses_the_model(rig: Rig, tmp_path: Path, key: str) -> None:
    rig.server.put("bkt/m/config.json", b"{}")
    rig.server.put(f"bkt/m/{key}", b"bad")
    view = await rig.refused("s3://bkt/m")
    assert view.reason is Code.UNSUPPORTED
    assert rig.server.payload == 0
    assert names_in(tmp_path) == ["root"]


async def test_two_keys_for_one_path_are_refused(rig: Rig) -> None:
    """runai-model-streamer PR#183: `m//config.json` overwrote `m/config.json`."""
    rig.server.put("bkt/m/config.json", b"one")
    rig.server.put("bkt/m//config.json", b"two")
    assert (await rig.refused("s3://bkt/m")).reason is Code.UNSUPPORTED


async def test_a_file_that_is_also_a_folder_is_refused_with_both_names(rig: Rig) -> None:
    """aws-cli#431."""
    rig.server.put("bkt/m/foo", b"file")
    rig.server.put("bkt/m/foo/bar", b"below")
    view = await rig.refused("s3://bkt/m")
    assert view.reason is Code.UNSUPPORTED
    assert "'foo'" in view.message
    assert "'foo/bar'" in view.message


async def test_leaving_the_bad_key_out_makes_the_model_good(rig: Rig) -> None:
    """What the hint of aws-cli#431's refusal says works."""
    rig.server.put("bkt/m/foo", b"file")
    rig.server.put("bkt/m/foo/bar", b"below")
    view = await rig.prefetch("s3://bkt/m", ignore=("foo",))
    assert view.state is State.READY
