"""The command line in this process, with a stand-in for the engine and folders of its own."""

import sys
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command, Ended
from httpdyno.cli import main


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no charts, which takes seconds: most tests look at what surrounds a report."""
    monkeypatch.setattr("httpdyno.report.html.page.page", lambda report: f"<!doctype html>{report.headline}")


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
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    # What else this machine does must not slow the tests down.
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
    """A good client and how to name its folder."""
    make_subject("good")
    return ["good", "--subjects", str(subject_folders)]
