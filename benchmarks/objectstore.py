"""A real object store for the question of what a second version costs: there ETags must be made from the content, as
S3's are and nginx's are not.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import boto3
from botocore.config import Config

from benchmarks.datasets import BUCKET, DataSet
from benchmarks.server import Endpoint
from tests.helpers.seaweed import seaweed


@contextlib.contextmanager
def serve(folder: Path, *, datasets: Sequence[DataSet]) -> Iterator[Endpoint]:
    """SeaweedFS with the files of `datasets`, which lie in `www` below `folder`, until the block ends."""
    with seaweed(folder=folder / "seaweed") as store:
        client = boto3.client(
            "s3",
            endpoint_url=store.endpoint,
            region_name="us-east-1",
            aws_access_key_id=store.keys.access,
            aws_secret_access_key=store.keys.secret,
            config=Config(s3={"addressing_style": "path"}),
        )
        client.create_bucket(Bucket=BUCKET)
        for dataset in datasets:
            for file in dataset.files:
                path = folder / "www" / BUCKET / dataset.name / file.name
                client.put_object(Bucket=BUCKET, Key=f"{dataset.name}/{file.name}", Body=path.read_bytes())
        yield Endpoint(url=store.endpoint, folder=folder)
