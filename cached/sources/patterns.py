"""Which files of a listing are wanted: allow and ignore patterns. Pure.

Patterns are those of `fnmatch` on the relative path, case-sensitive; `*` matches `/` too, so `*.json` also
takes `sub/config.json`. The same rule as huggingface_hub's allow_patterns and ignore_patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from cached.errors import NotFound
from cached.sources.base import Entry


def select(entries: Iterable[Entry], allow: Sequence[str] = (), ignore: Sequence[str] = ()) -> list[Entry]:
    """The entries that some `allow` pattern matches (all of them when there is none) and no `ignore` pattern.

    Raises NotFound when the patterns leave nothing.
    """
    everything = list(entries)
    chosen = [entry for entry in everything if _is_wanted(entry.path, allow, ignore)]
    if chosen or not everything:
        return chosen
    raise NotFound(
        f"the patterns leave none of the {len(everything)} files ({_spelled('allow', allow, 'ignore', ignore)})",
        hint=f"patterns match the whole relative path, such as {everything[0].path!r}; `*` also matches `/`",
    )


def _is_wanted(path: str, allow: Sequence[str], ignore: Sequence[str]) -> bool:
    allowed = not allow or any(fnmatchcase(path, pattern) for pattern in allow)
    return allowed and not any(fnmatchcase(path, pattern) for pattern in ignore)


def _spelled(first: str, allow: Sequence[str], second: str, ignore: Sequence[str]) -> str:
    given = [(first, allow), (second, ignore)]
    return "; ".join(f"{name}: {', '.join(patterns)}" for name, patterns in given if patterns)
