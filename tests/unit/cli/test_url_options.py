"""The sources of URLs of `bench` and `try`, and signals during reading."""

import contextlib
import fcntl
import gzip
import os
import signal
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from httpdyno.errors import EmptyList, Interrupted
from httpdyno.experiments.crawl.options import UrlOptions
from httpdyno.experiments.crawl.plan import open_urls
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.store import open_run
from httpdyno.subjects.engine_program import find_engine


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, stand_in_engine: Path) -> Iterator[int]:
    """Make standard input a pipe; return its write end."""
    monkeypatch.setenv("HTTPDYNO_ENGINE", str(stand_in_engine))
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield writing
    os.close(writing)


@pytest.fixture(autouse=True)
def signals_as_in_a_terminal() -> Iterator[None]:
    """Undo what `nohup` and `&` do: a signal that is ignored from outside stays ignored."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # A late signal ends only a test that has failed, and not all of them.
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@contextlib.contextmanager
def signal_when_read(pipe: int, number: signal.Signals) -> Iterator[None]:
    """Send a signal to this process as soon as what is in a pipe was read; not after the end of the context.

    A thread that does not read gets it: so a signal that comes just before a read does not interrupt the read either.
    """
    over = threading.Event()

    def watch() -> None:
        while unread(pipe) and not over.is_set():
            time.sleep(0.01)
        if not over.is_set():
            signal.pthread_kill(threading.get_ident(), number)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def urls_of(*, piped: bool = False, **given: Any) -> str:
    asked = UrlOptions(web="plain", **given)
    with open_urls(Engine(find_engine()), asked, Interruption(), piped=piped) as urls:
        return urls.file.read_text()


# The signal may come while a file is being opened, which the garbage collector then closes.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_reading_of_a_pipe_at_once(piped: int, number: signal.Signals) -> None:
    os.write(piped, b"a.example\n")
    # The pipe stays open: without the signal the reading would not end.
    with (
        signal_when_read(piped, number),
        pytest.raises(Interrupted, match="interrupted while the list of URLs was being read"),
    ):
        urls_of(urls="-", limit=None)


def unread(pipe: int) -> int:
    """Count the bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_signal_that_came_before_is_heeded(piped: int) -> None:
    del piped
    interruption = Interruption()
    interruption.request()
    with pytest.raises(Interrupted):
        open_urls(Engine(find_engine()), UrlOptions(web="plain", urls="-"), interruption)


def test_a_signal_after_the_reading_is_only_noted(piped: int) -> None:
    os.write(piped, b"a.example\n")
    with Interruption() as interruption:
        open_urls(Engine(find_engine()), UrlOptions(web="plain", urls="-", limit=1), interruption).file.close()
        signal.raise_signal(signal.SIGTERM)
        assert interruption.requested


def test_a_pipe_that_stays_open_is_read_up_to_the_limit(piped: int) -> None:
    os.write(piped, b"a.example\nb.example\nc.example\n")
    assert urls_of(urls="-", limit=2) == "https://a.example\nhttps://b.example\n"
    os.write(piped, b"d.example\n")
    assert urls_of(urls=None, limit=2, piped=True) == "https://c.example\nhttps://d.example\n"


def test_an_empty_pipe_with_a_limit_is_no_list(monkeypatch: pytest.MonkeyPatch, stand_in_engine: Path) -> None:
    monkeypatch.setenv("HTTPDYNO_ENGINE", str(stand_in_engine))
    reading, writing = os.pipe()
    os.close(writing)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert urls_of(urls=None, limit=1, piped=True) == "https://host0.example/\n"
        with pytest.raises(EmptyList):
            urls_of(urls=None, limit=None, piped=True)


@pytest.mark.parametrize("limit", [["--limit", "1"], []])
def test_try_takes_what_is_piped_in_also_with_a_limit(
    httpdyno: Command,
    make_subject: MakeSubject,
    subject_folders: Path,
    limit: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_subject("good")
    if not limit:
        monkeypatch.setenv("LIMIT", "1")
    ended = httpdyno(
        "try", "good", "--subjects", str(subject_folders), *limit, "--format", "plain", stdin=b"a.example\nb.example\n"
    )
    assert ended.code == 0
    assert [line.split(",")[0] for line in ended.out.splitlines()] == ["https://a.example"]
    # /dev/null is not a list.
    ended = httpdyno("try", "good", "--subjects", str(subject_folders), *limit, "--format", "plain")
    assert [line.split(",")[0] for line in ended.out.splitlines()] == ["https://host0.example/"]


def test_the_command_of_a_run_has_the_options_that_came_from_the_environment(
    httpdyno: Command,
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_subject("good")
    for name, value in {"LIMIT": "4", "USER_AGENT": "a b", "REQUEST_TIMEOUT": "9", "FORMAT": "csv"}.items():
        monkeypatch.setenv(name, value)
    typed = ["good", "--subjects", str(subject_folders), "--repeat", "1", "--timeout", "2s"]
    ended = httpdyno("bench", *typed)
    assert ended.code == 0, ended.err
    (run,) = (tmp_path / "runs").iterdir()
    command = open_run(run).manifest.command
    assert command == ("httpdyno", "bench", "--limit", "4", "--user-agent", "a b", *typed)
    for name in ("LIMIT", "USER_AGENT", "REQUEST_TIMEOUT"):
        monkeypatch.delenv(name)
    # It is enough to repeat the run.
    assert httpdyno(*command[1:]).code == 0
    first, second = (open_run(one).manifest for one in sorted((tmp_path / "runs").iterdir()))
    assert first.settings == second.settings
    assert first.urls == second.urls


@pytest.mark.parametrize("packed", [False, True])
def test_a_table_of_domains_is_a_list_too(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, packed: bool, tmp_path: Path
) -> None:
    make_subject("good")
    table = b"Rank,Domain\n1,a.example\n2,192.0.2.1\n3,b.example\n"
    (tmp_path / "top.csv").write_bytes(gzip.compress(table, mtime=0) if packed else table)
    given = ("try", "good", "--subjects", str(subject_folders), "--urls", "top.csv", "--format", "plain")
    ended = httpdyno(*given)
    assert ended.code == 0, ended.err
    assert [line.split(",")[0] for line in ended.out.splitlines()] == ["https://a.example/", "https://b.example/"]
    assert ended.err.startswith("httpdyno: top.csv: left out 1 of 3 (addresses instead of names: 1)\n")


@pytest.mark.parametrize("verb", ["try", "bench", "tune"])
def test_a_list_of_no_urls_measures_nothing(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, verb: str, tmp_path: Path
) -> None:
    make_subject("good")
    (tmp_path / "garbage").write_text("two words\n!!!\n", encoding="utf-8")
    ended = httpdyno(verb, "good", "--subjects", str(subject_folders), "--urls", "garbage")
    said = (
        "garbage: 2 of 2 lines are not URLs, first: line 1 ('two words'); nothing was run: "
        "give one URL or domain a line"
    )
    assert (ended.code, ended.out, ended.err) == (3, "", f"httpdyno: {said}\n")
    assert not (tmp_path / "runs").exists()


def test_lines_without_a_url_are_reported_once(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, tmp_path: Path
) -> None:
    make_subject("good")
    (tmp_path / "list").write_text("a.example\nb.example\ntwo words\nc.example\nd.example\n", encoding="utf-8")
    ended = httpdyno("bench", "good", "--subjects", str(subject_folders), "--urls", "list", "--repeat", "1")
    assert ended.code == 0, ended.err
    assert ended.err.count("httpdyno: list: 1 of 5 lines is not a URL, first: line 3 ('two words')\n") == 1
