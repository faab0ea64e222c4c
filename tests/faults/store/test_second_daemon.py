from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cached.errors import Conflict
from tests.unit.store.making import open_store

HOLDER = """
import sys
from pathlib import Path
from cached.clock import SystemClock
from tests.unit.store.making import open_store
open_store(Path(sys.argv[1]), clock=SystemClock())
print("open", flush=True)
sys.stdin.read()
"""


def test_another_process_on_the_same_root_is_named_and_its_death_frees_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    command = [sys.executable, "-c", HOLDER, str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(Conflict, match=f"pid {holder.pid}"):
            open_store(root)
        holder.kill()
        holder.wait()
        open_store(root).close()
