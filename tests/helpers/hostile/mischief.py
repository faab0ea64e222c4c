"""Which faults strike which request: counting, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from tests.helpers.hostile.exchange import Op, Request
from tests.helpers.hostile.faults import Fault


@dataclass(slots=True)
class _Rule:
    """Strikes `times` requests after `skip` that match."""

    path: str
    op: Op
    skip: int
    times: int | None
    fault: Fault | None = None
    action: Callable[[], object] | None = None

    def matches(self, request: Request) -> bool:
        if request.op is not self.op:
            return False
        if self.path.endswith("*"):
            return request.path.startswith(self.path[:-1])
        return request.path == self.path

    def strike(self) -> bool:
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
            return self.times >= 0
        return True


class Mischief:
    """The rules in force, in the order declared."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[_Rule] = []

    def add(self, path: str, fault: Fault, *, times: int | None, skip: int, op: Op) -> None:
        """See `Hostile.misbehave`."""
        with self._lock:
            self._rules.append(_Rule(path, op, skip, times, fault=fault))

    def add_action(self, path: str, action: Callable[[], object], *, skip: int, op: Op) -> None:
        """See `Hostile.when`."""
        with self._lock:
            self._rules.append(_Rule(path, op, skip, 1, action=action))

    def due(self, request: Request) -> list[Fault]:
        """The faults of this request; its actions are carried out here, so the answer already shows them."""
        with self._lock:
            struck = [rule for rule in self._rules if rule.matches(request) and rule.strike()]
        for rule in struck:
            if rule.action:
                rule.action()
        return [rule.fault for rule in struck if rule.fault]
