"""botocore's errors as ours, one row each: what the caller does about it, its code, and words of its hint."""

from __future__ import annotations

import pytest
from botocore import exceptions as boto
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from cached.errors import CachedError, Code, NotAuthorized, NotFound, Permanent, Retryable, Unsupported
from cached.sources.s3.errors import Call, StaleCredentials, mapped

CALL = Call("s3://bkt/m", "bkt", "https://s3.example", anonymous=False)


def answer(code: str, status: int = 400, operation: str = "ListObjectsV2", **headers: str) -> ClientError:
    said = {name.replace("_", "-"): text for name, text in headers.items()}
    metadata = {"HTTPStatusCode": status, "HTTPHeaders": said}
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": metadata}, operation)  # type: ignore[typeddict-item]


def as_ours(error: Exception, call: Call = CALL) -> CachedError:
    with pytest.raises(CachedError) as caught, mapped(call):
        raise error
    assert caught.value.__cause__ is error
    return caught.value


Row = tuple[Exception, type[CachedError], Code, str]
ANSWERS: list[Row] = [
    (answer("NoSuchBucket", 404), NotFound, Code.NOT_FOUND, "bucket's name"),
    (answer("NoSuchKey", 404), NotFound, Code.NOT_FOUND, "case-sensitive"),
    (answer("404", 404, "HeadObject"), NotFound, Code.NOT_FOUND, "case-sensitive"),
    (answer("AccessDenied", 403), NotAuthorized, Code.NOT_AUTHORIZED, "s3:ListBucket"),
    (answer("403", 403, "HeadObject"), NotAuthorized, Code.NOT_AUTHORIZED, "s3:GetObject"),
    (answer("SignatureDoesNotMatch", 403), NotAuthorized, Code.NOT_AUTHORIZED, "secret key"),
    (answer("RequestTimeTooSkewed", 403), NotAuthorized, Code.NOT_AUTHORIZED, "NTP"),
    (answer("ExpiredToken"), StaleCredentials, Code.NOT_AUTHORIZED, "AWS_PROFILE"),
    (answer("InvalidAccessKeyId", 403), StaleCredentials, Code.NOT_AUTHORIZED, "AWS_PROFILE"),
    (answer("400", 400, "HeadObject"), StaleCredentials, Code.NOT_AUTHORIZED, "AWS_PROFILE"),
    (answer("InvalidObjectState", 403), Unsupported, Code.UNSUPPORTED, "restore"),
    (answer("SlowDown", 503), Retryable, Code.SOURCE_UNAVAILABLE, "later"),
    (answer("TooManyRequests", 429), Retryable, Code.SOURCE_UNAVAILABLE, "later"),
    (answer("503", 503, "HeadObject"), Retryable, Code.SOURCE_UNAVAILABLE, "later"),
    (answer("500", 500), Retryable, Code.SOURCE_UNAVAILABLE, "S3 server"),
    (answer("PermanentRedirect", 301), Permanent, Code.SOURCE_UNAVAILABLE, "AWS_REGION"),
    (answer("MethodNotAllowed", 405), Permanent, Code.SOURCE_UNAVAILABLE, "S3 server"),
    (answer("AccessDenied", 403, "AssumeRoleWithWebIdentity"), NotAuthorized, Code.NOT_AUTHORIZED, "trust policy"),
    (answer("ExpiredTokenException", 400, "AssumeRole"), NotAuthorized, Code.NOT_AUTHORIZED, "web identity"),
    (answer("Throttling", 400, "AssumeRole"), Retryable, Code.SOURCE_UNAVAILABLE, "later"),
]
WITHOUT: list[Row] = [
    (boto.ProfileNotFound(profile="p"), NotAuthorized, Code.NOT_AUTHORIZED, "AWS_PROFILE"),
    (boto.CredentialRetrievalError(provider="p", error_msg="e"), NotAuthorized, Code.NOT_AUTHORIZED, "AWS_PROFILE"),
    (boto.SSLError(endpoint_url="u", error=OSError()), Permanent, Code.SOURCE_UNAVAILABLE, "ca_file"),
    (boto.EndpointConnectionError(endpoint_url="u", error=OSError()), Retryable, Code.SOURCE_UNAVAILABLE, "endpoint"),
    (boto.ReadTimeoutError(endpoint_url="u", error=OSError()), Retryable, Code.SOURCE_UNAVAILABLE, "network"),
    (boto.ConnectionClosedError(endpoint_url="u", error=OSError()), Retryable, Code.SOURCE_UNAVAILABLE, "network"),
    (ResponseParserError("no"), Permanent, Code.SOURCE_UNAVAILABLE, "console"),
    (boto.ParamValidationError(report="r"), Permanent, Code.INVALID_ARGUMENT, "settings"),
]


@pytest.mark.parametrize(("error", "kind", "code", "hint"), ANSWERS + WITHOUT, ids=lambda value: str(value)[:60])
def test_an_error_of_botocore_says_what_to_do(error: Exception, kind: type[CachedError], code: Code, hint: str) -> None:
    ours = as_ours(error)
    assert (type(ours), ours.code) == (kind, code)
    assert hint in ours.hint
    assert ours.message


def test_a_refusal_without_credentials_says_that_none_were_found() -> None:
    anonymous = Call("s3://bkt/m", "bkt", "https://s3.example", anonymous=True)
    ours = as_ours(answer("AccessDenied", 403), anonymous)
    assert ours.message == "s3://bkt/m is not public, and no credentials were found"


@pytest.mark.parametrize(("text", "seconds"), [("7", 7.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("", None)])
def test_a_busy_server_may_say_in_seconds_when_to_come_again(text: str, seconds: float | None) -> None:
    ours = as_ours(answer("SlowDown", 503, retry_after=text))
    assert isinstance(ours, Retryable)
    assert ours.retry_after == seconds


def test_what_is_not_botocores_passes() -> None:
    with pytest.raises(KeyError), mapped(CALL):
        raise KeyError
