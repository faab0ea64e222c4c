from __future__ import annotations

import errno
from typing import Any

import pytest

from cached.config import Seconds, Timeouts
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
from cached.transfer.retry import Action, Fail, Retry, Stream, decide, retry_after

TIMEOUTS = Timeouts(retry_base=Seconds(1), retry_cap=Seconds(20))


def failed(fault: Fault, **fields: Any) -> Failed:
    return Failed(job=1, fault=fault, message="m", written=0, xxh3="0" * 32, checksum=None, **fields)


def action(what: Failed, *, attempt: int = 1, refreshed: bool = False) -> Action:
    return decide(
        what, what="w", attempt=attempt, attempts=8, refreshed=refreshed, timeouts=TIMEOUTS, jitter=lambda: 0.5
    )


FINAL: list[tuple[Failed, type[CachedError]]] = [
    (failed(Fault.DISK, errno=errno.ENOSPC), InsufficientSpace),
    (failed(Fault.DISK, errno=errno.EDQUOT), InsufficientSpace),
    (failed(Fault.DISK, errno=errno.EIO), CachedError),
    (failed(Fault.CHANGED, status=412), SourceChanged),
    (failed(Fault.SOURCE_FILE), SourceChanged),
    (failed(Fault.SOURCE_FILE, errno=errno.EACCES), NotAuthorized),
    (failed(Fault.SOURCE_FILE, errno=errno.ENOENT), NotFound),
    (failed(Fault.SOURCE_FILE, errno=errno.EIO), Retryable),
    (failed(Fault.STATUS, status=404), NotFound),
    (failed(Fault.STATUS, status=416), SourceChanged),
    (failed(Fault.STATUS, status=418), Permanent),
    (failed(Fault.TLS), Permanent),
]


@pytest.mark.parametrize(("what", "kind"), FINAL, ids=lambda value: getattr(value, "fault", None))
def test_what_no_retry_mends_fails_at_once(what: Failed, kind: type[CachedError]) -> None:
    decided = action(what)
    assert isinstance(decided, Fail)
    assert type(decided.error) is kind
    assert decided.error.hint


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_is_signed_again_once_and_then_final(status: int) -> None:
    refusal = failed(Fault.STATUS, status=status)
    second = action(refusal, refreshed=True)
    assert action(refusal) == Retry(0.0, fresh=True)
    assert isinstance(second, Fail)
    assert isinstance(second.error, NotAuthorized)


def test_an_expired_token_is_a_400_that_is_signed_again() -> None:
    expired = failed(Fault.STATUS, status=400, body="<Error><Code>ExpiredToken</Code></Error>")
    assert action(expired) == Retry(0.0, fresh=True)


def test_a_redirect_is_looked_up_again_before_it_counts() -> None:
    assert action(failed(Fault.REDIRECT, status=307)) == Retry(0.0, fresh=True)


def test_an_archived_object_says_so() -> None:
    archived = action(failed(Fault.STATUS, status=400, body="<Code>InvalidObjectState</Code>"))
    assert isinstance(archived, Fail)
    assert isinstance(archived.error, Unsupported)


def test_a_server_without_ranges_is_read_as_one_stream() -> None:
    assert action(failed(Fault.WHOLE, status=200)) == Stream()


@pytest.mark.parametrize(("attempt", "after"), [(1, 0.5), (2, 1.0), (4, 4.0), (7, 10.0)])
def test_retries_wait_twice_as_long_each_time_up_to_the_cap_with_jitter(attempt: int, after: float) -> None:
    assert action(failed(Fault.SHORT), attempt=attempt) == Retry(after)


def test_a_busy_server_is_obeyed_up_to_the_cap_and_then_given_some_jitter() -> None:
    patient = failed(Fault.STATUS, status=503, headers={"retry-after": "7"})
    forever = failed(Fault.STATUS, status=429, headers={"retry-after": "3600"})
    assert (action(patient), action(forever)) == (Retry(7.5), Retry(20.5))


@pytest.mark.parametrize(
    ("fault", "code"),
    [(Fault.STALLED, Code.STALLED), (Fault.FIRST_BYTE, Code.STALLED), (Fault.SHORT, Code.SOURCE_UNAVAILABLE)],
)
def test_after_the_last_try_the_error_says_what_the_last_fault_was(fault: Fault, code: Code) -> None:
    decided = action(failed(fault), attempt=8)
    assert isinstance(decided, Fail)
    assert (decided.error.code, type(decided.error)) == (code, Retryable)


@pytest.mark.parametrize(
    ("text", "date", "expected"),
    [
        ("120", "", 120.0),
        ("Tue, 01 Dec 2026 10:00:30 GMT", "Tue, 01 Dec 2026 10:00:00 GMT", 30.0),
        ("Tue, 01 Dec 2026 09:00:00 GMT", "Tue, 01 Dec 2026 10:00:00 GMT", 0.0),
        ("soon", "Tue, 01 Dec 2026 10:00:00 GMT", None),
        ("Tue, 01 Dec 2026 10:00:30 GMT", "", None),
        ("-5", "", None),
        ("", "", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_on_the_servers_own_clock(
    text: str, date: str, expected: float | None
) -> None:
    assert retry_after(text, date) == expected
