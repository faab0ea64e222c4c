"""Downloads every key below a prefix with boto3's `download_file`. Runs in `.venv-bench`.

usage: boto3_download.py default|tuned ENDPOINT CA_FILE BUCKET PREFIX FOLDER   (CA_FILE may be empty)

`default` is the loop of most scripts: one file after the other with the library's own settings. `tuned` fetches
four files at a time, each in 32 MiB parts over 16 threads, and writes 1 MiB at a time.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
from boto3.s3.transfer import TransferConfig
from botocore import UNSIGNED
from botocore.config import Config

MIB = 1 << 20
TUNED = TransferConfig(max_concurrency=16, multipart_chunksize=32 * MIB, io_chunksize=MIB)


def main(mode: str, endpoint: str, ca_file: str, bucket: str, prefix: str, folder: str) -> None:
    """List, then fetch."""
    tuned = mode == "tuned"
    settings = Config(
        signature_version=UNSIGNED, s3={"addressing_style": "path"}, max_pool_connections=64 if tuned else 10
    )
    client = boto3.client("s3", endpoint_url=endpoint, verify=ca_file or None, region_name="us-east-1", config=settings)
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    keys = [item["Key"] for page in pages for item in page.get("Contents", [])]

    def fetch(key: str) -> None:
        target = str(Path(folder) / key.removeprefix(prefix))
        client.download_file(bucket, key, target, Config=TUNED if tuned else None)

    with ThreadPoolExecutor(4 if tuned else 1) as pool:
        list(pool.map(fetch, keys))


if __name__ == "__main__":
    main(*sys.argv[1:])
