"""When tests that need a browser are skipped, when they fail, and what set-up does about it."""

import shutil
from pathlib import Path

import pytest

from conftest import require_chromium
from doubles.bare_machine import set_up


def programs(monkeypatch: pytest.MonkeyPatch, *found: str, root: bool, ci: bool = False) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in found else None)
    monkeypatch.setattr("os.geteuid", lambda: 0 if root else 1000)
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")


def test_a_browser_that_is_there_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    programs(monkeypatch, "chromium", root=False)
    assert require_chromium() == Path("/usr/bin/chromium")


@pytest.mark.parametrize(("found", "root"), [(["apt-get"], False), ([], True)])
def test_a_machine_on_which_only_a_person_can_install_it_skips(
    found: list[str], root: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(monkeypatch, *found, root=root)
    with pytest.raises(pytest.skip.Exception, match="apt-get install"):
        require_chromium()


@pytest.mark.parametrize(("found", "root", "ci"), [(["apt-get"], True, False), ([], False, True)])
def test_a_machine_that_should_have_it_fails(
    found: list[str], root: bool, ci: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(monkeypatch, *found, root=root, ci=ci)
    with pytest.raises(pytest.fail.Exception, match="scripts/setup-chromium"):
        require_chromium()


LINE = "apt-get install -y --no-install-recommends chromium"


def test_set_up_is_silent_when_there_is_a_browser(tmp_path: Path) -> None:
    ended = set_up("setup-chromium", tmp_path, 0, chromium="true", **{"apt-get": "exit 1"})
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_set_up_installs_a_browser_where_it_may_and_says_so(tmp_path: Path) -> None:
    ended = set_up("setup-chromium", tmp_path, 0, **{"apt-get": 'echo "called: apt-get $*"'})
    assert ended.returncode == 0
    assert f"report: {LINE}\n" in ended.stderr
    assert f"called: {LINE}\n" in ended.stderr


def test_set_up_fetches_the_lists_of_a_fresh_machine(tmp_path: Path) -> None:
    script = f'echo "$*" >>{tmp_path}/calls; [ "$1" = update ] && echo >{tmp_path}/updated; [ -e {tmp_path}/updated ]'
    assert set_up("setup-chromium", tmp_path, 0, **{"apt-get": script}).returncode == 0
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert [call.partition(" ")[0] for call in calls] == ["install", "update", "install"]


def test_set_up_fails_when_the_installation_does(tmp_path: Path) -> None:
    ended = set_up("setup-chromium", tmp_path, 0, **{"apt-get": "exit 100"})
    assert ended.returncode == 1
    assert ended.stderr.endswith(f"setup: this failed: {LINE}\n")


@pytest.mark.parametrize("user", [0, 1000])
def test_set_up_says_what_it_may_not_do_itself(user: int, tmp_path: Path) -> None:
    programs = {"apt-get": "exit 1"} if user else {}
    ended = set_up("setup-chromium", tmp_path, user, **programs)
    assert ended.returncode == 0
    assert ended.stderr.count("\n") == 1
    assert "will be skipped" in ended.stderr
    assert (f"sudo {LINE}" in ended.stderr) == bool(user)
