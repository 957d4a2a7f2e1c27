"""The folder of a trial: removed at its end; the next trial removes that of a killed process."""

import os
import subprocess
from pathlib import Path

import pytest

from httpdyno.lab.trial_files import sweep, trial_folder


def test_it_is_gone_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with trial_folder() as folder:
        (folder / "samples.csv").write_text("x", encoding="utf-8")
        assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    kept = [tmp_path / f"httpdyno-trial-{os.getpid()}-a", tmp_path / "httpdyno-trial-x-a", tmp_path / "else"]
    for folder in (tmp_path / f"httpdyno-trial-{gone.pid}-a", *kept):
        folder.mkdir()
        (folder / "drive.json").write_text("{}", encoding="utf-8")
    sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(kept)
