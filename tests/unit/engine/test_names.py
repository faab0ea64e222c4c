from __future__ import annotations

from msgspec.structs import replace

from cached.api.types import Want
from cached.engine.names import pointed
from cached.errors import Code
from cached.store.records import Failure, Held, Placed, Ref
from cached.types import ModelKey, ModelName, TreeId, Uri

OLD, NEW = TreeId("a" * 64), TreeId("b" * 64)
REF = Ref(name=ModelName("m"), want=Want(uri=Uri("s3://b/m")), asked=1.0)


def placed(tree: TreeId, at: float) -> Placed:
    return Placed(tree=tree, key=ModelKey("c" * 64), uri="s3://b/m", revision="r", rule="s3://", levels={}, at=at)


def test_a_tree_that_a_name_leaves_stays_held_for_those_who_started_before() -> None:
    moved = pointed(replace(REF, placed=placed(OLD, 2.0)), placed(NEW, 5.0), now=5.0)
    assert moved.history == (Held(tree=OLD, since=2.0, until=5.0),)
    assert moved.trees == {OLD, NEW}


def test_the_first_tree_and_the_same_tree_again_leave_nothing_behind() -> None:
    first = pointed(REF, placed(OLD, 2.0), now=2.0)
    assert (first.history, pointed(first, placed(OLD, 3.0), now=3.0).history) == ((), ())


def test_what_failed_before_is_forgotten() -> None:
    failed = replace(REF, failure=Failure(code=Code.STALLED, message="m"))
    assert pointed(failed, placed(NEW, 1.0), now=1.0).failure is None
