"""The one server of a run: nginx with static files on tmpfs and canned S3 answers, over HTTP or TLS.

The same cheap server for every contestant, so that differences are the client's. Requests are not signed and
signatures are not looked at.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets import BUCKET
from benchmarks.errors import BenchError
from benchmarks.listing import NO_SUCH_KEY, Page, empty

WORKERS = 2
START_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where contestants connect, and the command that must stand before theirs to get there."""

    url: str
    folder: Path
    """The server's own; what it serves lies in `www` below it."""
    ca_file: Path | None = None
    inside: tuple[str, ...] = ()


def configuration(*, pages: Sequence[Page], port: int, tls: bool, as_root: bool) -> str:
    """nginx.conf, with every path relative to nginx's own folder."""
    answers = "\n".join(f'    "~{page.query}" /list/{page.name}.xml;' for page in pages)
    listen = f"listen 127.0.0.1:{port}{' ssl' if tls else ''};"
    return f"""\
daemon off; pid nginx.pid; error_log error.log warn; worker_processes {WORKERS};
{"user root;" if as_root else ""}
events {{ worker_connections 2048; }}
http {{
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; etag on; default_type application/octet-stream;
  keepalive_timeout 300; keepalive_requests 1000000;
  open_file_cache max=4000 inactive=600s; open_file_cache_valid 600s;
  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  map $args $listing {{
    default /list/empty.xml;
{answers}
  }}
  server {{
    {listen}
    {_TLS if tls else ""}
    root www;
    location = /{BUCKET} {{ default_type application/xml; rewrite ^ $listing break; }}
    location = /{BUCKET}/ {{ default_type application/xml; rewrite ^ $listing break; }}
    location / {{ try_files $uri =404; error_page 404 /list/no-such-key.xml; }}
  }}
}}
"""


_TLS = """ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_protocols TLSv1.3;
    ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256; ssl_session_cache shared:sessions:1m;"""


@contextlib.contextmanager
def serve(folder: Path, *, pages: Sequence[Page], tls: bool, inside: tuple[str, ...] = ()) -> Iterator[Endpoint]:
    """Serve `folder`/www with nginx until the block ends; `inside` goes before its command. Raises BenchError."""
    port = _free_port()
    _lay_out(folder, pages)
    if tls:
        _make_certificate(folder)
    text = configuration(pages=pages, port=port, tls=tls, as_root=os.geteuid() == 0)
    (folder / "nginx.conf").write_text(text)
    command = [*inside, _nginx(), "-p", str(folder), "-c", "nginx.conf", "-e", "error.log"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        _await_start(process, folder / "nginx.pid")
        yield Endpoint(
            url=f"{'https' if tls else 'http'}://127.0.0.1:{port}",
            folder=folder,
            ca_file=folder / "cert.pem" if tls else None,
            inside=inside,
        )
    finally:
        process.terminate()
        process.communicate()
        (folder / "nginx.pid").unlink(missing_ok=True)


def find_nginx() -> str | None:
    """Path of nginx; Debian keeps it out of a user's PATH."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")


def version() -> str:
    """Version of nginx. Raises BenchError when it is missing."""
    said = subprocess.run([_nginx(), "-v"], check=True, capture_output=True, text=True).stderr
    return said.rpartition("/")[2].strip()


def _nginx() -> str:
    found = find_nginx()
    if found is None:
        raise BenchError("nginx is not installed; on Debian and Ubuntu: apt-get install -y nginx-light")
    return found


def _lay_out(folder: Path, pages: Sequence[Page]) -> None:
    lists = folder / "www" / "list"
    lists.mkdir(parents=True, exist_ok=True)
    for page in (*pages, empty()):
        (lists / f"{page.name}.xml").write_text(page.xml)
    (lists / "no-such-key.xml").write_text(NO_SUCH_KEY)


def _make_certificate(folder: Path) -> None:
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem"
    names = ["-days", "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*command.split(), *names], cwd=folder, check=True, capture_output=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_start(process: subprocess.Popen[bytes], pid_file: Path) -> None:
    """The pid file appears once nginx listens, which also works where the port cannot be reached from here."""
    deadline = time.monotonic() + START_S
    while not pid_file.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise BenchError(f"nginx did not start: {process.communicate()[1].decode(errors='replace').strip()}")
        time.sleep(0.02)
