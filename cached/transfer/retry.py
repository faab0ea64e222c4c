"""What to do about a job that failed: pure rules from a fault to an action.

Source of the rules: docs/architecture.md, "When a request fails". The caller carries the action out.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from cached.config import Timeouts
from cached.errors import (
    CachedError,
    Code,
    InsufficientSpace,
    NotAuthorized,
    NotFound,
    Permanent,
    Retryable,
    SourceChanged,
    Unsupported,
)
from cached.transfer.protocol import Failed, Fault

_SPACE = {errno.ENOSPC, errno.EDQUOT}
_EXPIRED = {"ExpiredToken", "RequestTimeTooSkewed", "ExpiredTokenException", "TokenRefreshRequired"}
_BUSY = {429, 500, 502, 503, 504, 408}


@dataclass(frozen=True, slots=True)
class Retry:
    """Ask for the rest again after `after` seconds; `fresh` renews credentials or a redirect first."""

    after: float
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Stream:
    """The server sends no ranges of this object: begin again from 0 as one stream."""


@dataclass(frozen=True, slots=True)
class Fail:
    """The file fails with this error."""

    error: CachedError


Action = Retry | Stream | Fail


def decide(
    failed: Failed,
    *,
    what: str,
    attempt: int,
    attempts: int,
    refreshed: bool,
    timeouts: Timeouts,
    jitter: Callable[[], float],
) -> Action:
    """What to do about `failed`, the `attempt`-th (from 1) failure in a row without progress.

    `what` names the file for messages. `refreshed`: credentials were renewed since the last progress, so a
    second refusal is final. `jitter` returns a number in [0, 1).
    """
    final = _final(failed, what, refreshed=refreshed)
    if final is not None:
        return final
    if not refreshed and (failed.fault is Fault.REDIRECT or is_refusal(failed)):
        return Retry(0.0, fresh=True)
    if attempt >= attempts:
        return Fail(_gave_up(failed, what, attempt))
    return Retry(_delay(failed, attempt, timeouts, jitter))


def _final(failed: Failed, what: str, *, refreshed: bool) -> Action | None:
    match failed.fault:
        case Fault.DISK:
            return Fail(disk_error(failed.errno, what))
        case Fault.SOURCE_FILE:
            return Fail(_source_file(failed, what))
        case Fault.CHANGED:
            return Fail(SourceChanged(f"{what} was replaced at the source while it was fetched", hint=_CHANGED))
        case Fault.TLS:
            return Fail(_tls_error(failed, what))
        case Fault.WHOLE:
            return Stream()
        case Fault.STATUS:
            return _final_status(failed, what, refreshed=refreshed)
        case _:
            return None


def _final_status(failed: Failed, what: str, *, refreshed: bool) -> Fail | None:
    if is_refusal(failed):
        return Fail(_refusal(failed, what)) if refreshed else None
    if failed.status == 416:
        return Fail(SourceChanged(f"the server says that {what} ends before its listed size (416)", hint=_CHANGED))
    return None if failed.status in _BUSY else Fail(_status_error(failed, what))


def disk_error(number: int, what: str) -> CachedError:
    """The error for an errno of the cache's own disk."""
    if number in _SPACE:
        return InsufficientSpace(
            f"the disk is full while writing {what}",
            hint="free space on the cache's disk, or remove models: cachectl rm",
        )
    return CachedError(
        f"writing {what} failed: {errno.errorcode.get(number, number)}",
        hint="look at the kernel's log: the cache's disk reports errors",
    )


_CHANGED = "it will be looked up again; upload new versions under new names to avoid this"


def is_refusal(failed: Failed) -> bool:
    """Whether the server refused the signature or the credentials, which renewing them may mend."""
    return failed.status in {401, 403} or (failed.status == 400 and _s3_code(failed) in _EXPIRED)


def _s3_code(failed: Failed) -> str:
    found = re.search(r"<Code>([A-Za-z0-9]{1,80})</Code>", failed.body)
    return found.group(1) if found else ""


def _refusal(failed: Failed, what: str) -> CachedError:
    code = _s3_code(failed)
    return NotAuthorized(
        f"the server refuses to send {what}: {failed.status} {code}".rstrip(),
        hint="check the credentials and what they may read; a wrong clock is refused too",
    )


def _status_error(failed: Failed, what: str) -> CachedError:
    code = _s3_code(failed)
    said = f"{failed.status} {code}".rstrip()
    if code == "InvalidObjectState":
        return Unsupported(f"{what} is archived and cannot be read ({said})", hint="restore the object first")
    if failed.status in {404, 410}:
        return NotFound(f"{what} is no longer there ({said})", hint="it was listed a moment ago; was it deleted?")
    return Permanent(
        f"the server answered {said} for {what}",
        code=Code.SOURCE_UNAVAILABLE,
        hint="the request was well-formed; look at the server's log",
    )


def _tls_error(failed: Failed, what: str) -> CachedError:
    return Permanent(
        f"no trusted connection for {what}: {failed.message}",
        code=Code.SOURCE_UNAVAILABLE,
        hint="set ca_file of the source to the PEM bundle of its authority",
    )


def _source_file(failed: Failed, what: str) -> CachedError:
    if failed.errno == 0:
        return SourceChanged(f"{what} was changed while it was copied", hint=_CHANGED)
    if failed.errno in {errno.EACCES, errno.EPERM}:
        return NotAuthorized(f"cannot read {what}: permission denied", hint="let the daemon's user read it")
    if failed.errno == errno.ENOENT:
        return NotFound(f"{what} is no longer there", hint="it was listed a moment ago; was it deleted?")
    return Retryable(f"cannot read {what}: {failed.message}", hint="check the disk it lies on")


def _gave_up(failed: Failed, what: str, attempt: int) -> CachedError:
    code = Code.STALLED if failed.fault in {Fault.STALLED, Fault.FIRST_BYTE} else Code.SOURCE_UNAVAILABLE
    status = f" {failed.status}" if failed.status else ""
    return Retryable(
        f"gave up on {what} after {attempt} tries without progress; the last: {failed.fault}{status}: {failed.message}",
        code=code,
        hint="what arrived is kept: ask again when the source is well, and it goes on from there",
    )


def _delay(failed: Failed, attempt: int, timeouts: Timeouts, jitter: Callable[[], float]) -> float:
    backoff = min(timeouts.retry_cap, timeouts.retry_base * 2 ** (attempt - 1)) * jitter()
    asked = retry_after(failed.headers.get("retry-after", ""), failed.headers.get("date", ""))
    return float(backoff if asked is None else min(asked, timeouts.retry_cap) + backoff)


def retry_after(text: str, date: str) -> float | None:
    """The seconds a Retry-After header asks for (RFC 9110 section 10.2.3), a date counted from the answer's
    own Date header so that the clocks need not agree; None when there is none or it makes no sense.
    """
    if re.fullmatch(r"[0-9]{1,9}", text.strip()):
        return float(text)
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(date)
        return max(0.0, float(wait.total_seconds()))
    except (ValueError, TypeError):
        return None
