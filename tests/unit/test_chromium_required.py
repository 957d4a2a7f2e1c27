"""When tests that need a browser are skipped."""

import shutil
from pathlib import Path

import pytest

from conftest import require_chromium


def test_a_browser_that_is_there_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert require_chromium() == Path("/usr/bin/chromium")


def test_a_machine_without_one_skips_and_names_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(pytest.skip.Exception, match=r"no chromium.*apt-get install"):
        require_chromium()
