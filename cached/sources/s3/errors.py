"""The one place where botocore's errors become ours, each with what mends it.

Nothing outside this package sees a botocore exception. Messages name the bucket, the key and the endpoint,
never a credential.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from botocore import exceptions as boto
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from cached.errors import CachedError, Code, NotAuthorized, NotFound, Permanent, Retryable, Unsupported


class StaleCredentials(NotAuthorized):
    """Refused in a way that renewed credentials may mend: look them up again once."""


@dataclass(frozen=True, slots=True)
class Call:
    """What was asked, for messages. `anonymous`: no credentials were found, so nothing was signed."""

    what: str
    bucket: str
    endpoint: str
    anonymous: bool


_STALE = {
    "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId",
}  # fmt: skip
_DENIED = {"AccessDenied", "AllAccessDisabled", "AccountProblem", "401", "403", "Forbidden", "Unauthorized"}
_BUSY = {"SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "Throttling", "ThrottlingException"}
_REGION = {"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "301", "307"}
_OURS = {"ListObjectsV2", "HeadObject"}

_GIVE = "give credentials as for any AWS tool: AWS_PROFILE, AWS_ACCESS_KEY_ID, or a web identity"
_NO_CREDENTIALS: tuple[type[Exception], ...] = (
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.CredentialRetrievalError,
    boto.ProfileNotFound,
    boto.ConfigParseError,
    boto.ConfigNotFound,
    boto.InvalidConfigError,
    boto.UnknownCredentialError,
    boto.TokenRetrievalError,
    boto.SSOError,
    boto.LoginError,
    boto.MetadataRetrievalError,
    boto.RefreshWithMFAUnsupportedError,
    boto.MissingDependencyException,
)


@contextlib.contextmanager
def mapped(call: Call) -> Iterator[None]:
    """Raises what botocore raises inside the block as a CachedError."""
    try:
        yield
    except ClientError as error:
        raise _from_answer(error, call) from error
    except (BotoCoreError, ResponseParserError) as error:
        raise _without_answer(error, call) from error
    except (ValueError, TypeError) as error:  # botocore's own, for a field that is not what the protocol says
        raise Retryable(
            f"{call.endpoint} sends no proper S3 answer for {call.what}: {error}",
            hint="check that the endpoint is an S3 server",
        ) from error


@contextlib.contextmanager
def opening(call: Call) -> Iterator[None]:
    """`mapped`, for making a client: there botocore has a bare ValueError for an endpoint that is no URL. Its text
    is not repeated, since an endpoint may hold a password.
    """
    with mapped(call):
        try:
            yield
        except BotoCoreError:  # some of these are ValueErrors too, and say more
            raise
        except ValueError as error:
            raise Permanent(
                "the endpoint for S3 is not a URL",
                hint="write http://host or https://host in AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile",
            ) from error


def _from_answer(error: ClientError, call: Call) -> CachedError:
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if error.operation_name not in _OURS:
        return _from_credentials_service(error, code, status)
    if code in _STALE or (code == "400" and error.operation_name == "HeadObject"):
        return StaleCredentials(f"{call.endpoint} refuses the credentials for {call.what}: {code}", hint=_GIVE)
    return (
        _refused(code, call) or _missing(code, call) or _busy(error, code, status, call) or _other(code, status, call)
    )


def _refused(code: str, call: Call) -> CachedError | None:
    if code in _DENIED and call.anonymous:
        return StaleCredentials(f"{call.what} is not public, and no credentials were found", hint=_GIVE)
    if code in _DENIED:
        return NotAuthorized(
            f"the credentials may not read {call.what} ({code})",
            hint="allow them s3:ListBucket on the bucket and s3:GetObject below the path",
        )
    if code == "SignatureDoesNotMatch":
        return NotAuthorized(
            f"{call.endpoint} refuses the signature for {call.what}",
            hint="the secret key does not belong to the access key, or a proxy changes requests",
        )
    if code == "RequestTimeTooSkewed":
        return NotAuthorized(
            f"{call.endpoint} refuses the request for {call.what}: this machine's clock is wrong",
            hint="set the clock (NTP); S3 allows 15 minutes",
        )
    return None


def _missing(code: str, call: Call) -> CachedError | None:
    if code == "NoSuchBucket":
        return NotFound(
            f"there is no bucket {call.bucket!r} at {call.endpoint}",
            hint="check the bucket's name, and the endpoint of the source in the settings",
        )
    if code in {"NoSuchKey", "404", "NotFound", "NoSuchVersion"}:
        return NotFound(f"there is no {call.what} at {call.endpoint}", hint="keys are case-sensitive and literal")
    if code == "InvalidObjectState":
        return Unsupported(f"{call.what} is archived", hint="restore it first, or copy it to another storage class")
    return None


def _busy(error: ClientError, code: str, status: int, call: Call) -> CachedError | None:
    if code not in _BUSY and status != 429 and status < 500:
        return None
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    after = headers.get("retry-after", "")
    if code == "500" and error.operation_name != "HeadObject":  # what botocore makes of a 200 that is no XML
        return Retryable(
            f"{call.endpoint} gave no answer that can be read for {call.what}",
            hint="ask again later; if it stays so: is the endpoint an S3 server, and not its console?",
        )
    return Retryable(
        f"{call.endpoint} is busy: {status} {code} for {call.what}",
        hint="ask again later; what arrived is kept",
        retry_after=float(after) if after.isdigit() else None,
    )


def _other(code: str, status: int, call: Call) -> CachedError:
    if code in _REGION:
        return Permanent(
            f"{call.bucket} is in another region, and {call.endpoint} does not say which ({code})",
            code=Code.SOURCE_UNAVAILABLE,
            hint="set region of the source in the settings, or AWS_REGION",
        )
    return Permanent(
        f"{call.endpoint} answered {status} {code} for {call.what}",
        code=Code.SOURCE_UNAVAILABLE,
        hint="is the endpoint an S3 server? see its log",
    )


def _from_credentials_service(error: ClientError, code: str, status: int) -> CachedError:
    """From STS or the like, called on the way to credentials."""
    said = f"credentials could not be obtained: {error.operation_name} answered {status} {code}"
    if status >= 500 or code in _BUSY:
        return Retryable(said, hint="ask again later")
    return NotAuthorized(said, hint="check the role's trust policy and the web identity")


def _without_answer(error: Exception, call: Call) -> CachedError:
    if isinstance(error, _NO_CREDENTIALS):
        return NotAuthorized(f"credentials could not be obtained: {error}", hint=_GIVE)
    if isinstance(error, boto.SSLError):
        return Permanent(
            f"no trusted connection to {call.endpoint}: {error}",
            code=Code.SOURCE_UNAVAILABLE,
            hint="set ca_file of the source to the PEM bundle of its authority",
        )
    if isinstance(error, (boto.ConnectionError, boto.HTTPClientError)):
        return Retryable(
            f"cannot reach {call.endpoint} for {call.what}: {error}",
            hint="check the endpoint of the source, name resolution and the network",
        )
    if isinstance(error, ResponseParserError):
        return Permanent(
            f"{call.endpoint} does not answer in S3's language for {call.what}",
            code=Code.SOURCE_UNAVAILABLE,
            hint="is the endpoint an S3 server, and not its console?",
        )
    return Permanent(f"{call.what} cannot be asked for: {error}", hint="check the URI and the source's settings")
