"""`ls`, `show`, `path`, `wait`, `rm`, `status` by the real programs."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cached.errors import Exit
from cached.layout import slug
from cached.types import Uri

if TYPE_CHECKING:
    from tests.cli.conftest import Box

URI = "s3://models/m"


def test_ls_of_an_empty_cache_prints_no_data(daemon: Box) -> None:
    ended = daemon.ctl("ls")
    assert (ended.returncode, ended.stdout) == (0, "")


def test_ls_shows_a_line_a_model(stocked: Box) -> None:
    head, line = stocked.ctl("ls").stdout.splitlines()
    assert head.split() == ["NAME", "STATE", "SIZE", "DONE", "VERIFIED", "URI"]
    assert line.split() == ["m", "Ready", "488", "KiB", "100", "%", "checksum", URI]


def test_ls_as_json_is_the_api_s_list(stocked: Box) -> None:
    assert [model["name"] for model in stocked.json("ls")["models"]] == ["m"]


def test_show_lists_every_file_and_how_it_was_verified(stocked: Box) -> None:
    files = {each["path"]: each["verified"] for each in stocked.json("show", "m")["files"]}
    assert files == dict.fromkeys(["a.bin", "config.json", "sub/b.bin"], "checksum")


@pytest.mark.parametrize("target", ["m", URI])
def test_path_prints_the_folder_and_nothing_else(stocked: Box, target: str) -> None:
    assert stocked.ctl("path", target).stdout == f"{stocked.root}/models/m\n"


def test_path_of_a_uri_prefers_its_default_name(daemon: Box) -> None:
    daemon.ctl("prefetch", URI, "--name", "a")
    daemon.ctl("prefetch", URI)
    assert daemon.ctl("path", URI).stdout == f"{daemon.root}/models/{slug(Uri(URI))}\n"


@pytest.mark.parametrize("target", ["nobody", "s3://models/nobody"])
def test_path_of_what_is_not_here_is_not_found_with_a_hint(stocked: Box, target: str) -> None:
    ended = stocked.ctl("path", target)
    assert (ended.returncode, ended.stdout, "hint: `cachectl" in ended.stderr) == (Exit.NOT_FOUND, "", True)


def test_rm_frees_what_nothing_else_needs(daemon: Box) -> None:
    daemon.ctl("prefetch", URI, "--name", "m")
    assert daemon.json("rm", "m")["bytes_freed"] >= 500_002
    assert (daemon.json("ls")["models"], list((daemon.root / "models").iterdir())) == ([], [])


@pytest.mark.parametrize("command", ["rm", "show", "wait"])
def test_an_unknown_name_is_not_found(stocked: Box, command: str) -> None:
    assert stocked.ctl(command, "nobody").returncode == Exit.NOT_FOUND


def test_status_tells_where_and_how_much(stocked: Box) -> None:
    status = stocked.json("status")
    assert (status["socket"], status["port"], status["blobs"]) == (str(stocked.socket), stocked.port, 3)
    assert (status["models"], status["pid"]) == ({"Ready": 1}, stocked.started[0].pid)


def test_wait_for_a_folder_needs_no_daemon(alone: Box, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    waiting = alone.spawn("cachectl", "wait", str(folder))
    folder.mkdir()
    with pytest.raises(subprocess.TimeoutExpired):  # a mount point without its mount is empty
        waiting.wait(1)
    (folder / "config.json").touch()
    assert waiting.wait(30) == 0


def test_wait_for_a_folder_gives_up_in_time(alone: Box, tmp_path: Path) -> None:
    begun = time.monotonic()
    ended = alone.ctl("wait", f"{tmp_path}/never", "--timeout", "500ms")
    assert (ended.returncode, time.monotonic() - begun < 15) == (Exit.TIMEOUT, True)


def test_wait_for_a_file_says_that_it_is_none(alone: Box, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = alone.ctl("wait", f"{tmp_path}/file")
    assert (ended.returncode, "Not a directory" in ended.stderr) == (Exit.USAGE, True)
