"""`make demo`: a real model from an S3 bucket into the cache, and what that buys. About half a minute.

It starts an S3 server (SeaweedFS, from a wheel) and a daemon, both on temporary folders, and runs the same
commands a person would. Nothing is left running and nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import wordllama
from botocore.config import Config
from safetensors import safe_open

from tests.helpers.seaweed import Keys, seaweed

CACHED, CACHECTL = (str(Path(sys.executable).with_name(name)) for name in ("cached", "cachectl"))
BUCKET = "models"
BIG = 512 << 20
"""Bytes of the download that gets interrupted: long enough to be hit in the middle."""
ROWS = 3


def say(text: str = "") -> None:
    """A line of the story."""
    print(text, flush=True)


def chapter(number: int, title: str) -> None:
    """The next part of the story."""
    say(f"\n\033[1m{number}. {title}\033[0m" if sys.stdout.isatty() else f"\n{number}. {title}")


def mib(count: int) -> str:
    """Bytes for people."""
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count} bytes"


class Demo:
    """The daemon of the story and the commands sent to it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.root = folder / "cache"
        self.root.mkdir()
        self.socket = folder / "cached.sock"
        self.config = folder / "config.yaml"
        self.environment = {**os.environ, **environment, "CACHED_SOCKET": str(self.socket)}
        self.daemon: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """`cached serve`, and wait for the line that says where it listens."""
        command = [CACHED, "serve", "--config", str(self.config), "--root", str(self.root)]
        log = self.config.with_name("daemon.log").open("ab")
        self.daemon = subprocess.Popen(
            [*command, "--socket", str(self.socket), "--port", "0"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=log,
        )
        assert self.daemon.stdout is not None
        if not self.daemon.stdout.readline():
            raise SystemExit(f"the daemon did not start:\n{self.config.with_name('daemon.log').read_text()}")

    def stop(self, number: signal.Signals) -> None:
        """End the daemon with a signal."""
        assert self.daemon is not None
        self.daemon.send_signal(number)
        self.daemon.wait()
        assert self.daemon.stdout is not None
        self.daemon.stdout.close()

    def run(self, *words: str) -> Any:
        """`cachectl WORDS --json`, shown and parsed."""
        say(f"   $ cachectl {' '.join(words)}")
        done = subprocess.run([CACHECTL, *words, "--json"], env=self.environment, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout) if done.stdout else None

    def progress(self) -> int:
        """Bytes of the large download that are in place."""
        command = [CACHECTL, "show", "big", "--json"]
        shown = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, check=True)
        return int(json.loads(shown.stdout)["model"]["bytes_done"])

    def prefetch(self, uri: str, name: str) -> tuple[Path, int]:
        """Prefetch and tell how it went: the folder to mount, and the bytes fetched."""
        done = self.run("prefetch", uri, "--name", name)
        say(f"   fetched {mib(done['bytes_fetched'])}, already here {mib(done['bytes_reused'])}")
        say(f"   proved by {done['verified']}, mount {done['path'].replace(str(self.root), '<root>')}")
        return Path(done["path"]), int(done["bytes_fetched"])


@contextlib.contextmanager
def running(folder: Path, environment: dict[str, str], endpoint: str) -> Iterator[Demo]:
    """A started daemon; it is gone afterwards, whatever happened."""
    demo = Demo(folder, environment)
    # Small windows, so that a kill after a second finds something to resume. The default is 256 MiB or 2 s.
    demo.config.write_text(
        f"transfer: {{window: 32MiB, window_time: 250ms}}\nsources:\n- prefix: s3://{BUCKET}/\n  endpoint: {endpoint}\n"
    )
    demo.start()
    try:
        yield demo
    finally:
        demo.stop(signal.SIGTERM)


def upload(s3: Any) -> None:
    """Version 1 and 2 of a model that differ in one file, and one large object."""
    home = Path(wordllama.__file__).parent
    weights = home / "weights" / "l2_supercat_256.safetensors"
    tokenizer = home / "tokenizers" / "l2_supercat_tokenizer_config.json"
    s3.create_bucket(Bucket=BUCKET)
    for version in ("v1", "v2"):
        s3.put_object(Bucket=BUCKET, Key=f"wordllama/{version}/model.safetensors", Body=weights.read_bytes())
        s3.put_object(Bucket=BUCKET, Key=f"wordllama/{version}/tokenizer_config.json", Body=tokenizer.read_bytes())
        card = json.dumps({"model": "wordllama", "version": version})
        s3.put_object(Bucket=BUCKET, Key=f"wordllama/{version}/card.json", Body=card.encode())
    say(f"   uploaded {mib(weights.stat().st_size)} of weights and a tokenizer, twice; only card.json differs")


def two_versions(demo: Demo) -> None:
    """What a second version costs."""
    chapter(2, "The first version comes over the network, is checked, and becomes a folder")
    first, _ = demo.prefetch(f"s3://{BUCKET}/wordllama/v1", "wordllama-v1")
    chapter(3, "The second version shares all files but one, so only that one is fetched")
    second, _ = demo.prefetch(f"s3://{BUCKET}/wordllama/v2", "wordllama-v2")
    for file in sorted(first.iterdir()):
        shared = file.stat().st_ino == (second / file.name).stat().st_ino
        say(f"   {file.name:24} {'one inode, two names' if shared else 'its own file'}")
    chapter(4, "Readers see plain files: the safetensors library maps the weights from the published folder")
    with safe_open(first / "model.safetensors", framework="numpy") as tensors:
        for key in list(tensors.keys())[:ROWS]:
            tensor = tensors.get_tensor(key)
            say(f"   {key}: {tensor.dtype} {tensor.shape}, first value {tensor.flat[0]:.4f}")


def interrupted(demo: Demo, s3: Any) -> None:
    """What a kill costs."""
    chapter(5, f"A larger download ({mib(BIG)}) is killed in its middle, and goes on where it was")
    payload = hashlib.shake_128(b"cached").digest(1 << 20) * (BIG >> 20)
    s3.put_object(Bucket=BUCKET, Key="big/weights.bin", Body=payload)
    demo.run("prefetch", f"s3://{BUCKET}/big", "--name", "big", "--no-wait")
    before = 0
    while before < BIG // 3:
        time.sleep(0.05)
        before = demo.progress()
    demo.stop(signal.SIGKILL)
    say(f"   kill -9 of the daemon after {mib(before)}; start it again")
    demo.start()
    folder, fetched = demo.prefetch(f"s3://{BUCKET}/big", "big")
    say(f"   {mib(BIG - fetched)} were still there and were not fetched again")
    digest = hashlib.sha256((folder / "weights.bin").read_bytes()).hexdigest()
    say(f"   sha256 of the result: {'right' if digest == hashlib.sha256(payload).hexdigest() else 'WRONG'}")


def main() -> None:
    """Tell the story."""
    keys = Keys("demo-access", "demo-secret")
    with tempfile.TemporaryDirectory(prefix="cached-demo-") as folder, contextlib.ExitStack() as stack:
        chapter(1, "An object store with a real model in it")
        server = stack.enter_context(seaweed(keys=keys, folder=Path(folder) / "s3"))
        environment = {"AWS_ACCESS_KEY_ID": keys.access, "AWS_SECRET_ACCESS_KEY": keys.secret}
        s3 = boto3.client(
            "s3",
            endpoint_url=server.endpoint,
            region_name="us-east-1",
            aws_access_key_id=keys.access,
            aws_secret_access_key=keys.secret,
            config=Config(s3={"addressing_style": "path"}),
        )
        upload(s3)
        demo = stack.enter_context(running(Path(folder), environment, server.endpoint))
        two_versions(demo)
        interrupted(demo, s3)
        chapter(6, "What is here now")
        for model in demo.run("ls")["models"]:
            say(f"   {model['name']:16} {model['state']:8} {mib(model['bytes_total']):>12}  {model['verified']}")
    say("\nEverything was stopped and removed. The same commands work on a node: see README.md.")


if __name__ == "__main__":
    main()
