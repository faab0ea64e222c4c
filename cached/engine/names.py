"""What becomes of a name's ref. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from cached.store.records import Held, Placed, Ref


def pointed(ref: Ref, placed: Placed, *, now: float) -> Ref:
    """`ref`, pointing to `placed`. A tree that it leaves stays held: whoever started before `now` still reads it."""
    history = ref.history
    if ref.placed is not None and ref.placed.tree != placed.tree:
        history = (*history, Held(tree=ref.placed.tree, since=ref.placed.at, until=now))
    return replace(ref, placed=placed, failure=None, history=history)
