"""`scripts/setup` without a package of the system: it installs it and says so, or prints the command."""

import shutil
import subprocess
from pathlib import Path

import pytest

from doubles.bare_machine import set_up

LINE = "apt-get install -y --no-install-recommends python3 python3-venv build-essential"
OTHER_SYSTEM = "your system's package manager (Debian calls it: python3 python3-venv build-essential)"
MISSING = "setup: missing: python3 with venv\nsetup: missing: a C compiler (cc)\n"
NO_CARGO = "setup: needs cargo >= 1.89, found none; "
HAS_ALL = {"python3": "exit 0", "cc": "exit 0", "make": "exit 0"}


def ended_on(folder: Path, user: int, **programs: str) -> "subprocess.CompletedProcess[str]":
    """Run set-up on a machine without cargo, where it ends after the packages of the system: nothing is built."""
    # The checkout keeps its folder of builds in any case.
    standard = {"dirname": f'exec {shutil.which("dirname")} "$@"', "mkdir": "exit 0"}
    ended = set_up("setup", folder, user, **(standard | programs))
    assert ended.returncode == 1
    assert ended.stdout == ""
    return ended


def test_it_asks_for_nothing_that_is_there(tmp_path: Path) -> None:
    ended = ended_on(tmp_path, 0, **HAS_ALL, **{"apt-get": "exit 1"})
    assert ended.stderr.startswith(NO_CARGO)
    assert ended.stderr.count("\n") == 1


def test_it_installs_what_is_missing_where_it_may_and_says_so(tmp_path: Path) -> None:
    ended = ended_on(tmp_path, 0, make="exit 0", **{"apt-get": 'echo "called: ${!#}"'})
    said = f"{MISSING}setup: installing system packages: {LINE}\ncalled: build-essential\n"
    assert ended.stderr.startswith(said + NO_CARGO)


def test_it_asks_for_make_of_its_own(tmp_path: Path) -> None:
    ended = ended_on(tmp_path, 0, python3="exit 0", cc="exit 0", **{"apt-get": "exit 0"})
    assert ended.stderr.startswith("setup: missing: make\nsetup: installing system packages: apt-get install ")
    assert ended.stderr.partition(NO_CARGO)[0].endswith(" make\n")


@pytest.mark.parametrize(
    ("user", "programs", "said"),
    [
        (0, {"apt-get": "exit 100"}, f"setup: failed three times: {LINE}\n"),
        (1000, {"apt-get": "exit 1"}, f"setup: install system packages with: sudo {LINE}\n"),
        (0, {}, f"setup: install system packages with {OTHER_SYSTEM}\n"),
    ],
)
def test_what_it_could_not_install_is_missed_where_it_is_needed(
    user: int, programs: dict[str, str], said: str, tmp_path: Path
) -> None:
    ended = ended_on(tmp_path, user, make="exit 0", **programs)
    assert ended.stderr.startswith(MISSING)
    before, _, _ = ended.stderr.partition(NO_CARGO)
    assert before.endswith(said)
