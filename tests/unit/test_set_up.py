"""What `scripts/setup` does where a package of the system is missing: it installs it and says so, or says the line."""

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
    # Whatever is missing, the checkout keeps its folder of builds.
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
    ended = ended_on(tmp_path, 0, make="exit 0", **{"apt-get": 'echo "called: apt-get $*"'})
    said = f"{MISSING}setup: installing system packages: {LINE}\ncalled: {LINE}\n"
    assert ended.stderr.startswith(said + NO_CARGO)


def test_it_fetches_the_lists_of_a_fresh_machine(tmp_path: Path) -> None:
    script = f'echo "$*" >>{tmp_path}/calls; [ "$1" = update ] && echo >{tmp_path}/updated; [ -e {tmp_path}/updated ]'
    assert NO_CARGO in ended_on(tmp_path, 0, **{"apt-get": script}).stderr
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert [call.partition(" ")[0] for call in calls] == ["install", "update", "install"]


def test_it_ends_when_the_installation_fails(tmp_path: Path) -> None:
    ended = ended_on(tmp_path, 0, make="exit 0", **{"apt-get": "exit 100"})
    assert ended.stderr.endswith(f"setup: this failed: {LINE}\n")


@pytest.mark.parametrize(
    ("user", "programs", "cure"),
    [
        (1000, {"apt-get": "exit 1"}, f": sudo {LINE}"),
        (1000, {}, f" {OTHER_SYSTEM}"),
        (0, {}, f" {OTHER_SYSTEM}"),
    ],
)
def test_it_says_the_line_that_it_may_not_run_itself(
    user: int, programs: dict[str, str], cure: str, tmp_path: Path
) -> None:
    ended = ended_on(tmp_path, user, make="exit 0", **programs)
    assert ended.stderr.startswith(f"{MISSING}setup: install what is missing with{cure}\n{NO_CARGO}")
