"""A disk that is full, a folder that cannot be written: one clear line, exit code 3."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import ANSWERS_ALL, MakeSubject
from doubles.command_line import Command


@pytest.fixture
def given(make_subject: MakeSubject, subject_folders: Path) -> list[str]:
    """A client that behaves, and a crawl of it."""
    make_subject("quick", ANSWERS_ALL)
    return ["bench", "quick", "--subjects", str(subject_folders), "--web", "plain", "--limit", "2000"]


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mount a file system in memory with the given options; needs root."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    folder = tmp_path / "small"
    folder.mkdir()

    def mount(options: str) -> Path:
        argv = ["mount", "-t", "tmpfs", "-o", options, "small", str(folder)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"cannot mount here: {done.stderr.strip()}")
        return folder

    yield mount
    subprocess.run(["umount", "--lazy", str(folder)], check=False, capture_output=True)


def one_line(err: str) -> str:
    lines = [line for line in err.splitlines() if "not built yet" not in line]
    assert len(lines) == 1, err
    return lines[0]


def test_a_full_disk_for_runs(httpdyno: Command, given: list[str], mounted: Callable[[str], Path]) -> None:
    folder = mounted("size=16k")
    ended = httpdyno(*given, "--out", str(folder / "runs"))
    assert ended.code == 3
    last = ended.err.splitlines()[-1]
    assert last.startswith(f"httpdyno: {folder}")
    assert "No space left on device" in last
    assert "Traceback" not in ended.err


def test_a_folder_for_runs_that_cannot_be_written(
    httpdyno: Command, given: list[str], mounted: Callable[[str], Path]
) -> None:
    folder = mounted("ro")
    ended = httpdyno(*given, "--out", str(folder / "runs"))
    assert ended.code == 3
    assert "results cannot be written: Read-only file system" in one_line(ended.err)


def test_a_full_disk_for_temporary_files(httpdyno: Command, given: list[str], mounted: Callable[[str], Path]) -> None:
    folder = mounted("size=16k")
    ended = httpdyno(*given, TMPDIR=str(folder))
    assert ended.code == 3
    assert "No space left on device" in one_line(ended.err)


def test_a_full_disk_for_builds(httpdyno: Command, given: list[str], mounted: Callable[[str], Path]) -> None:
    folder = mounted("size=4k,nr_inodes=4")
    ended = httpdyno(*given, XDG_CACHE_HOME=str(folder))
    assert ended.code == 3
    assert "building subjects: cannot write" in one_line(ended.err)
    assert "No space left on device" in one_line(ended.err)


def test_a_cache_that_cannot_be_written(httpdyno: Command, given: list[str], mounted: Callable[[str], Path]) -> None:
    folder = mounted("ro")
    ended = httpdyno(*given, XDG_CACHE_HOME=str(folder))
    assert ended.code == 3
    assert "building subjects: cannot write" in one_line(ended.err)
    assert "Read-only file system" in one_line(ended.err)
