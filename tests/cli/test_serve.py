"""`cached serve`: its start, its refusals, its end."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cached.errors import Exit
from tests.cli.conftest import until
from tests.helpers.hostile.faults import Stall

if TYPE_CHECKING:
    from tests.cli.conftest import Box


def test_both_addresses_are_kept_in_the_root(daemon: Box) -> None:
    kept = json.loads((daemon.root / "endpoint.json").read_text())
    assert kept == {"socket": str(daemon.socket), "port": daemon.port}


def test_options_win_over_the_file(box: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    box.settings = {"root": str(box.folder / "elsewhere"), "port": 1}
    box.serve("--port", str(port))
    assert (box.port, box.root.is_dir(), (box.folder / "elsewhere").exists()) == (port, True, False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well_and_its_socket_with_it(daemon: Box, number: signal.Signals) -> None:
    process = daemon.started[0]
    process.send_signal(number)
    assert (process.wait(20), daemon.socket.exists()) == (0, False)


def test_stdout_has_the_one_line_with_both_addresses(daemon: Box) -> None:
    """`serve` of the box has read it."""
    daemon.started[0].terminate()
    assert daemon.started[0].communicate(timeout=20)[0] == ""


def test_a_second_signal_ends_it_at_once(daemon: Box) -> None:
    daemon.server.put("models/big/w", 24 << 20)
    daemon.server.misbehave("models/big/w", Stall(after=1 << 20), times=None)
    daemon.ctl("prefetch", "s3://models/big", "--name", "big", "--no-wait")
    daemon.downloading("big")
    process = daemon.started[0]
    process.send_signal(signal.SIGTERM)
    log = daemon.folder / "daemon.log"
    until(lambda: '"stopping"' in log.read_text(), "the first signal to arrive")
    process.send_signal(signal.SIGTERM)
    assert process.wait(3) == 128 + signal.SIGTERM


def test_its_log_is_json_lines_when_nobody_looks(daemon: Box) -> None:
    events = [json.loads(line)["event"] for line in (daemon.folder / "daemon.log").read_text().splitlines()]
    assert events == ["listening", "recovered", "ready"]


def test_a_dead_daemon_s_socket_is_no_obstacle(daemon: Box) -> None:
    daemon.started[0].kill()
    daemon.started[0].wait()
    assert daemon.socket.exists()
    daemon.serve()
    assert daemon.ctl("ls").returncode == 0


def refused(box: Box, *arguments: str) -> tuple[int, str]:
    ended = box.run("cached", "serve", *arguments)
    return ended.returncode, ended.stderr


def test_a_second_daemon_on_one_root_is_refused_and_the_first_serves_on(daemon: Box) -> None:
    code, words = refused(daemon, "--root", str(daemon.root), "--socket", f"{daemon.folder}/other.sock", "--port", "0")
    assert (code, "error: " in words, str(daemon.root) in words) == (Exit.FAILED, True, True)
    assert daemon.json("status")["pid"] == daemon.started[0].pid
    assert json.loads((daemon.root / "endpoint.json").read_text())["port"] == daemon.port


def test_a_second_daemon_on_one_socket_is_refused(daemon: Box) -> None:
    code, words = refused(daemon, "--root", f"{daemon.folder}/other", "--port", "0")
    assert (code, "a daemon already serves" in words) == (Exit.FAILED, True)
    assert daemon.ctl("ls").returncode == 0


def test_a_port_in_use_is_named(daemon: Box) -> None:
    options = ("--root", f"{daemon.folder}/other", "--socket", f"{daemon.folder}/other.sock")
    code, words = refused(daemon, *options, "--port", str(daemon.port))
    assert (code, f"port {daemon.port}" in words, "--port" in words) == (Exit.FAILED, True, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prt: 1", "unknown field `prt`; allowed: root, socket, port"),
        ("port: 70000", "`port` is 70000: expected `int` <= 65535"),
        ("timeouts: {connect: 3x}", "`timeouts.connect`: '3x' is not a time span"),
        ("transfer: {part: 5}", "`transfer`: part is 5 bytes; it must be a multiple of 4096"),
        ("a: [", "line 2"),
    ],
)
def test_a_wrong_setting_stops_the_start_with_key_value_and_what_is_allowed(box: Box, text: str, words: str) -> None:
    path = box.folder / "bad.yaml"
    path.write_text(text)
    code, said = refused(box, "--config", str(path))
    assert (code, said.startswith(f"error: {path}: "), words in said) == (Exit.USAGE, True, True)


def test_a_settings_file_that_is_not_there_is_named(box: Box) -> None:
    code, words = refused(box, "--config", "/nowhere/config.yaml")
    assert (code, "/nowhere/config.yaml" in words) == (Exit.USAGE, True)


def test_a_root_that_cannot_be_written_is_refused_with_its_reason(box: Box) -> None:
    """/sys takes no folders, whoever asks."""
    code, words = refused(box, "--root", "/sys/cached", "--port", "0")
    assert (code != 0, "/sys/cached" in words, "Traceback" in words) == (True, True, False)
    assert not box.socket.exists()


def test_no_worker_outlives_it(daemon: Box) -> None:
    pid = daemon.started[0].pid
    children = _children(pid)
    daemon.started[0].kill()
    daemon.started[0].wait()
    until(lambda: not any(_alive(child) for child in children), "the workers to end")
    assert children


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
