"""Set-up installs a package of the system: in three tries if permitted, else it prints the command."""

import shutil
import subprocess
from pathlib import Path

import pytest

from doubles.bare_machine import SCRIPTS, set_up

LINE = "apt-get install -y --no-install-recommends chromium fish"


def install(folder: Path, user: int, **programs: str) -> "subprocess.CompletedProcess[str]":
    return set_up("apt-install", folder, user, "what tests use", "chromium", "fish", **programs)


def verbs_called(folder: Path) -> list[str]:
    return [line.partition(" ")[0] for line in (folder / "calls").read_text(encoding="utf-8").splitlines()]


def test_it_installs_where_it_may_and_says_so(tmp_path: Path) -> None:
    ended = install(tmp_path, 0, **{"apt-get": f'echo "$*" >>{tmp_path}/calls'})
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr == f"setup: installing what tests use: {LINE}\n"
    (call,) = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert call.endswith("-y --no-install-recommends chromium fish")
    # It waits for another program's installation.
    assert "DPkg::Lock::Timeout=600" in call


def test_it_fetches_the_lists_of_a_fresh_machine(tmp_path: Path) -> None:
    script = f'echo "$*" >>{tmp_path}/calls; [ "$1" = update ] && echo >{tmp_path}/updated; [ -e {tmp_path}/updated ]'
    assert install(tmp_path, 0, **{"apt-get": script}).returncode == 0
    assert verbs_called(tmp_path) == ["install", "update", "install"]


def test_it_fails_after_three_tries(tmp_path: Path) -> None:
    ended = install(tmp_path, 0, **{"apt-get": f'echo "$*" >>{tmp_path}/calls; exit 100'})
    assert ended.returncode == 1
    assert ended.stderr.endswith(f"setup: failed three times: {LINE}\n")
    assert verbs_called(tmp_path) == ["install", "update", "install", "update", "install"]


@pytest.mark.parametrize(
    ("user", "programs", "cure"),
    [
        (1000, {"apt-get": "exit 1"}, f"with: sudo {LINE}"),
        (1000, {}, "with your system's package manager (Debian calls it: chromium fish)"),
        (0, {}, "with your system's package manager (Debian calls it: chromium fish)"),
    ],
)
def test_it_says_the_line_that_it_may_not_run_itself(
    user: int, programs: dict[str, str], cure: str, tmp_path: Path
) -> None:
    ended = install(tmp_path, user, **programs)
    assert (ended.returncode, ended.stderr) == (1, f"setup: install what tests use {cure}\n")


def test_a_machine_on_which_nothing_can_be_had_tests_the_rest(tmp_path: Path) -> None:
    scripts, programs = tmp_path / "checkout" / "scripts", tmp_path / "programs"
    scripts.mkdir(parents=True)
    programs.mkdir()
    for name in ("setup-tests", "apt-install"):
        shutil.copy2(SCRIPTS / name, scripts)
    standard = {name: f'exec {shutil.which(name)} "$@"' for name in ("dirname", "grep", "mkdir")}
    ended = set_up("setup-tests", programs, 1000, scripts=scripts, **standard)
    assert ended.returncode == 0
    said = [line for line in ended.stderr.splitlines() if line.startswith("setup: ")]
    assert [line for line in said if "apt" in line or "package manager" in line]
    assert len([line for line in said if "will be skipped" in line]) == 5
