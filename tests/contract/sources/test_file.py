"""file:// reads below the folder that a rule lists, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cached.config import Source
from cached.errors import NotAuthorized, NotFound, Permanent, Unsupported
from cached.sources.base import Listing
from cached.types import Uri
from tests.contract.sources.conftest import Open

ODD = os.fsdecode(b"weights\xff")
"""A name that Linux takes and UTF-8 does not."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the rule lists; `outside` lies beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("mine")
    model = tmp_path / "srv" / "m"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    return tmp_path / "srv"


async def resolved(open_sources: Open, folder: Path, path: str = "m") -> Listing:
    sources = open_sources(Source(prefix=f"file://{folder}/"))
    return (await sources.resolve(Uri(f"file://{folder}/{path}")))[1]


def names(listing: Listing) -> list[str]:
    return [entry.path for entry in listing.entries]


async def test_one_file_is_a_model_of_its_own_name(folder: Path, open_sources: Open) -> None:
    assert names(await resolved(open_sources, folder, "m/config.json")) == ["config.json"]


async def test_a_trailing_slash_changes_nothing(folder: Path, open_sources: Open) -> None:
    assert names(await resolved(open_sources, folder, "m/")) == ["config.json"]


async def test_a_link_that_stays_below_the_folder_is_read(folder: Path, open_sources: Open) -> None:
    """Hub snapshot folders are made of such links."""
    blob = folder / "blobs" / "abc"
    blob.parent.mkdir()
    blob.write_text("weights")
    (folder / "m" / "weights").symlink_to("../blobs/abc")
    listing = await resolved(open_sources, folder)
    assert [(entry.path, entry.size, entry.locator) for entry in listing.entries][1] == ("weights", 7, str(blob))


@pytest.mark.parametrize("target", ["../../outside/secret", "/etc/passwd"])
async def test_a_link_that_leads_outside_is_refused_by_name(folder: Path, open_sources: Open, target: str) -> None:
    (folder / "m" / "weights").symlink_to(target)
    with pytest.raises(NotAuthorized, match="m/weights leads outside"):
        await resolved(open_sources, folder)


async def test_a_link_to_a_folder_is_refused_by_name(folder: Path, open_sources: Open) -> None:
    (folder / "m" / "sub").symlink_to("../../outside")
    with pytest.raises(Unsupported, match="m/sub is a symlink to a folder"):
        await resolved(open_sources, folder)


async def test_a_model_that_is_itself_a_link_outside_is_refused(folder: Path, open_sources: Open) -> None:
    (folder / "elsewhere").symlink_to("../outside")
    with pytest.raises(NotAuthorized, match="leads outside"):
        await resolved(open_sources, folder, "elsewhere")


async def test_a_link_to_nothing_is_not_found(folder: Path, open_sources: Open) -> None:
    (folder / "m" / "weights").symlink_to("gone")
    with pytest.raises(NotFound, match="gone"):
        await resolved(open_sources, folder)


async def test_a_name_that_is_no_utf8_is_refused_by_name(folder: Path, open_sources: Open) -> None:
    (folder / "m" / ODD).write_text("x")
    with pytest.raises(Permanent, match=r"weights.* is not valid UTF-8") as caught:
        await resolved(open_sources, folder)
    assert caught.value.message.isascii()  # so that every answer and log can hold it


async def test_a_link_to_a_name_that_is_no_utf8_is_refused(folder: Path, open_sources: Open) -> None:
    (folder / ODD).write_text("x")
    (folder / "m" / "weights").symlink_to(f"../{ODD}")
    with pytest.raises(Permanent, match="not valid UTF-8"):
        await resolved(open_sources, folder)


async def test_a_circle_of_links_is_refused_by_name(folder: Path, open_sources: Open) -> None:
    (folder / "m" / "weights").symlink_to("weights")
    with pytest.raises(Permanent, match="m/weights is a circle of links"):
        await resolved(open_sources, folder)


async def test_dots_do_not_climb_out_of_the_folder(folder: Path, open_sources: Open) -> None:
    with pytest.raises(Permanent, match=r"'\.\.'"):
        await resolved(open_sources, folder, "../outside/secret")


async def test_what_is_no_file_is_refused(folder: Path, open_sources: Open) -> None:
    os.mkfifo(folder / "m" / "pipe")
    with pytest.raises(Unsupported, match="pipe is neither a file nor a folder"):
        await resolved(open_sources, folder)


async def test_an_empty_folder_is_not_a_model(folder: Path, open_sources: Open) -> None:
    (folder / "empty" / "below").mkdir(parents=True)
    with pytest.raises(NotFound, match="no file below"):
        await resolved(open_sources, folder, "empty")


async def test_a_host_in_a_file_uri_is_refused(folder: Path, open_sources: Open) -> None:
    sources = open_sources(Source(prefix=f"file://{folder}/"))
    with pytest.raises(NotAuthorized):
        await sources.resolve(Uri(f"file://server{folder}/m"))
    with pytest.raises(ValueError, match="file:/// and a folder"):
        Source(prefix="file://server/")
