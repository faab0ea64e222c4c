"""The daemon's settings: one YAML file, every key with its unit, default and reason.

A key appears here with the code that obeys it. Unknown keys and bad values stop the start with the key's
name, the value and what is allowed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Self

import msgspec

from cached import codec
from cached.errors import Permanent
from cached.types import HolderName, Namespace

DEFAULT_CONFIG = Path("/etc/cached/config.yaml")
DEFAULT_ROOT = Path("/var/lib/cached")
DEFAULT_SOCKET = Path("/run/cached/cached.sock")
DEFAULT_PORT = 9417

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SPANS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Bytes(int):
    """A number of bytes: 1048576, or text with a binary unit such as 64KiB, 16MiB, 1.5GiB."""

    def __new__(cls, value: object) -> Self:
        text = str(value).strip()
        match = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([A-Za-z]*)", text)
        if not match or match.group(2) not in _UNITS:
            raise ValueError(f"{text!r} is not a size: write bytes, or KiB, MiB, GiB, TiB, such as 16MiB")
        return super().__new__(cls, float(match.group(1)) * _UNITS[match.group(2)])


class Seconds(float):
    """A span of time: 30, or text with a unit such as 250ms, 30s, 10m, 1h, 7d."""

    def __new__(cls, value: object) -> Self:
        text = str(value).strip()
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)\s*([a-z]*)", text)
        if not match or match.group(2) not in _SPANS:
            raise ValueError(f"{text!r} is not a time span: write seconds, or ms, s, m, h, d, such as 30s")
        return super().__new__(cls, float(match.group(1)) * _SPANS[match.group(2)])


class Amount(str):
    """A number of bytes as in `Bytes`, or a share of the file system such as 20%."""

    __slots__ = ()

    def __new__(cls, value: object) -> Self:
        text = str(value).strip()
        share = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*%", text)
        if share and float(share.group(1)) > 100:
            raise ValueError(f"{text!r} is more than the whole file system")
        if not share:
            try:
                Bytes(text)
            except ValueError as error:
                raise ValueError(f"{error}, or a share of the file system such as 20%") from None
        return super().__new__(cls, text)

    def of(self, total: int) -> int:
        """Bytes, where the file system has `total` of them."""
        return int(total * float(self[:-1]) / 100) if self.endswith("%") else int(Bytes(self))


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where one URI prefix is served from. The longest matching prefix wins."""

    prefix: str
    """The URIs this rule covers, such as `s3://models-prod/`, `https://host/`, `file:///srv/models/`."""
    endpoint: str | None = None
    """The object store's address when it is not AWS itself, such as `https://s3.example.internal`."""
    region: str | None = None
    """The bucket's region. Default: what the ambient AWS configuration says, else us-east-1."""
    ca_file: str | None = None
    """A PEM bundle of the authorities to trust instead of the system's."""

    def __post_init__(self) -> None:
        problem = self._problem()
        if problem:
            raise ValueError(problem)

    def _problem(self) -> str | None:
        if not re.fullmatch(r"(s3|https?)://.*|file:///.*", self.prefix, re.DOTALL):
            return (
                f"prefix is {self.prefix!r}; it must begin with s3://, https:// or http://, or be file:/// and a folder"
            )
        if not self.prefix.startswith("s3:") and (self.endpoint is not None or self.region is not None):
            return f"endpoint and region are for s3:// alone; the prefix is {self.prefix!r}"
        if self.prefix.startswith("file:") and self.ca_file is not None:
            return f"ca_file is for s3:// and https:// alone; the prefix is {self.prefix!r}"
        if self.endpoint is not None and "@" in self.endpoint:
            return (
                "endpoint holds a user or password, which would end up in logs; credentials have a chain of their own"
            )
        if self.endpoint is not None and not re.fullmatch(r"https?://[^/?#@\s]+(/[^?#\s]*)?", self.endpoint):
            return f"endpoint is {self.endpoint!r}; it must be http://host or https://host, with a port if need be"
        return None


class Timeouts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long each wait may take. There is no limit on a whole download: models take hours on slow links."""

    connect: Seconds = Seconds(10)
    """For one TCP (and TLS) connection."""
    first_byte: Seconds = Seconds(30)
    """From a request to the first byte of its answer."""
    stall_window: Seconds = Seconds(30)
    """A connection that moves less than `stall_floor` a second over this long is dropped and replaced."""
    stall_floor: Bytes = Bytes(64 << 10)
    """Bytes a second. 64 KiB/s: below it one 16 MiB part takes over four minutes."""
    no_progress: Seconds = Seconds(600)
    """A file that gains no byte for this long fails with reason Stalled."""
    retry_base: Seconds = Seconds(0.2)
    """The first retry waits up to this long, each next twice as long (full jitter)."""
    retry_cap: Seconds = Seconds(20)
    """The longest wait between two tries, and the longest Retry-After that is obeyed in full."""


class Transfer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How payload is fetched."""

    workers: Annotated[int, msgspec.Meta(ge=1, le=8)] = 1
    """Worker processes. One moves about 8 Gbit/s."""
    connections: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    """Connections (each a thread) a worker."""
    part: Bytes = Bytes(16 << 20)
    """Bytes a ranged GET asks for, a multiple of 4 KiB (O_DIRECT writes whole blocks). 16, 32 and 64 MiB cost the
    same CPU; smaller resumes finer."""
    window: Bytes = Bytes(256 << 20)
    """Bytes of a file that a crash may cost: when half as many have arrived, they are made durable and journaled."""
    window_time: Seconds = Seconds(2)
    """Time after which they are, whatever their size."""
    hash_lag: Bytes = Bytes(256 << 20)
    """How far a file's fetch may run ahead of its sha256 when several connections share it."""
    attempts: Annotated[int, msgspec.Meta(ge=1, le=100)] = 8
    """Tries of one part without any progress before its file fails."""
    models: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    """Models downloaded at the same time; others wait as Queued."""

    def __post_init__(self) -> None:
        if self.part < 4096 or self.part % 4096:
            raise ValueError(f"part is {self.part} bytes; it must be a multiple of 4096")


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How much of the disk the cache may take, and what it leaves to others."""

    max_bytes: Amount | None = None
    """At most so much is stored, with what is set aside for downloads, in trash and in quarantine: 500GiB, or 80% of
    the file system. Default: only `min_free` limits it. File contents count, each once; folders do not."""
    min_free: Amount = Amount("20%")
    """What is always left free on the file system. Kubelet evicts pods that did nothing below 10 % (nodefs) or 15 %
    (imagefs), so the default is above both."""
    keep: Bytes = Bytes(0)
    """What the cache keeps of its content when others fill the disk: below it their pressure evicts nothing more."""
    grace: Seconds = Seconds(600)
    """How long after its last use, lease or publication a model is not evicted: somebody may be about to read it."""


class Leases(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who tells the daemon which models are being read."""

    holders: tuple[HolderName, ...] = ()
    """Holders that renew their complete list of leases. While one of them is silent nothing published is evicted."""
    stale_after: Seconds = Seconds(90)
    """How long a holder may be silent. They renew every 30 s; three in a row must be missing."""


class Scrub(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The background check of stored bytes against their sha256."""

    rate: Bytes = Bytes(32 << 20)
    """Bytes read a second; 0 switches it off. 32 MiB/s is about 1 % of an NVMe disk, and a TiB in 10 hours."""
    every: Seconds = Seconds(7 * 86400)
    """How often each blob is read. What an unclean shutdown cast doubt on is read at once."""


class Quota(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one namespace may use. Content that several refer to is charged to each."""

    namespace: Namespace
    max_bytes: Bytes | None = None
    """Bytes of all models it refers to, downloads in flight included."""
    downloads: Annotated[int, msgspec.Meta(ge=1, le=64)] | None = None
    """Models of it that download at the same time; others wait as Queued."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole file."""

    root: str = str(DEFAULT_ROOT)
    """The cache root: one local file system, ext4 or xfs."""
    socket: str = str(DEFAULT_SOCKET)
    """The unix socket of the API."""
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = DEFAULT_PORT
    """Port of metrics, health and the status page; 0 picks one."""
    address: str = "127.0.0.1"
    """Address that port listens on. In a pod set 0.0.0.0, or Prometheus does not reach it."""
    allow_root_filesystem: bool = True
    """Whether the root may share the file system that holds `/`, where filling it harms the node."""
    allow_network_filesystem: bool = False
    """Network file systems break locking and hard links in ways that lose models."""
    sources: tuple[Source, ...] = ()
    """None listed: the ambient AWS chain serves any s3:// URI, and https:// needs no rule."""
    timeouts: Timeouts = Timeouts()
    transfer: Transfer = Transfer()
    budget: Budget = Budget()
    leases: Leases = Leases()
    scrub: Scrub = Scrub()
    quotas: tuple[Quota, ...] = ()
    """Limits of namespaces; one that is not listed has none."""

    def __post_init__(self) -> None:
        prefixes = [source.prefix for source in self.sources]
        twice = next((prefix for prefix in prefixes if prefixes.count(prefix) > 1), None)
        if twice is not None:
            raise ValueError(f"sources lists the prefix {twice!r} twice; each prefix has one rule")
        names = [quota.namespace for quota in self.quotas]
        again = next((name for name in names if names.count(name) > 1), None)
        if again is not None:
            raise ValueError(f"quotas lists the namespace {again!r} twice")


def parse_config(text: str | bytes, *, where: str) -> Config:
    """The settings in a YAML text. Raises Permanent that names the key, the value and what is allowed."""
    try:
        return codec.decode_yaml(text, Config) if text.strip() else Config()
    except msgspec.MsgspecError as error:
        reason = codec.explain(error, Config, text, msgspec.yaml.decode)
        raise Permanent(
            f"{where}: {reason}", hint="`cachectl config --defaults` prints every key with its default"
        ) from error


def load_config(path: Path | None) -> Config:
    """The settings in `path`, or, without one, in /etc/cached/config.yaml if that exists, else the defaults."""
    if path is None and not DEFAULT_CONFIG.exists():
        return Config()
    chosen = path or DEFAULT_CONFIG
    try:
        text = chosen.read_text()
    except OSError as error:
        raise Permanent(f"cannot read {chosen}: {error.strerror}", hint="check --config") from error
    except UnicodeDecodeError as error:
        raise Permanent(f"cannot read {chosen}: it is not text in UTF-8", hint="check --config") from error
    return parse_config(text, where=str(chosen))
