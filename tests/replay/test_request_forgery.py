"""The daemon's place on the node's network is not for its callers (server-side request forgery): what no source
lists is refused before any request.
"""

from __future__ import annotations

import pytest

from cached.api.types import Want
from cached.errors import NotAuthorized
from cached.types import Uri
from tests.helpers.rig import Rig


@pytest.mark.parametrize(
    "uri",
    [
        "https://169.254.169.254/latest/meta-data/iam",
        "http://169.254.169.254/latest/meta-data/iam",
        "http://localhost:{port}/files/secret",
        "http://127.0.0.1:{port}@elsewhere.example/files/secret",
        "http://127.0.0.1.example:{port}/files/secret",
        "http://127.0.0.1:{port}0/files/secret",
        "file:///etc/passwd",
    ],
)
async def test_an_address_that_no_source_lists_is_refused_without_a_request(rig: Rig, uri: str) -> None:
    rig.server.put_file("files/secret", b"mine")
    with pytest.raises(NotAuthorized) as caught:
        await rig.engine.submit(Want(uri=Uri(uri.format(port=rig.server.port))))
    assert "sources" in caught.value.hint
    assert rig.server.requests == []
    assert rig.engine.models() == ()
