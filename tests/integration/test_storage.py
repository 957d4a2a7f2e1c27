"""A disk that is full, a folder that cannot be written: one clear line, exit code 4 or 3."""

from pathlib import Path

import pytest

from conftest import ANSWERS_ALL, MakeSubject
from doubles.command_line import Command

from .conftest import Mounted


@pytest.fixture
def given(make_subject: MakeSubject, subject_folders: Path) -> list[str]:
    """A client that behaves, and a crawl of it."""
    make_subject("quick", ANSWERS_ALL)
    return ["bench", "quick", "--subjects", str(subject_folders), "--web", "plain", "--limit", "2000"]


def one_line(err: str) -> str:
    lines = [line for line in err.splitlines() if "not built yet" not in line]
    assert len(lines) == 1, err
    return lines[0]


def test_a_full_disk_for_runs(httpdyno: Command, given: list[str], mounted: Mounted) -> None:
    folder = mounted("size=16k")
    ended = httpdyno(*given, "--out", str(folder / "runs"))
    assert ended.code == 4
    last = ended.err.splitlines()[-1]
    assert last.startswith(f"httpdyno: {folder}")
    assert "No space left on device" in last
    assert "Traceback" not in ended.err


def test_a_folder_for_runs_that_cannot_be_written(httpdyno: Command, given: list[str], mounted: Mounted) -> None:
    folder = mounted("ro")
    ended = httpdyno(*given, "--out", str(folder / "runs"))
    assert ended.code == 3
    assert "results cannot be written: Read-only file system" in one_line(ended.err)


def test_a_full_disk_for_temporary_files(httpdyno: Command, given: list[str], mounted: Mounted) -> None:
    folder = mounted("size=16k")
    ended = httpdyno(*given, TMPDIR=str(folder))
    assert ended.code == 4
    assert "No space left on device" in one_line(ended.err)


def test_a_full_disk_for_builds(httpdyno: Command, given: list[str], mounted: Mounted) -> None:
    folder = mounted("size=4k,nr_inodes=4")
    ended = httpdyno(*given, XDG_CACHE_HOME=str(folder))
    assert ended.code == 4
    assert "building subjects: cannot write" in one_line(ended.err)
    assert "No space left on device" in one_line(ended.err)


def test_a_cache_that_cannot_be_written(httpdyno: Command, given: list[str], mounted: Mounted) -> None:
    folder = mounted("ro")
    ended = httpdyno(*given, XDG_CACHE_HOME=str(folder))
    assert ended.code == 3
    assert "building subjects: cannot write" in one_line(ended.err)
    assert "Read-only file system" in one_line(ended.err)
