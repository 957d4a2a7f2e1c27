"""`httpdyno fetch --warc`: another program reads the archives and compares them with the bytes that a server sent."""

import base64
import gzip
import hashlib
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from doubles.origin import Origin
from httpdyno.lab.engine import Engine

from .conftest import Mounted

PATIENCE_S = 300.0
LONG: Final = bytes(range(256)) * 16
"""A payload that is long enough to be recorded once."""
HUGE: Final = hashlib.shake_256(b"huge").digest(3_000_000)
"""More than is kept in memory."""


def message(fields: str, body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nServer: a test\r\n{fields}\r\n".encode() + body


def with_length(body: bytes, fields: str = "", status: str = "200 OK") -> bytes:
    return message(f"{fields}Content-Length: {len(body)}\r\n", body, status)


def chunks(body: bytes, size: int) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%X\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nX-Trailer: yes\r\n\r\n"


CHUNKED: Final = "Transfer-Encoding: chunked\r\n"
GZIP: Final = "Content-Encoding: gzip\r\n"
SENT: Final = {
    "/short": with_length(b"short"),
    "/empty": with_length(b""),
    "/until-close": message("Connection: close\r\n", b"until the end"),
    "/chunked": message(CHUNKED, chunks(b"in chunks, " * 100, 7)),
    "/gzip": with_length(gzip.compress(b"compressed " * 100, mtime=0), GZIP),
    "/chunked-gzip": message(CHUNKED + GZIP, chunks(gzip.compress(b"both " * 100, mtime=0), 11)),
    "/long": with_length(LONG),
    "/long-again": with_length(LONG, "X-Other: head\r\n"),
    "/long-in-chunks": message(CHUNKED, chunks(LONG, 1_000)),
    "/huge": with_length(HUGE),
    "/missing": with_length(b"not here", status="404 Not Found"),
    "/moved": with_length(b"over there", "Location: /short\r\n", "302 Found"),
    "/cut-off": message("Content-Length: 100\r\n", b"only this"),
    "/too-long": with_length(HUGE + HUGE),
}
PAYLOADS: Final = {
    "/short": b"short",
    "/empty": b"",
    "/until-close": b"until the end",
    "/chunked": b"in chunks, " * 100,
    "/gzip": b"compressed " * 100,
    "/chunked-gzip": b"both " * 100,
    "/long": LONG,
    "/huge": HUGE,
    "/missing": b"not here",
    "/moved": b"over there",
}
CLOSES: Final = {"/until-close", "/cut-off"}


class Handler(socketserver.StreamRequestHandler):
    """Sends the bytes of each path, and keeps the requests."""

    def handle(self) -> None:
        with suppress(ConnectionError):
            while line := self.rfile.readline():
                head = line
                while not head.endswith(b"\r\n\r\n"):
                    head += self.rfile.readline()
                path = line.split()[1].decode()
                self.server.requests[path] = head  # type: ignore[attr-defined]
                self.wfile.write(SENT.get(path) or with_length(path.encode()))
                if path in CLOSES:
                    return


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: dict[str, bytes] = {}


@dataclass
class Record:
    kind: str
    fields: dict[str, str]
    block: bytes
    status: str
    content: bytes
    """Without transfer and content codings."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


Fetch = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def fetch(engine: Engine, tmp_path: Path) -> Iterator[Fetch]:
    """Start `httpdyno-engine fetch` in a folder of its own."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> "subprocess.Popen[str]":
        timeout = [] if "--timeout" in arguments else ["--timeout", "250s"]
        argv = [str(engine.path), "fetch", "--quiet", *timeout, *arguments]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(argv, cwd=tmp_path, text=True, **pipes)  # type: ignore[call-overload]
        started.append(process)
        return process  # type: ignore[no-any-return]

    yield begin
    for process in started:
        with process:
            process.kill()


def ended(process: "subprocess.Popen[str]", urls: str, code: int = 0) -> str:
    """Return the rows of a crawl that ends with this exit code."""
    out, err = process.communicate(urls, PATIENCE_S)
    assert (process.returncode, err.count("\n")) == (code, int(code != 0)), err
    return out


def at(server: Server) -> tuple[str, str]:
    return ("--connect-to", f":80:127.0.0.1:{server.server_address[1]}")


def archives(folder: Path) -> list[Path]:
    """Return the complete files, which must be the only ones of the archive."""
    files = sorted(folder.glob("*warc*"))
    assert not [path.name for path in folder.iterdir() if path.name.endswith((".open", ".part"))]
    return files


def records(path: Path) -> list[Record]:
    """Return the records of a file, twice read: the blocks as they are, and decoded."""
    with path.open("rb") as file:
        blocks = [record.raw_stream.read() for record in ArchiveIterator(file, no_record_parse=True)]
    found = []
    with path.open("rb") as file:
        for record, block in zip(ArchiveIterator(file), blocks, strict=True):
            http = record.http_headers
            found.append(
                Record(
                    record.rec_type,
                    dict(record.rec_headers.headers),
                    block,
                    http.get_statuscode() if http and record.rec_type != "request" else "",
                    record.content_stream().read(),
                )
            )
    return found


def problems(paths: list[Path], capsys: pytest.CaptureFixture[str]) -> str:
    """Return what `warcio check` prints about the files."""
    capsys.readouterr()

    class Command:
        inputs = [str(path) for path in paths]  # noqa: RUF012
        verbose = False

    Checker(Command()).process_all()
    return capsys.readouterr().out


def digest(content: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(content).digest()).decode()


def by_path(found: list[Record], kind: str) -> dict[str, Record]:
    prefix = "http://a.test"
    return {record.fields["WARC-Target-URI"].removeprefix(prefix): record for record in found if record.kind == kind}


@pytest.mark.parametrize("name", ["crawl.warc.gz", "crawl.warc", "crawl"])
def test_records_have_the_bytes_of_the_exchanges(
    fetch: Fetch, server: Server, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [path for path in SENT if path not in {"/too-long", "/long-again", "/long-in-chunks"}]
    urls = "".join(f"http://a.test{path}\n" for path in paths)
    rows = ended(fetch(*at(server), "--warc", name, "--user-agent", "a test", "--max-content", "4MB"), urls)
    assert len(rows.splitlines()) == len(paths)
    (path,) = archives(tmp_path)
    assert path.name == ("crawl-00000.warc" if name == "crawl.warc" else "crawl-00000.warc.gz")
    info, *found = records(path)
    assert (info.kind, info.fields["WARC-Filename"]) == ("warcinfo", path.name)
    assert b"http-header-user-agent: a test\r\n" in info.block
    assert b"software: httpdyno/" in info.block
    responses, requests = by_path(found, "response"), by_path(found, "request")
    assert set(responses) == set(requests) == set(paths)
    assert len({record.fields["WARC-Record-ID"] for record in [info, *found]}) == 1 + len(found)
    for target, response in responses.items():
        request = requests[target]
        assert request.block == server.requests[target]
        assert request.fields["WARC-Concurrent-To"] == response.fields["WARC-Record-ID"]
        assert request.fields["WARC-Date"] == response.fields["WARC-Date"]
        assert response.block == SENT[target]
        assert response.status == SENT[target][9:12].decode()
        assert response.fields["WARC-IP-Address"] == "127.0.0.1"
        for record in (request, response):
            assert record.fields["WARC-Block-Digest"] == digest(record.block)
            assert record.fields["WARC-Warcinfo-ID"] == info.fields["WARC-Record-ID"]
        if target == "/cut-off":
            assert response.fields["WARC-Truncated"] == "disconnect"
            assert "WARC-Payload-Digest" not in response.fields
            continue
        # warcio takes the trailer section for content, less two bytes; the block has been compared whole.
        assert response.content.removesuffix(b"0\r\nTrailer: yes\r\n\r\n") == PAYLOADS[target]
        assert "WARC-Truncated" not in response.fields
        coded = gzip.compress(PAYLOADS[target], mtime=0) if "gzip" in target else PAYLOADS[target]
        assert response.fields["WARC-Payload-Digest"] == digest(coded)
    # warcio 1.8 does not remove the transfer coding before it compares the digest of a payload (its issue 75).
    bad = problems([path], capsys)
    assert bad.count("payload digest failed") == len([target for target in paths if "chunked" in target])
    assert "block digest failed" not in bad


def test_a_repeated_payload_is_recorded_once(
    fetch: Fetch, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = ["/long", "/long-again", "/long-in-chunks", "/short", "/short"]
    urls = "".join(f"http://a.test{path}\n" for path in paths)
    ended(fetch(*at(server), "--warc", "crawl", "--concurrency", "1"), urls)
    files = archives(tmp_path)
    found = records(files[0])
    (first,) = [record for record in found if record.fields.get("WARC-Target-URI") == "http://a.test/long"][:1]
    revisits = by_path(found, "revisit")
    assert set(revisits) == {"/long-again", "/long-in-chunks"}
    for path, revisit in revisits.items():
        assert revisit.block == SENT[path].partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        assert revisit.fields["WARC-Refers-To"] == first.fields["WARC-Record-ID"]
        assert revisit.fields["WARC-Refers-To-Date"] == first.fields["WARC-Date"]
        assert revisit.fields["WARC-Refers-To-Target-URI"] == first.fields["WARC-Target-URI"]
        assert revisit.fields["WARC-Payload-Digest"] == first.fields["WARC-Payload-Digest"] == digest(LONG)
        assert revisit.fields["WARC-Profile"].endswith("/warc/1.1/revisit/identical-payload-digest")
    assert [record.kind for record in found].count("request") == 5
    assert problems(files, capsys) == ""


def test_contents_that_are_too_long_are_truncated(fetch: Fetch, server: Server, tmp_path: Path) -> None:
    urls = "http://a.test/too-long\nhttp://a.test/chunked\n"
    rows = ended(fetch(*at(server), "--warc", "crawl", "--max-content", "600"), urls)
    assert rows.count(",ContentTooLong,") == 2
    responses = by_path(records(archives(tmp_path)[0]), "response")
    assert {record.fields["WARC-Truncated"] for record in responses.values()} == {"length"}
    # The length of one was announced, so that no content was read.
    for path, record in responses.items():
        assert SENT[path].startswith(record.block)


def test_redirects_are_recorded(fetch: Fetch, server: Server, tmp_path: Path) -> None:
    ended(fetch(*at(server), "--warc", "crawl"), "http://a.test/moved\n")
    _, *found = records(archives(tmp_path)[0])
    assert [(record.kind, record.fields["WARC-Target-URI"]) for record in found] == [
        ("response", "http://a.test/moved"),
        ("request", "http://a.test/moved"),
        ("response", "http://a.test/short"),
        ("request", "http://a.test/short"),
    ]


def test_urls_without_an_answer_have_no_record(fetch: Fetch, tmp_path: Path) -> None:
    rows = ended(fetch("--warc", "crawl"), "http://127.0.0.1:1/\nnonsense\n")
    assert len(rows.splitlines()) == 2
    assert archives(tmp_path) == []


def test_an_answer_that_takes_too_long_is_truncated(fetch: Fetch, engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "origin"
    folder.mkdir()
    origin = Origin(engine, folder, web="contract")
    try:
        argv = [*("--connect-to", f":80:127.0.0.1:{origin.ports['http']}"), "--warc", "crawl", "--timeout", "2s"]
        rows = ended(fetch(*argv), "http://plain-drip-body.test/\n")
    finally:
        origin.kill()
    assert ",BodyTimeout," in rows
    responses = [record for record in records(archives(tmp_path)[0]) if record.kind == "response"]
    assert [record.fields["WARC-Truncated"] for record in responses] == ["time"]


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_records_equal_saved_contents(
    fetch: Fetch, engine: Engine, tmp_path: Path, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "origin"
    folder.mkdir()
    authority = folder / "authority.pem"
    origin = Origin(engine, folder, web="plain", options=["--authority", str(authority)])
    urls = "".join(f"https://host{number}.test/\n" for number in range(20))
    try:
        argv = [*("--connect-to", f":443:127.0.0.1:{origin.ports['https']}"), "--cacert", str(authority)]
        argv += ["--warc", "crawl", "--save", "pages", "--http-version", version]
        rows = ended(fetch(*argv), urls)
    finally:
        origin.kill()
    assert rows.count(",200,") == 20
    files = archives(tmp_path)
    found = [record for record in records(files[0]) if record.kind in {"response", "revisit"}]
    assert sorted(record.fields["WARC-Target-URI"] for record in found) == sorted(urls.split())
    contents = {record.fields["WARC-Target-URI"]: record.content for record in found if record.kind == "response"}
    for record in found:
        url = record.fields["WARC-Target-URI"]
        name = hashlib.sha256(url.encode()).hexdigest()
        archived = record.fields.get("WARC-Refers-To-Target-URI", url)
        assert contents[archived] == (tmp_path / "pages" / name[:2] / name).read_bytes()
        assert record.fields["WARC-Protocol"] == {"1.1": "http/1.1", "2": "h2"}[version]
        assert record.block.startswith(b"HTTP/1.1 200 OK\r\n")
    if version == "2":
        assert problems(files, capsys) == ""


def test_a_file_ends_at_its_size_and_numbers_go_on(fetch: Fetch, server: Server, tmp_path: Path) -> None:
    urls = "http://a.test/huge?1\nhttp://a.test/huge\nhttp://a.test/short\n"
    argv = (*at(server), "--warc", "crawl.warc", "--warc-size", "1MB", "--concurrency", "1")
    ended(fetch(*argv), urls)
    assert [path.name for path in archives(tmp_path)] == ["crawl-00000.warc", "crawl-00001.warc"]
    ended(fetch(*argv), "http://a.test/short\n")
    assert [path.name for path in archives(tmp_path)][2:] == ["crawl-00002.warc"]
    for path in archives(tmp_path):
        assert records(path)[0].kind == "warcinfo"


@pytest.mark.parametrize("name", ["crawl.warc", "crawl.warc.gz"])
def test_after_a_kill_no_url_is_missing_and_no_record_is_torn(
    fetch: Fetch, server: Server, tmp_path: Path, name: str
) -> None:
    urls = "".join(f"http://a.test/page/{number}\n" for number in range(2_000))
    argv = (*at(server), "--warc", name, "--resume", "done", "--concurrency", "20")
    begun = fetch(*argv)
    assert begun.stdin
    assert begun.stdout
    begun.stdin.write(urls)
    begun.stdin.flush()
    for _ in range(500):
        begun.stdout.readline()
    begun.kill()
    begun.wait(PATIENCE_S)
    (torn,) = tmp_path.glob("*.open")
    torn.write_bytes(torn.read_bytes()[:-7])
    ended(fetch(*argv), urls)
    first, second = archives(tmp_path)
    found = {path: by_path(records(path), "response") for path in (first, second)}
    assert set(found[first]) | set(found[second]) == {f"/page/{number}" for number in range(2_000)}


def test_a_full_disk_ends_a_crawl_and_the_next_call_goes_on(fetch: Fetch, server: Server, mounted: Mounted) -> None:
    small = mounted("size=300k")
    paths = [f"/page/{number}" for number in range(3_000)]
    urls = "".join(f"http://a.test{path}\n" for path in paths)
    argv = (*at(server), "--warc", str(small / "crawl.warc"), "--resume", "done")
    out, err = (begun := fetch(*argv)).communicate(urls, PATIENCE_S)
    assert (begun.returncode, err.count("\n")) == (4, 1), err
    assert "No space left on device" in err
    assert "--warc" in err
    (full,) = archives(small)
    assert {row.rsplit(",", 4)[0].removeprefix("http://a.test") for row in out.splitlines()} <= set(
        by_path(records(full), "response")
    )
    subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
    ended(fetch(*argv), urls)
    kept: set[str] = set()
    for path in archives(small):
        kept |= set(by_path(records(path), "response"))
    assert kept == set(paths)


def test_the_command_in_the_guide_reads_an_archive(fetch: Fetch, server: Server, tmp_path: Path) -> None:
    ended(fetch(*at(server), "--warc", "crawl.warc.gz"), "http://a.test/short\n")
    warcio = [sys.executable, "-c", "from warcio.cli import main; main()", "index", "-f", "warc-target-uri,http:status"]
    done = subprocess.run([*warcio, "crawl-00000.warc.gz"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert '{"warc-target-uri": "http://a.test/short", "http:status": "200"}' in done.stdout
