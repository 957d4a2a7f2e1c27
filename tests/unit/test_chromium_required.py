"""When tests that need a browser are skipped, and when they fail."""

import shutil
from pathlib import Path

import pytest

from conftest import require_chromium


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
