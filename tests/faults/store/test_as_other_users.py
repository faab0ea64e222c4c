"""The whole store suite as the users that production knows: uid 0 without any capability, and uid 1000.

Tests as almighty root hide what those may not do: write into a 0555 folder, open a 0444 file for writing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
SETTINGS = "[pytest]\naddopts = --import-mode=importlib\npythonpath = .\nfilterwarnings = error\n"
NO_CAPABILITIES = ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
USERS = {
    "uid 0 without capabilities": [*NO_CAPABILITIES],
    "uid 1000": ["--reuid=1000", "--regid=1000", "--clear-groups", *NO_CAPABILITIES],
}

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root"),
    pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv (util-linux) is not installed"),
]


@pytest.fixture(scope="module")
def checkout() -> Iterator[Path]:
    """A copy of what the suite needs, in a folder that every user can read: the real one may lie below /root."""
    with tempfile.TemporaryDirectory(prefix="cached-suite-") as folder:
        top = Path(folder)
        _fill(top)
        yield top


def _fill(top: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__", ".hypothesis")
    shutil.copytree(REPOSITORY / "cached", top / "cached", ignore=ignore)
    shutil.copytree(REPOSITORY / "tests/unit/store", top / "tests/unit/store", ignore=ignore)
    (top / "pytest.ini").write_text(SETTINGS)
    for name in _closure({"pytest", "hypothesis", "msgspec", "structlog"}):
        _copy_distribution(name, top / "site")
    subprocess.run(["chmod", "-R", "a+rX", str(top)], check=True)
    (top / ".hypothesis").mkdir()
    (top / ".hypothesis").chmod(0o777)


def _closure(names: set[str]) -> set[str]:
    """These distributions and all that they require here."""
    found: set[str] = set()
    while names:
        name = names.pop()
        found.add(name)
        requires = [text for text in metadata.requires(name) or () if "extra ==" not in text]
        needed = {re.split(r"[^A-Za-z0-9._-]", text)[0].lower() for text in requires}
        names |= {other for other in needed - found if _installed(other)}
    return found


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _copy_distribution(name: str, target: Path) -> None:
    for file in metadata.files(name) or ():
        if ".." not in file.parts and file.suffix != ".pyc":
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), target / file)


def _run(user: str, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "site"}
    # setpriv itself still has its capabilities when it executes; what the shell executes is found without them.
    shell = ["/bin/sh", "-c", 'exec "$0" "$@"']
    return subprocess.run(
        ["setpriv", *USERS[user], *shell, *command],
        cwd=cwd,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )


def _python_for(user: str, checkout: Path) -> str:
    """An interpreter of this minor version that the user may run and that takes the copied packages."""
    minor = f"python3.{sys.version_info.minor}"
    for python in (os.path.realpath(sys.executable), f"/usr/bin/{minor}", f"/usr/local/bin/{minor}"):
        probe = "import msgspec, pytest, hypothesis, sqlite3"
        if Path(python).exists() and _run(user, python, "-c", probe, cwd=checkout).returncode == 0:
            return python
    pytest.skip(f"no {minor} here that {user} may run")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("user", USERS)
def test_the_store_suite_passes_as(user: str, checkout: Path) -> None:
    python = _python_for(user, checkout)
    base = checkout / f"temporary-{list(USERS).index(user)}"
    base.mkdir()
    os.chown(base, *((1000, 1000) if "1000" in user else (0, 0)))
    arguments = ["-q", "-p", "no:cacheprovider", f"--basetemp={base / 'pytest'}", "tests/unit/store"]
    result = _run(user, python, "-m", "pytest", *arguments, cwd=checkout)
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]
    assert re.search(r"\d{3} passed", result.stdout)


def test_a_process_without_capabilities_is_no_longer_almighty(checkout: Path) -> None:
    locked = checkout / "locked"
    locked.mkdir(mode=0o555)
    for user in USERS:
        assert _run(user, "/bin/mkdir", str(locked / "x"), cwd=checkout).returncode != 0
