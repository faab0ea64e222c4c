from __future__ import annotations

import re
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import pytest

from benchmarks.datasets import DataSet, shards
from benchmarks.listing import Page, empty, pages

NS = {"s3": "http://s3.amazonaws.com/doc/2006-03-01/"}


def _asked(answers: tuple[Page, ...], **query: str) -> Page:
    """As nginx's `map` chooses: the first expression that matches, else the default."""
    text = urlencode(query)
    return next((page for page in answers if re.search(page.query, text)), empty())


def _walk(dataset: DataSet, *, version: int) -> list[str]:
    keys: list[str] = []
    query = {"prefix": f"{dataset.name}/"}
    while True:
        root = ET.fromstring(_asked(pages(dataset), **query).xml)
        keys += [key.text or "" for key in root.iterfind(".//s3:Key", NS)]
        if root.findtext("s3:IsTruncated", namespaces=NS) == "false":
            return keys
        token = root.findtext("s3:NextContinuationToken", namespaces=NS) or ""
        query |= {"continuation-token": token} if version == 2 else {"marker": keys[-1]}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("count", [1, 999, 1000, 1001, 2500])
def test_following_the_listing_names_every_key_once(count: int, version: int) -> None:
    dataset = shards("set", count=count, size=1)
    assert _walk(dataset, version=version) == [f"set/{file.name}" for file in dataset.files]


def test_a_set_whose_name_begins_like_another_is_another() -> None:
    answers = pages(shards("p4", count=1, size=1))
    assert empty() == _asked(answers, prefix="p4-eighth/")


def test_the_listed_etag_is_quoted_as_in_an_answer_header() -> None:
    dataset = shards("set", count=1, size=255)
    root = ET.fromstring(pages(dataset)[0].xml)
    assert root.findtext(".//s3:ETag", namespaces=NS) == '"6553f100-ff"'
