"""`cachectl prefetch` and what becomes of its model, by the real programs."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cached.errors import Exit
from cached.types import State
from tests.cli.conftest import until
from tests.helpers.hostile import Op
from tests.helpers.hostile.faults import Refuse, Stall

if TYPE_CHECKING:
    from tests.cli.conftest import Box

URI = "s3://models/m"
SIZE = 500_002


def stalled(box: Box, *, times: int | None = None) -> str:
    """A model whose connections hang after 1 MiB each; its first `times`, when given."""
    box.server.put("models/big/w", 24 << 20)
    box.server.misbehave("models/big/w", Stall(after=1 << 20), times=times)
    return "s3://models/big"


def begun(box: Box, name: str) -> None:
    """Wait until the daemon knows the model and bytes of it have come."""
    until(lambda: name in {model.name for model in box.client.models()}, name)
    box.downloading(name)


def test_it_ends_with_what_to_mount_and_what_it_cost(daemon: Box) -> None:
    result = daemon.json("prefetch", URI, "--name", "m")
    tree, revision, verified = result.pop("tree"), result.pop("revision"), result.pop("verified")
    assert result == {
        "name": "m",
        "uri": URI,
        "path": str(daemon.root / "models" / "m"),
        "state": "Ready",
        "bytes_total": SIZE,
        "bytes_fetched": SIZE,
        "bytes_reused": 0,
    }
    assert (len(tree), len(revision) >= 12, verified) == (64, True, "checksum")


def test_the_path_holds_the_files(daemon: Box) -> None:
    folder = Path(daemon.json("prefetch", URI)["path"])
    assert (folder / "config.json").read_text() == "{}"
    assert (folder / "sub" / "b.bin").stat().st_size == 200_000


def test_its_words_are_for_people(daemon: Box) -> None:
    ended = daemon.ctl("prefetch", URI, "--name", "m")
    assert ended.returncode == 0
    assert re.sub(r"in \d+ s", "in N s", ended.stdout) == (
        f"name         m\nmount        {daemon.root}/models/m\n"
        "fetched      488 KiB in N s\nhere before  0 B\nverified     checksum\n"
    )


def test_what_is_here_costs_nothing_the_second_time(daemon: Box) -> None:
    daemon.ctl("prefetch", URI)
    result = daemon.json("prefetch", URI)
    assert (result["bytes_fetched"], result["bytes_reused"]) == (0, SIZE)


def test_patterns_choose_the_files(daemon: Box) -> None:
    result = daemon.json("prefetch", URI, "--allow", "*.bin", "--ignore", "sub/*")
    assert result["bytes_total"] == 300_000


def test_talk_goes_to_stderr_in_few_lines_however_many_files(daemon: Box) -> None:
    for number in range(300):
        daemon.server.put(f"models/many/{number}", b"x")
    ended = daemon.ctl("prefetch", "s3://models/many", "--name", "many")
    lines = ended.stderr.splitlines()
    assert (ended.returncode, lines[0].startswith("many: "), len(lines) <= 15) == (0, True, True)


def test_a_terminal_shows_bars_that_do_not_flood(daemon: Box) -> None:
    for number in range(300):
        daemon.server.put(f"models/many/{number}", 4096)
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        process = daemon.spawn("cachectl", "prefetch", "s3://models/many", stderr=theirs)
        os.close(theirs)
        shown = b""
        try:
            while chunk := screen.read(4096):
                shown += chunk
        except OSError:  # how a pseudo terminal says that nobody holds its other end
            pass
    assert (process.wait(30), b"in all" in shown, len(shown) < 200_000) == (0, True, True)


def test_no_wait_returns_and_wait_sees_it_through(daemon: Box) -> None:
    assert daemon.json("prefetch", URI, "--name", "m", "--no-wait")["state"] in {"Queued", "Downloading", "Ready"}
    assert daemon.json("wait", "m")["state"] == "Ready"


def test_ctrl_c_stops_the_watching_and_not_the_download(daemon: Box) -> None:
    process = daemon.spawn("cachectl", "prefetch", stalled(daemon), "--name", "big")
    begun(daemon, "big")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (Exit.INTERRUPTED, "")
    assert err.splitlines()[-1] == (
        "big goes on downloading in the daemon: `cachectl wait big` watches it, `cachectl rm big` stops it"
    )
    assert daemon.state("big") is State.DOWNLOADING


def test_ctrl_c_says_so_as_json_too(daemon: Box) -> None:
    process = daemon.spawn("cachectl", "prefetch", stalled(daemon), "--name", "big", "--json")
    begun(daemon, "big")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (Exit.INTERRUPTED, "")
    assert "goes on downloading" in json.loads(err)["message"]


def test_a_timeout_ends_the_watching_with_its_own_code(daemon: Box) -> None:
    ended = daemon.ctl("prefetch", stalled(daemon), "--name", "big", "--timeout", "1s")
    assert (ended.returncode, "goes on downloading" in ended.stderr) == (Exit.TIMEOUT, True)
    assert daemon.state("big") is State.DOWNLOADING


def test_watching_goes_on_over_a_killed_daemon(daemon: Box) -> None:
    process = daemon.spawn("cachectl", "prefetch", stalled(daemon, times=6), "--name", "big", "--json")
    begun(daemon, "big")
    running = daemon.started[0]
    running.kill()
    running.wait()
    daemon.serve()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err, json.loads(out)["state"]) == (0, "", "Ready")


@pytest.mark.parametrize(
    ("uri", "code", "words"),
    [
        ("s3://models/missing", Exit.NOT_FOUND, "missing"),
        ("s3://nowhere/m", Exit.NOT_FOUND, "nowhere"),
        ("ftp://host/m", Exit.FAILED, "ftp"),
    ],
)
def test_what_cannot_be_had_says_what_and_why(daemon: Box, uri: str, code: Exit, words: str) -> None:
    ended = daemon.ctl("prefetch", uri)
    assert (ended.returncode, ended.stdout) == (code, "")
    error = next(line for line in ended.stderr.splitlines() if line.startswith("error: "))
    assert words in error
    assert daemon.get("/healthz")[0] == 200


def test_a_wrong_digest_publishes_nothing(daemon: Box) -> None:
    ended = daemon.ctl("prefetch", URI, "--name", "m", "--sha256", f"config.json={'0' * 64}")
    assert (ended.returncode, list((daemon.root / "models").iterdir())) == (Exit.DIGEST_MISMATCH, [])


def test_a_failed_model_says_why_wherever_it_is_looked_at(daemon: Box) -> None:
    daemon.ctl("prefetch", "s3://models/missing", "--name", "x")
    codes = [daemon.ctl(command, "x").returncode for command in ("wait", "show", "path")]
    assert codes == [Exit.NOT_FOUND, Exit.OK, Exit.NOT_FOUND]
    assert daemon.json("show", "x")["model"]["reason"] == "NotFound"


def test_a_name_in_use_is_refused_with_the_way_out_and_moves_when_told(daemon: Box) -> None:
    daemon.server.put("models/other/w", b"12345")
    daemon.ctl("prefetch", URI, "--name", "m")
    refused = daemon.ctl("prefetch", "s3://models/other", "--name", "m")
    assert (refused.returncode, "--move" in refused.stderr) == (Exit.FAILED, True)
    assert daemon.json("prefetch", "s3://models/other", "--name", "m", "--move")["bytes_total"] == 5


def test_an_error_with_json_is_one_object_on_stderr(daemon: Box) -> None:
    ended = daemon.ctl("prefetch", "s3://models/missing", "--json")
    assert (ended.stdout, json.loads(ended.stderr)["code"]) == ("", "NotFound")


def test_32_prefetches_of_one_uri_are_one_download(daemon: Box) -> None:
    daemon.server.put("models/big/w", 4 << 20)
    command = ("cachectl", "prefetch", "s3://models/big", "--no-wait")
    calls = [daemon.spawn(*command, stdout=subprocess.DEVNULL) for _ in range(32)]
    assert {call.wait(60) for call in calls} == {0}
    daemon.ctl("wait", daemon.client.models()[0].name)
    assert "cached_downloads_started_total 1.0" in daemon.get("/metrics")[1]


def test_an_endpoint_that_nobody_serves_is_unavailable(box: Box) -> None:
    rule = {"prefix": "s3://", "endpoint": "http://127.0.0.1:1", "region": "us-east-1"}
    box.settings = {"sources": [rule]}
    box.serve()
    ended = box.ctl("prefetch", URI)
    assert (ended.returncode, "127.0.0.1:1" in ended.stderr) == (Exit.SOURCE_UNAVAILABLE, True)


def test_refused_credentials_are_not_authorised(daemon: Box) -> None:
    denied = Refuse(403, "AccessDenied")
    daemon.server.misbehave("*", denied, times=None, op=Op.LIST)
    daemon.server.misbehave("*", denied, times=None, op=Op.HEAD)
    ended = daemon.ctl("prefetch", URI)
    assert (ended.returncode, "hint: " in ended.stderr) == (Exit.NOT_AUTHORIZED, True)


def test_a_file_that_escapes_is_refused_and_nothing_is_published(daemon: Box) -> None:
    daemon.server.put("models/bad/ok", b"1")
    daemon.server.put("models/bad/../../evil", b"2")
    ended = daemon.ctl("prefetch", "s3://models/bad")
    assert ended.returncode != 0
    assert (list((daemon.root / "models").iterdir()), daemon.get("/healthz")[0]) == ([], 200)


def test_a_local_folder_is_a_source_like_any_other(box: Box) -> None:
    folder = box.folder / "shelf"
    folder.mkdir()
    (folder / "w").write_bytes(b"12345")
    box.settings = {"sources": [{"prefix": f"file://{folder}"}]}
    box.serve()
    result = box.json("prefetch", f"file://{folder}")
    assert (Path(result["path"], "w").read_bytes(), result["bytes_total"]) == (b"12345", 5)
