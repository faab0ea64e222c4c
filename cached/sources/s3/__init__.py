"""The room of botocore: S3 and what speaks its language. Imports nothing of the other sources."""

from cached.sources.s3.source import S3Source

__all__ = ["S3Source"]
