from __future__ import annotations

import errno
import os

import pytest

from cached.errors import CachedError, Code, InsufficientSpace, NotFound, Permanent
from cached.store.oserrors import explain, mapped


def the_error(number: int) -> OSError:
    return OSError(number, os.strerror(number), "/r/x")


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (errno.ENOSPC, InsufficientSpace, Code.INSUFFICIENT_SPACE),
        (errno.EDQUOT, InsufficientSpace, Code.INSUFFICIENT_SPACE),
        (errno.ENOENT, NotFound, Code.NOT_FOUND),
        (errno.ENAMETOOLONG, Permanent, Code.INVALID_ARGUMENT),
        (errno.EROFS, Permanent, Code.INTERNAL),
        (errno.EACCES, Permanent, Code.INTERNAL),
        (errno.EIO, CachedError, Code.INTERNAL),
        (errno.EXDEV, CachedError, Code.INTERNAL),
    ],
    ids=lambda value: errno.errorcode.get(value, "") if isinstance(value, int) else "",
)
def test_an_error_of_the_disk_becomes_what_the_caller_can_act_on(
    number: int, kind: type[CachedError], code: Code
) -> None:
    error = explain(the_error(number), doing="seal")
    assert (type(error), error.code) == (kind, code)
    assert error.message == f"cannot seal: {os.strerror(number)} at /r/x"
    assert error.details == {"errno": errno.errorcode[number]}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO, errno.EXDEV, errno.EMFILE])
def test_an_error_that_a_person_can_mend_says_how(number: int) -> None:
    assert explain(the_error(number), doing="seal").hint


def test_an_error_without_a_number_keeps_its_words() -> None:
    assert explain(OSError("odd"), doing="seal").message == "cannot seal: odd"


def test_other_errors_pass_unchanged() -> None:
    @mapped("try")
    def raise_it() -> None:
        raise NotFound("as it was")

    with pytest.raises(NotFound, match="as it was"):
        raise_it()
