"""Which sockets are taken, replaced and refused."""

from __future__ import annotations

import socket
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cached.errors import Conflict, Permanent
from cached.service.listen import tcp_socket, unix_socket


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "cached.sock"


@pytest.fixture
def live(path: Path) -> Iterator[socket.socket]:
    with closing(unix_socket(path)) as listener:
        yield listener


def test_the_folder_is_made_and_the_socket_is_for_owner_and_group(path: Path, live: socket.socket) -> None:
    assert (stat.S_IMODE(path.parent.stat().st_mode), stat.S_IMODE(path.stat().st_mode)) == (0o755, 0o660)


def test_the_socket_of_a_dead_daemon_is_replaced(path: Path, live: socket.socket) -> None:
    live.close()
    with closing(unix_socket(path)), closing(socket.socket(socket.AF_UNIX)) as caller:
        caller.connect(str(path))


def test_a_live_socket_is_refused_and_left_alone(path: Path, live: socket.socket) -> None:
    with pytest.raises(Conflict, match="a daemon already serves"):
        unix_socket(path)
    with closing(socket.socket(socket.AF_UNIX)) as caller:
        caller.connect(str(path))


def test_a_file_that_is_no_socket_is_never_removed(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("precious")
    with pytest.raises(Permanent, match="is not a socket"):
        unix_socket(path)
    assert path.read_text() == "precious"


def test_a_path_too_long_for_a_socket_is_refused_with_the_limit(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="longer than 107 bytes"):
        unix_socket(tmp_path / ("x" * 120))


def test_a_folder_that_cannot_be_made_is_an_error_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Permanent, match="cannot listen on the socket"):
        unix_socket(tmp_path / "file" / "cached.sock")


def test_a_port_in_use_is_a_conflict_that_names_it() -> None:
    with closing(tcp_socket("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with pytest.raises(Conflict, match=f"port {port} of 127.0.0.1"):
            tcp_socket("127.0.0.1", port)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(Permanent, match=r"port 0 of 192\.0\.2\.1"):
        tcp_socket("192.0.2.1", 0)


def test_an_ipv6_address_is_listened_on() -> None:
    with closing(tcp_socket("::1", 0)) as listener:
        assert listener.family is socket.AF_INET6
