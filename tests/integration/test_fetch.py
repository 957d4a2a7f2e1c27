"""`httpdyno fetch`, from its command line to its rows, its signals and its exit status."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

from httpdyno.lab.engine import Engine

from .conftest import Mounted, wait_while_it_runs

PYTHON = [sys.executable, "-m", "httpdyno"]
PATIENCE_S = 300.0
AT = re.compile(r"plain at http://127\.0\.0\.1:(?P<port>\d+)")

Fetch = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def port(engine: Engine) -> Iterator[int]:
    """Serve the web `plain` on a free port."""
    argv = [str(engine.path), "origin", "--web", "plain", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        said = AT.match(process.stderr.readline())
        assert said
        yield int(said["port"])
        process.kill()


@pytest.fixture
def fetch(engine: Engine, port: int, tmp_path: Path) -> Iterator[Fetch]:
    """Start `httpdyno fetch`, with every host at the origin."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, stdout: int | IO[str] = subprocess.PIPE, **more: str) -> "subprocess.Popen[str]":
        environment = os.environ | {"HTTPDYNO_ENGINE": str(engine.path), "REQUEST_TIMEOUT": "60"} | more
        argv = [*PYTHON, "fetch", "--quiet", "--connect-to", f":80:127.0.0.1:{port}", *arguments]
        streams = {"stdin": subprocess.PIPE, "stdout": stdout, "stderr": subprocess.PIPE}
        process = subprocess.Popen(argv, cwd=tmp_path, env=environment, text=True, **streams)  # type: ignore[call-overload]
        started.append(process)
        return process  # type: ignore[no-any-return]

    yield begin
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            with suppress(BrokenPipeError):
                if stream:
                    stream.close()


def lines(count: int, path: str = "plain") -> str:
    """Return a list of a number of URLs."""
    return "".join(f"http://host{number % 7}.test/{path}?{number}\n" for number in range(count))


def urls_of(rows: str) -> list[str]:
    """Return the URLs of rows, which must all be right."""
    columns = [row.rsplit(",", 4) for row in rows.splitlines()]
    assert {(code, length) for _, code, _, _, length in columns} <= {("200", "13")}, rows
    return [url for url, *_ in columns]


def test_every_url_has_its_row(fetch: Fetch, tmp_path: Path) -> None:
    process = fetch("--concurrency", "50", "--report", "report.json")
    out, err = process.communicate(lines(500), PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert sorted(urls_of(out)) == sorted(lines(500).split())
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["statuses"], report["errors"], report["urls"]) == ({"200": 500}, {}, 500)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONCURRENCY", "0"),
        ("REQUEST_TIMEOUT", "-1"),
        ("KEEPALIVE", "yes"),
        ("CHECK", "xml"),
        ("METHOD", "POST"),
        ("HTTP_VERSION", "3"),
        ("HTTP_VERSION", "Auto"),
    ],
)
def test_a_variable_that_cannot_be_honoured_is_named(fetch: Fetch, name: str, value: str) -> None:
    process = fetch(**{name: value})
    out, err = process.communicate("", PATIENCE_S)
    assert (process.returncode, out, err.count("\n")) == (127, "", 1)
    assert name in err


@pytest.mark.parametrize("value", ["1", "true", "0", "false"])
def test_what_the_environment_says_can_be_typed_and_the_other_way_round(fetch: Fetch, value: str) -> None:
    typed = fetch("--keepalive", value, "--http-version", "auto")
    said = fetch(KEEPALIVE=value, HTTP_VERSION="auto")
    for process in (typed, said):
        out, err = process.communicate(lines(3), PATIENCE_S)
        assert (process.returncode, err, len(urls_of(out))) == (0, "", 3)


def test_a_descriptor_that_is_not_open_is_said_to_be(fetch: Fetch) -> None:
    process = fetch("--progress", "99")
    said = "httpdyno: --progress 99: this descriptor is not open; open it, as in 99>progress.jsonl\n"
    assert (process.communicate(lines(3), PATIENCE_S), process.returncode) == (("", said), 2)


def test_a_terminal_shows_that_fetch_waits_for_urls(engine: Engine) -> None:
    terminal, stdin = os.openpty()
    with subprocess.Popen(
        [*PYTHON, "fetch", "--quiet"],
        env=os.environ | {"HTTPDYNO_ENGINE": str(engine.path)},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(stdin)
        assert process.stderr
        assert process.stderr.readline() == (
            "httpdyno: fetch reads URLs from standard input, one a line; end with Ctrl-D\n"
        )
        os.write(terminal, b"\x04")
        assert (process.communicate(timeout=PATIENCE_S), process.returncode) == (("", ""), 0)
    os.close(terminal)


@pytest.mark.parametrize("option", ["--save", "--resume", "--report", "--cacert"])
def test_a_file_that_cannot_be_used_is_named_once_and_before_the_first_row(
    fetch: Fetch, option: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    process = fetch(option, "file/within")
    out, err = process.communicate(lines(3), PATIENCE_S)
    assert (process.returncode, out, err.count("\n"), err.count(f"{option} file/within")) == (125, "", 1, 1), err


def test_an_empty_variable_counts_as_missing(fetch: Fetch) -> None:
    process = fetch(CONCURRENCY="", REQUEST_TIMEOUT="", USER_AGENT="", KEEPALIVE="", CHECK="", HTTP_VERSION="")
    out, _ = process.communicate(lines(3), PATIENCE_S)
    assert (process.returncode, len(urls_of(out))) == (0, 3)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_what_is_done(fetch: Fetch, number: signal.Signals) -> None:
    process = fetch("--timeout", "600")
    assert process.stdin
    assert process.stdout
    process.stdin.write("http://a.test/plain\nhttp://a.test/delay/500000\n")
    process.stdin.flush()
    assert urls_of(process.stdout.readline()) == ["http://a.test/plain"]
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (128 + number, "", "")


def test_a_reader_that_leaves_is_no_error(fetch: Fetch) -> None:
    process = fetch()
    assert process.stdin
    assert process.stdout
    process.stdin.write(lines(1))
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.close()
    with suppress(BrokenPipeError):
        process.stdin.write(lines(100))
        process.stdin.close()
    assert process.stderr
    assert (process.wait(PATIENCE_S), process.stderr.read()) == (0, "")


def test_a_list_goes_on_after_a_kill(fetch: Fetch) -> None:
    begun = fetch("--resume", "done")
    assert begun.stdin
    assert begun.stdout
    begun.stdin.write(lines(200))
    begun.stdin.flush()
    rows = begun.stdout.readline()
    begun.kill()
    # Not communicate(), which loses the buffered rest of the line that was read.
    rows += begun.stdout.read()
    again = fetch("--resume", "done")
    rest, err = again.communicate(lines(1_000), PATIENCE_S)
    assert (again.returncode, err) == (0, "")
    # None is missing; the batch of rows that was being written may come twice.
    assert set(urls_of(rows) + urls_of(rest)) == set(lines(1_000).split())
    once_more = fetch("--resume", "done")
    assert once_more.communicate(lines(1_000), PATIENCE_S) == ("", "")
    other = fetch("--resume", "done")
    _, err = other.communicate(lines(1_000, "json"), PATIENCE_S)
    assert other.returncode != 0
    assert "line 1 of the list" in err


@pytest.mark.parametrize("synced", [True, False])
def test_a_file_of_rows_has_every_url_once_after_kills(fetch: Fetch, tmp_path: Path, *, synced: bool) -> None:
    rows, urls = tmp_path / "rows.csv", lines(4_000)
    options = ("--resume", "done", "-o", "rows.csv", "--column-names", *(() if synced else ("--no-sync",)))
    for written in (1, 2_000, 30_000, 30_001, 90_000):
        before = rows.stat().st_size if rows.exists() else 0
        begun = fetch(*options)
        assert begun.stdin
        # The list has no end yet, so the run is killed before its own.
        begun.stdin.write(urls)
        begun.stdin.flush()
        goal = min(before + written, 200_000)
        wait_while_it_runs(begun, lambda goal=goal: rows.exists() and rows.stat().st_size >= goal)  # type: ignore[misc]
        begun.kill()
        begun.wait(PATIENCE_S)
    again = fetch(*options)
    assert (again.communicate(urls, PATIENCE_S), again.returncode) == (("", ""), 0)
    header, *found = rows.read_text().splitlines(keepends=True)
    assert header.startswith("url,")
    assert sorted(urls_of("".join(found))) == sorted(urls.split())
    before = rows.read_bytes()
    once_more = fetch(*options)
    assert once_more.communicate(urls, PATIENCE_S) == ("", "")
    assert rows.read_bytes() == before


def test_another_file_of_rows_is_not_cut(fetch: Fetch, tmp_path: Path) -> None:
    begun = fetch("--resume", "done", "-o", "rows.csv")
    assert begun.stdin
    begun.stdin.write(lines(5))
    begun.stdin.flush()
    journal = tmp_path / "done"

    def is_recorded() -> bool:
        text = journal.read_text() if journal.exists() else ""
        # The first line of the list, and five entries; each flush ends with the length of the rows.
        return text.count("plain?") == 6 and text.endswith("\n") and text.splitlines()[-1].startswith("rows\t")

    wait_while_it_runs(begun, is_recorded)
    begun.kill()
    begun.wait(PATIENCE_S)
    recorded = (tmp_path / "rows.csv").stat().st_size
    other = b"other content\n" * recorded
    (tmp_path / "other.csv").write_bytes(other)
    refused = fetch("--resume", "done", "-o", "other.csv")
    out, err = refused.communicate(lines(5), PATIENCE_S)
    assert (refused.returncode, out, err.count("\n")) == (2, "", 1), err
    assert "--output other.csv: does not begin with the" in err
    assert (tmp_path / "other.csv").read_bytes() == other


@pytest.mark.parametrize(
    "content",
    [b"a note without a line feed", b"a,b\n1,2\n", b"{}\n", b"\0\xff", b"1\thttp://a.test/\nnot a number\n", b"7"],
    ids=["text", "csv", "json", "bytes", "a journal with another line", "a number"],
)
def test_a_file_that_is_no_journal_stays_as_it_is(fetch: Fetch, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    process = fetch("--resume", "notes")
    out, err = process.communicate(lines(3), PATIENCE_S)
    assert (process.returncode, out, err.count("\n")) == (2, "", 1), err
    assert "--resume notes" in err
    assert path.read_bytes() == content


def test_a_journal_of_the_first_release_is_continued(fetch: Fetch, tmp_path: Path) -> None:
    done = [url for place, url in enumerate(lines(10).split()) if place % 2]
    entries = [f"{place}\t{url}\n" for place, url in enumerate(lines(10).split(), start=1) if url in done]
    (tmp_path / "done").write_text("".join(entries) + "9\thttp://torn")
    process = fetch("--resume", "done")
    out, err = process.communicate(lines(10), PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert set(urls_of(out)) == set(lines(10).split()) - set(done)
    first, *rest = (tmp_path / "done").read_text().splitlines()
    assert first == f"httpdyno-fetch-journal 2\t{lines(1).strip()}"
    assert len(rest) == 10


def test_a_journal_has_one_writer(fetch: Fetch) -> None:
    first = fetch("--resume", "done", "--timeout", "600")
    assert first.stdin
    assert first.stdout
    first.stdin.write("http://a.test/plain\nhttp://a.test/delay/500000\n")
    first.stdin.flush()
    first.stdout.readline()
    second = fetch("--resume", "done")
    out, err = second.communicate("http://a.test/plain\n", PATIENCE_S)
    assert (second.returncode, out, err.count("\n")) == (2, "", 1), err
    assert "another httpdyno fetch uses it" in err


@pytest.mark.parametrize("synced", [True, False])
def test_a_full_disk_ends_a_crawl_and_the_next_call_goes_on(
    fetch: Fetch, mounted: Mounted, tmp_path: Path, *, synced: bool
) -> None:
    small = mounted("size=64k")
    options = ("--save", str(small / "pages"), "--resume", "done", *(() if synced else ("--no-sync",)))
    begun = fetch(*options, "--concurrency", "4")
    rows, err = begun.communicate(lines(300), PATIENCE_S)
    assert (begun.returncode, err.count("\n")) == (4, 1), err
    assert "No space left on device" in err
    assert str(small) in err
    done = urls_of(rows)
    noted = (tmp_path / "done").read_text().splitlines()[1:]
    assert {entry.split("\t")[1] for entry in noted} <= set(done), "none is done that has no row"
    subprocess.run(["mount", "-o", "remount,size=8m", str(small)], check=True)
    again = fetch(*options)
    rest, err = again.communicate(lines(300), PATIENCE_S)
    assert (again.returncode, err) == (0, "")
    assert set(done + urls_of(rest)) == set(lines(300).split())
    kept = [json.loads(line) for line in (small / "pages" / "index.jsonl").read_text().splitlines()]
    assert {entry["url"] for entry in kept} == set(lines(300).split())
    assert {(small / "pages" / entry["file"]).read_text() for entry in kept} == {"Hello, World!"}


@pytest.mark.parametrize("option", ["--resume", "--report", "stdout"])
def test_a_disk_that_is_full_is_named_whatever_does_not_fit(fetch: Fetch, mounted: Mounted, option: str) -> None:
    small = mounted("size=64k")
    if option == "--report":
        (small / "other").write_bytes(bytes(64 << 10))
    if option == "stdout":
        with (small / "rows").open("w") as rows:
            process = fetch(stdout=rows)
            _, err = process.communicate(lines(3_000), PATIENCE_S)
        kept = (small / "rows").read_text()
        assert kept.endswith("\n")
        assert urls_of(kept)
    else:
        process = fetch(option, str(small / "file"))
        _, err = process.communicate(lines(3_000), PATIENCE_S)
    assert (process.returncode, err.count("\n")) == (4, 1), err
    assert "No space left on device" in err


def test_contents_are_kept(fetch: Fetch, tmp_path: Path) -> None:
    process = fetch("--save", "pages")
    process.communicate(lines(5), PATIENCE_S)
    entries = [json.loads(line) for line in (tmp_path / "pages" / "index.jsonl").read_text().splitlines()]
    assert len(entries) == 5
    for entry in entries:
        assert (tmp_path / "pages" / entry["file"]).read_text() == "Hello, World!"


def test_progress_is_printed(fetch: Fetch) -> None:
    process = fetch("--progress", "2")
    _, err = process.communicate(lines(20), PATIENCE_S)
    said = [json.loads(line) for line in err.splitlines()]
    assert (said[-1]["phase"], said[-1]["done"], said[-1]["in_flight"]) == ("fetch", 20, 0)


def test_help_teaches(fetch: Fetch) -> None:
    out, _ = fetch("--help").communicate(timeout=PATIENCE_S)
    assert "httpdyno fetch --concurrency 200 < urls.txt" in out
