"""Nameless files: only children can open them."""

import subprocess
from pathlib import Path

import pytest

from httpdyno.errors import StorageFailed
from httpdyno.lab.scratch import ScratchFile


def test_a_child_reads_and_writes_it_by_its_path() -> None:
    with ScratchFile() as given, ScratchFile() as made:
        given.file.write(b"one\ntwo\n")
        given.file.flush()
        for _ in range(2):  # each opening begins at the beginning
            subprocess.run(
                ["sh", "-c", f"tac < {given.path} > {made.path}"],
                pass_fds=[given.descriptor, made.descriptor],
                check=True,
            )
        assert made.read_text() == "two\none\n"
        assert made.read_text(limit=4) == "one\n"


def test_it_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with ScratchFile() as file:
        file.file.write(b"x")
        file.file.flush()
        assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    with pytest.raises(StorageFailed, match="cannot create a temporary file in .*absent: No such file or directory"):
        ScratchFile()
