"""The command line in this process, with a stand-in for the engine and folders of its own."""

import functools
import sys
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command, Ended
from httpdyno.cli import main
from httpdyno.model import Subject
from httpdyno.subjects.catalogue import read_subject
from httpdyno.subjects.folders import builtin_folder

of_this_checkout = functools.cache(read_subject)
"""The subjects that httpdyno ships: each verb reads all of them, and no test changes them."""


def read_once(folder: Path) -> Subject:
    return of_this_checkout(folder) if folder.is_relative_to(builtin_folder()) else read_subject(folder)


@pytest.fixture(autouse=True)
def subjects_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cache the subjects that each call of a verb in this process would read again."""
    monkeypatch.setattr("httpdyno.subjects.catalogue.read_subject", read_once)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no charts, which takes seconds: most tests check other parts of a report."""
    monkeypatch.setattr("httpdyno.report.html.page", lambda report: f"<!doctype html>{report.headline}")


@pytest.fixture
def httpdyno(
    undrawn: None,
    stand_in_engine: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Command:
    """Run `httpdyno` with arguments; its runs and its cache lie in the test's folder."""
    del undrawn
    monkeypatch.setenv("HTTPDYNO_ENGINE", str(stand_in_engine))
    # Trials take as long as their answers say: the real time of programs does not matter here.
    monkeypatch.setenv("FAKE_ENGINE_TIMES", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    # Other work on this machine must not slow the tests down.
    monkeypatch.setattr("httpdyno.lab.cool_down.WINDOW_S", 0.0)
    monkeypatch.setattr("httpdyno.lab.cool_down.LONGEST_S", 0.0)
    monkeypatch.setattr("httpdyno.lab.cool_down.SHORTEST_WINDOW_S", 0.0)
    for name in ("LIMIT", "CONCURRENCY", "DURATION", "REQUEST_TIMEOUT", "USER_AGENT", "HTTP_VERSION", "FORMAT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: bytes | None = None) -> Ended:
        given = tmp_path / "stdin"
        given.write_bytes(stdin or b"")
        monkeypatch.setattr(sys, "argv", ["httpdyno", *arguments])
        with (given if stdin is not None else Path("/dev/null")).open(encoding="utf-8") as file:
            monkeypatch.setattr(sys, "stdin", file)
            try:
                code = main()
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else int(bool(error.code))
        out, err = capfd.readouterr()
        return Ended(code, out, err)

    return run


@pytest.fixture
def given(make_subject: MakeSubject, subject_folders: Path) -> list[str]:
    """A good client and the option for its folder."""
    make_subject("good")
    return ["good", "--subjects", str(subject_folders)]
