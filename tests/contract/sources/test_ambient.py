"""What a machine's own AWS settings say is obeyed as by every AWS tool, where no rule says otherwise."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cached import blocking
from cached.config import Source
from cached.errors import NotAuthorized, Permanent
from cached.sources.base import Request
from cached.sources.registry import Sources
from cached.types import Uri
from tests.contract.sources.conftest import KEYS, Open
from tests.contract.sources.places import HostileS3Place, S3Place
from tests.contract.sources.wire import fetch
from tests.helpers.hostile import Hostile

ANYWHERE = "s3://"


@pytest.fixture
def model(on_weed: S3Place) -> S3Place:
    on_weed.put("config.json", b"{}")
    return on_weed


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")


def write_config(tmp_path: Path, text: str) -> None:
    (tmp_path / "aws-config").write_text(text)


async def names(sources: Sources, place: S3Place | HostileS3Place) -> list[str]:
    """The files of the model, each of which was fetched."""
    source, listing = await sources.resolve(place.uri())
    for entry in listing.entries:
        request = await blocking.run(source.request, listing, entry)
        assert (await blocking.run(fetch, request, entry)).status == 200
    return [entry.path for entry in listing.entries]


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
async def test_the_endpoint_of_the_environment_is_asked(
    model: S3Place, open_sources: Open, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, model.rule.endpoint or "")
    assert await names(open_sources(), model) == ["config.json"]


async def test_the_endpoint_of_a_rule_wins_over_the_environment(
    model: S3Place, open_sources: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert await names(open_sources(model.rule), model) == ["config.json"]


async def test_a_rule_without_an_endpoint_takes_the_environments(
    model: S3Place, open_sources: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", model.rule.endpoint or "")
    assert await names(open_sources(Source(prefix=ANYWHERE)), model) == ["config.json"]


@pytest.mark.usefixtures("no_keys")
async def test_a_profile_gives_keys_endpoint_and_region(
    model: S3Place, open_sources: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "models")
    keys = f"aws_access_key_id = {KEYS.access}\naws_secret_access_key = {KEYS.secret}\n"
    write_config(tmp_path, f"[profile models]\nregion = eu-central-1\nendpoint_url = {model.rule.endpoint}\n{keys}")
    sources = open_sources()
    assert await names(sources, model) == ["config.json"]
    assert "/eu-central-1/s3/" in await authorization(sources, model)


async def authorization(sources: Sources, place: S3Place) -> str:
    source, listing = await sources.resolve(place.uri())
    request = await blocking.run(source.request, listing, listing.entries[0])
    return dict(request.headers).get("Authorization", "")


async def test_a_profile_that_does_not_exist_is_named(
    open_sources: Open, model: S3Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "misspelt")
    with pytest.raises(NotAuthorized, match="misspelt") as caught:
        await open_sources(model.rule).resolve(model.uri())
    assert "AWS_PROFILE" in caught.value.hint


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
async def test_the_region_of_the_environment_signs(
    model: S3Place, open_sources: Open, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "ap-south-1")
    assert "/ap-south-1/s3/" in await authorization(open_sources(model.rule), model)


async def test_the_region_of_a_rule_wins(model: S3Place, open_sources: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    rule = Source(prefix=ANYWHERE, endpoint=model.rule.endpoint, region="sa-east-1")
    assert "/sa-east-1/s3/" in await authorization(open_sources(rule), model)


async def test_the_bundle_of_the_environment_is_trusted(
    hostile_tls: Hostile, open_sources: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile_tls.put("models/m/config.json", b"{}")
    monkeypatch.setenv("AWS_CA_BUNDLE", str(hostile_tls.ca_file))
    sources = open_sources(Source(prefix=ANYWHERE, endpoint=hostile_tls.url))
    assert await names(sources, HostileS3Place(hostile_tls)) == ["config.json"]


@pytest.mark.usefixtures("no_keys")
async def test_without_credentials_nothing_is_signed(hostile: Hostile, open_sources: Open) -> None:
    place = HostileS3Place(hostile)
    place.put("config.json", b"{}")
    assert await names(open_sources(place.rule), place) == ["config.json"]
    assert [request.headers.get("authorization") for request in hostile.requests] == [None] * len(hostile.requests)


@pytest.mark.usefixtures("no_keys")
async def test_a_bucket_that_is_not_public_says_how_to_give_credentials(model: S3Place, open_sources: Open) -> None:
    with pytest.raises(NotAuthorized, match="no credentials were found") as caught:
        await open_sources(model.rule).resolve(model.uri())
    assert "AWS_ACCESS_KEY_ID" in caught.value.hint


class Program:
    """A credential process: what an operator's own vault helper is to the AWS chain."""

    def __init__(self, tmp_path: Path) -> None:
        self._answer = tmp_path / "answer.json"
        self.runs = tmp_path / "runs"
        script = tmp_path / "vault.py"
        script.write_text(
            f"import pathlib\nopen({str(self.runs)!r}, 'a').write('.')\n"
            f"print(pathlib.Path({str(self._answer)!r}).read_text())"
        )
        write_config(tmp_path, f"[default]\ncredential_process = {sys.executable} {script}\n")

    def gives(self, *, access: str = KEYS.access, secret: str = KEYS.secret, token: str | None = None) -> None:
        answer = {"Version": 1, "AccessKeyId": access, "SecretAccessKey": secret}
        self._answer.write_text(json.dumps(answer | ({"SessionToken": token} if token else {})))


@pytest.fixture
def program(no_keys: None, tmp_path: Path) -> Program:
    return Program(tmp_path)


async def test_refused_credentials_are_looked_up_again_once(
    model: S3Place, open_sources: Open, program: Program
) -> None:
    program.gives(access="AKIDSTALE", secret="stale")
    sources = open_sources(model.rule)
    with pytest.raises(NotAuthorized):
        await sources.resolve(model.uri())
    assert program.runs.read_text() == ".."
    program.gives()
    assert await names(sources, model) == ["config.json"]
    assert program.runs.read_text() == "..."


async def test_a_fresh_request_is_signed_with_credentials_looked_up_anew(
    model: S3Place, open_sources: Open, program: Program
) -> None:
    program.gives()
    source, listing = await open_sources(model.rule).resolve(model.uri())
    program.gives(token="rotated")

    def signed(*, fresh: bool) -> Request:
        return source.request(listing, listing.entries[0], fresh=fresh)

    requests = [await blocking.run(signed, fresh=fresh) for fresh in (False, True, False)]
    assert [dict(request.headers).get("X-Amz-Security-Token") for request in requests] == [None, "rotated", "rotated"]


async def test_a_web_identity_is_exchanged_for_keys(
    on_moto: S3Place, open_sources: Open, monkeypatch: pytest.MonkeyPatch, no_keys: None, tmp_path: Path
) -> None:
    on_moto.put("config.json", b"{}")
    (tmp_path / "token").write_text("header.payload.signature")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/models")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", on_moto.rule.endpoint or "")
    sources = open_sources(on_moto.rule)
    assert await names(sources, on_moto) == ["config.json"]
    assert (await authorization(sources, on_moto)).startswith("AWS4-HMAC-SHA256 Credential=ASIA")


@pytest.mark.usefixtures("no_keys")
async def test_an_identity_service_that_refuses_is_an_error_and_never_anonymous(
    hostile: Hostile, open_sources: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("header.payload.signature")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/models")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", hostile.url)
    place = HostileS3Place(hostile)
    place.put("config.json", b"{}")
    with pytest.raises(NotAuthorized, match="credentials could not be obtained"):
        await open_sources(place.rule).resolve(place.uri())
    assert [request.op for request in hostile.requests if request.bucket] == []


@pytest.mark.parametrize("endpoint", ["s3.example.internal:9000", "key:secret@h"])
async def test_an_endpoint_that_is_no_url_is_refused_with_the_settings_that_give_it(
    open_sources: Open, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(Permanent, match="endpoint for S3 is not a URL") as caught:
        await open_sources().resolve(Uri("s3://models/m"))
    assert "AWS_ENDPOINT_URL" in caught.value.hint
    assert "secret" not in caught.value.message


async def test_a_region_that_is_none_is_named(open_sources: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "no region")
    with pytest.raises(Permanent, match="no region"):
        await open_sources().resolve(Uri("s3://models/m"))
