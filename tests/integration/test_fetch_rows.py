"""Rows of `httpdyno fetch` in each format, its progress and summary, incomplete contents, errors over HTTP/2."""

import csv
import gzip
import io
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from httpdyno.lab.engine import Engine

from .test_load_watching import Terminal

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "fetch-row.schema.json"
PATIENCE_S = 300
HEADER = "url,code,start_time,duration,body_length\n"
TEXT = b"".join(b"line %d of a text\n" % number for number in range(5_000))
PACKED = gzip.compress(TEXT)

Answer = Callable[[socket.socket, str], None]
Serve = Callable[..., int]
Fetch = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers that answer one request of each connection, and then close it; return the port."""
    with ExitStack() as running:

        def begin(answer: Answer, tls: ssl.SSLContext | None = None) -> int:
            listener = running.enter_context(socket.create_server(("127.0.0.1", 0)))
            # A listener that is only closed does not end its accept().
            running.callback(lambda: listener.shutdown(socket.SHUT_RDWR))

            def each(stream: socket.socket) -> None:
                with suppress(OSError), tls.wrap_socket(stream, server_side=True) if tls else stream as connection:
                    connection.settimeout(PATIENCE_S)
                    answer(connection, request(connection))

            def accept() -> None:
                with suppress(OSError):
                    while True:
                        threading.Thread(target=each, args=(listener.accept()[0],), daemon=True).start()

            threading.Thread(target=accept, daemon=True).start()
            return int(listener.getsockname()[1])

        yield begin


def request(stream: socket.socket) -> str:
    """Read the head of a request, or what a connection of HTTP/2 begins with; return the path."""
    head = b""
    while b"\r\n\r\n" not in head:
        # Frames of HTTP/2 that come with the head are left to the answer.
        piece = stream.recv(1)
        if not piece:
            return ""
        head += piece
    return head.split(b" ")[1].decode()


@pytest.fixture
def fetch(engine: Engine, tmp_path: Path) -> Fetch:
    """Run `fetch` to its end, with the lines of a list."""

    def run(*arguments: str, urls: list[str], codes: tuple[int, ...] = (0,)) -> "subprocess.CompletedProcess[str]":
        ended = subprocess.run(
            [engine.path, "fetch", "--timeout", "60s", *arguments],
            input="".join(f"{url}\n" for url in urls),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert ended.returncode in codes, ended.stderr
        return ended

    return run


def sends(fields: str, content: bytes) -> Answer:
    """Answer with these fields and this content."""

    def answer(stream: socket.socket, _: str) -> None:
        stream.sendall(f"HTTP/1.1 200 OK\r\n{fields}\r\n".encode() + content)

    return answer


def redirects(stream: socket.socket, path: str) -> None:
    """Redirect from /0 over /1 to /2, which has a content."""
    if path == "/2":
        return sends(f"Content-Type: text/x\r\nContent-Encoding: gzip\r\nContent-Length: {len(PACKED)}\r\n", PACKED)(
            stream, path
        )
    head = f"HTTP/1.1 30{int(path[1:]) + 1} Moved\r\nLocation: /{int(path[1:]) + 1}\r\nContent-Length: 0\r\n\r\n"
    stream.sendall(head.encode())
    return None


def json_rows(text: str) -> dict[str, dict[str, object]]:
    """Validate rows, which must have exactly the keys of the schema; return them by URL."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    schema["additionalProperties"] = False
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        Draft202012Validator(schema).validate(row)
    return {row["url"]: row for row in rows}


def some(row: dict[str, object], *keys: str) -> list[object]:
    """Return the values of these keys."""
    return [row[key] for key in keys]


def test_rows_as_json_have_redirects_phases_and_errors(fetch: Fetch, serve: Serve) -> None:
    port = serve(redirects)
    base = f"http://127.0.0.1:{port}"
    rows = json_rows(fetch("--format", "jsonl", urls=[f"{base}/0", "http://127.0.0.1:1/", "no url"]).stdout)
    good, refused, wrong = rows[f"{base}/0"], rows["http://127.0.0.1:1/"], rows["no url"]
    assert good["chain"] == [
        {"url": f"{base}/0", "status": 301},
        {"url": f"{base}/1", "status": 302},
        {"url": f"{base}/2", "status": 200},
    ]
    assert some(good, "final_url", "status", "error", "waited_for") == [f"{base}/2", 200, None, None]
    assert some(good, "encoded_bytes", "decoded_bytes", "coding") == [len(PACKED), len(TEXT), "gzip"]
    assert some(good, "content_type", "address", "http_version") == ["text/x", "127.0.0.1", "1.1"]
    assert some(good, "tls_version", "tls_ms", "partial", "not_decoded") == [None, None, False, False]
    assert None not in some(good, "lookup_ms", "connect_ms", "first_byte_ms", "content_ms", "duration_ms")
    assert some(refused, "status", "error", "waited_for", "chain") == [None, "ConnectionRefused", "connection", []]
    assert some(wrong, "error", "error_text", "waited_for", "final_url") == ["InvalidUrl", "not a URL", None, None]


def test_a_connection_that_serves_again_is_marked(fetch: Fetch, origin_url: str) -> None:
    urls = [f"{origin_url}/plain?{number}" for number in range(4)]
    rows = json_rows(fetch("--format", "jsonl", "--concurrency", "1", urls=urls).stdout)
    assert [row["reused"] for row in rows.values()] == [False, True, True, True]
    assert [row["connect_ms"] is None for row in rows.values()] == [False, True, True, True]


@pytest.fixture
def origin_url(engine: Engine) -> Iterator[str]:
    """Serve the web `plain`; return its address."""
    argv = [engine.path, "origin", "--web", "plain", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            yield process.stderr.readline().split()[-1].rstrip("/")
        finally:
            process.terminate()


ODD = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]) | st.sampled_from('",\r'), max_size=20)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ODD, min_size=1, max_size=30))
def test_any_list_is_read_back_by_a_reader_of_csv(engine: Engine, odd: list[str]) -> None:
    urls = [f"http://127.0.0.1:1/{text}" for text in odd]
    ended = subprocess.run(
        [engine.path, "fetch", "--column-names", "--timeout", "60s"],
        input="".join(f"{url}\n" for url in urls).encode(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    header, *rows = csv.reader(io.StringIO(ended.stdout.decode(), newline=""))
    assert header == HEADER.strip().split(",")
    assert {len(row) for row in rows} == {5}
    assert sorted(row[0] for row in rows) == sorted(url.removesuffix("\r") for url in urls)


def test_rows_of_the_contract_are_not_quoted_and_nothing_else_is_printed(fetch: Fetch) -> None:
    url = 'http://127.0.0.1:1/a,"b"'
    contract = fetch("--format", "contract", urls=[url])
    assert (contract.stdout.rsplit(",", 4)[0], contract.stderr) == (url, "")
    quoted = fetch("--quiet", urls=[url])
    assert quoted.stdout.startswith('"http://127.0.0.1:1/a,""b""",ConnectionRefused,')
    assert quoted.stderr == ""


def test_a_file_of_rows_is_replaced_or_continued(fetch: Fetch, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    one, two = "http://127.0.0.1:1/1", "http://127.0.0.1:1/2"
    rows.write_text("an earlier content\n")
    fetch("--column-names", "-o", "rows.csv", urls=[one])
    for _ in range(2):
        fetch("--column-names", "-o", "rows.csv", "--resume", "done", urls=[one, two])
    text = rows.read_text()
    assert (text.count(HEADER), text.startswith(HEADER)) == (1, True)
    assert [row[0] for row in csv.reader(text.splitlines()[1:])] == [one, one, two]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_list_is_not_overwritten(engine: Engine, tmp_path: Path, form: str) -> None:
    (tmp_path / "urls.txt").write_text("http://127.0.0.1:1/\n")
    with (tmp_path / "urls.txt").open() as urls:
        argv = [engine.path, "fetch", "--format", form, "-o", "urls.txt"]
        variables = os.environ | {"HTTPDYNO_PYTHON": sys.executable}
        ended = subprocess.run(
            argv, stdin=urls, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr == "httpdyno-engine: --output urls.txt: is the list of URLs; name another file\n"
    assert (tmp_path / "urls.txt").read_text() == "http://127.0.0.1:1/\n"


def test_rows_are_written_as_parquet(engine: Engine, serve: Serve, tmp_path: Path) -> None:
    import polars

    url = f"http://127.0.0.1:{serve(redirects)}/0"
    for urls in ([url, "no url"], []):
        ended = subprocess.run(
            [sys.executable, "-m", "httpdyno", "fetch", "--quiet", "--format", "parquet", "-o", "rows.parquet"],
            input="".join(f"{url}\n" for url in urls),
            env=os.environ | {"HTTPDYNO_ENGINE": str(engine.path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
        table = polars.read_parquet(tmp_path / "rows.parquet").sort("url")
        assert table["url"].to_list() == urls
        assert [len(chain) for chain in table["chain"]] == [3, 0][: len(urls)]
        assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_rows_that_cannot_be_converted_are_kept(engine: Engine, tmp_path: Path) -> None:
    ended = subprocess.run(
        [engine.path, "fetch", "--quiet", "--format", "parquet", "-o", "rows.parquet"],
        input="no url\n",
        env=os.environ | {"HTTPDYNO_PYTHON": "/bin/false"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 125
    assert ended.stderr.endswith("the rows could not be converted; they are in rows.parquet.jsonl\n")
    assert json.loads((tmp_path / "rows.parquet.jsonl").read_text())["url"] == "no url"


def test_the_command_for_parquet_works(fetch: Fetch, serve: Serve, tmp_path: Path) -> None:
    message = fetch("--format", "parquet", "-o", "rows.parquet", urls=[], codes=(2,)).stderr
    code = re.search(r'python -c "(?P<code>.*)"$', message.strip())
    assert code
    fetch("--format", "jsonl", "-o", "rows.jsonl", urls=[f"http://127.0.0.1:{serve(redirects)}/0", "no url"])
    subprocess.run([sys.executable, "-c", code["code"]], cwd=tmp_path, check=True)
    import polars

    table = polars.read_parquet(tmp_path / "rows.parquet")
    assert table.sort("url")["status"].to_list() == [200, None]
    assert table.sort("url")["chain"].to_list()[0][0]["status"] == 301


def test_the_summary_begins_with_the_answer(fetch: Fetch, serve: Serve) -> None:
    port = serve(sends("Content-Length: 0\r\n", b""))
    urls = [f"http://127.0.0.1:{port}/{number}" for number in range(3)] + ["no url", "http://127.0.0.1:1/"]
    first, second = fetch(urls=urls).stderr.splitlines()
    assert re.fullmatch(
        r"httpdyno-engine: 5 URLs in \d+\.\d s: 3 answered, 2 failed; [\d,.]+/s, \d+ B received", first
    ), first
    assert second == "httpdyno-engine: failed: 1 x ConnectionRefused, 1 x InvalidUrl"


def test_a_terminal_shows_the_progress_and_then_the_summary(engine: Engine, origin_url: str, tmp_path: Path) -> None:
    urls = [f"{origin_url}/plain?{number}" for number in range(30)] + [f"{origin_url}/delay/500000"] * 2
    (tmp_path / "urls.txt").write_text("".join(f"{url}\n" for url in urls))
    command = f"exec {engine.path} fetch --timeout 600s < urls.txt"
    with Terminal(["sh", "-c", command], tmp_path) as terminal:
        terminal.wait_for("30 of 32 URLs")
        terminal.wait_for("1 hosts")
        terminal.process.send_signal(signal.SIGINT)
        code, out = terminal.end()
        assert (code, out.count(",200,")) == (130, 30)
        terminal.wait_for("interrupted: 30 URLs in")


def test_rows_in_a_terminal_are_alone_there(engine: Engine, origin_url: str, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(f"{origin_url}/plain\n{origin_url}/delay/500000\n")
    command = f"exec {engine.path} fetch --timeout 600s < urls.txt 1>&2"
    with Terminal(["sh", "-c", command], tmp_path) as terminal:
        terminal.wait_for(",200,")
        terminal.process.send_signal(signal.SIGINT)
        terminal.end()
        terminal.wait_for("interrupted: 1 URL in")
        assert "\x1b[" not in terminal.shown


@pytest.mark.parametrize(
    ("fields", "content", "error"),
    [
        (
            f"Content-Encoding: gzip\r\nContent-Length: {len(PACKED) // 2}\r\n",
            PACKED[: len(PACKED) // 2],
            "MalformedCoding",
        ),
        (f"Content-Encoding: gzip\r\nContent-Length: {len(PACKED)}\r\n", PACKED[: len(PACKED) // 2], "BodyCutShort"),
        (f"Content-Length: {len(TEXT)}\r\n", TEXT[: len(TEXT) // 2], "BodyCutShort"),
    ],
    ids=["coding", "coding and length", "length"],
)
@pytest.mark.parametrize("kept", [True, False])
def test_what_came_of_a_content_is_kept_on_demand(
    fetch: Fetch, serve: Serve, tmp_path: Path, fields: str, content: bytes, error: str, *, kept: bool
) -> None:
    url = f"http://127.0.0.1:{serve(sends(fields, content))}/"
    more = ["--keep-partial"] if kept else []
    (row,) = json_rows(fetch("--format", "jsonl", "--save", "pages", *more, urls=[url]).stdout).values()
    assert some(row, "status", "error", "partial", "encoded_bytes") == [200, error, kept, len(content)]
    index = [json.loads(line) for line in (tmp_path / "pages" / "index.jsonl").read_text().splitlines()]
    assert [(entry["partial"], entry["error"]) for entry in index] == ([(True, error)] if kept else [])
    for entry in index:
        saved = (tmp_path / "pages" / entry["file"]).read_bytes()
        assert 0 < len(saved) == entry["bytes"] == row["decoded_bytes"]
        assert TEXT.startswith(saved)


def test_a_content_with_an_unknown_coding_stays_as_it_came(fetch: Fetch, serve: Serve) -> None:
    port = serve(sends("Content-Encoding: rot13\r\nContent-Length: 3\r\n", b"abc"))
    url = f"http://127.0.0.1:{port}/"
    (row,) = json_rows(fetch("--format", "jsonl", urls=[url]).stdout).values()
    assert some(row, "status", "error", "coding", "not_decoded", "decoded_bytes") == [200, None, "rot13", True, 3]


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    """Make a certificate for a server."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed; install it with: apt-get install openssl")
    key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        "/CN=a.test",
        "-keyout",
        "key.pem",
    ]
    subprocess.run(["openssl", "req", "-x509", *key, "-out", "cert.pem"], cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    return context


@pytest.mark.parametrize("notifies", [True, False])
def test_an_end_of_tls_without_notice_is_marked(
    fetch: Fetch, serve: Serve, tls: ssl.SSLContext, tmp_path: Path, *, notifies: bool
) -> None:
    def answer(stream: socket.socket, _: str) -> None:
        stream.sendall(b"HTTP/1.0 200 OK\r\n\r\nHello")
        if notifies:
            assert isinstance(stream, ssl.SSLSocket)
            stream.unwrap()

    url = f"https://127.0.0.1:{serve(answer, tls)}/"
    words = ("--insecure", "--format", "jsonl", "--report", "report.json")
    (row,) = json_rows(fetch(*words, urls=[url]).stdout).values()
    assert some(row, "status", "decoded_bytes", "http_version", "tls_version") == [200, 5, "1.0", "1.3"]
    assert row["no_close_notify"] is not notifies
    assert json.loads((tmp_path / "report.json").read_text())["no_close_notify"] == int(not notifies)


END_STREAM, END_HEADERS = 1, 4
DATA, HEADERS, SETTINGS, CONTINUATION = 0, 1, 4, 9


def frame(kind: int, flags: int, payload: bytes, stream: int = 1) -> bytes:
    """Write a frame (RFC 9113, section 4.1)."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def field(name: str, value: str) -> bytes:
    """Write a field that is not indexed, of less than 127 bytes each (RFC 7541, section 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def head(status: int, *fields: bytes, end: bool = False) -> bytes:
    """Write the frames of a head."""
    block = b"".join([field(":status", str(status)), *fields])
    first, *more = [block[at : at + 16_384] for at in range(0, len(block), 16_384)]
    flags = END_STREAM * end
    if not more:
        return frame(HEADERS, flags | END_HEADERS, first)
    *middle, last = more
    continued = b"".join(frame(CONTINUATION, 0, piece) for piece in middle)
    return frame(HEADERS, flags, first) + continued + frame(CONTINUATION, END_HEADERS, last)


LENGTH_10 = field("content-length", "10")
LONG = [field(f"x-{number}", "x" * 100) for number in range(10_000)]


@pytest.mark.parametrize(
    ("answer", "code", "length"),
    [
        (head(200) + frame(DATA, END_STREAM, b"Hello"), "200", "5"),
        (head(103) * 32 + head(200, end=True), "200", "0"),
        (head(103) * 33 + head(200, end=True), "InterimFlood", "0"),
        (head(101) + head(200, end=True), "Http2Protocol", "0"),
        (head(200, LENGTH_10) + frame(DATA, END_STREAM, b"Hello"), "BodyCutShort", "0"),
        (head(204) + frame(DATA, END_STREAM, b"Hello"), "204", "0"),
        (head(304, LENGTH_10, end=True), "304", "0"),
        (head(200, *LONG[:400], end=True), "200", "0"),
        (head(200, *LONG[:800], end=True), "HeadTooLong", "0"),
        (head(200, *LONG, end=True), "HeadTooLong", "0"),
    ],
    ids=["good", "32 interim", "33 interim", "101", "short", "204", "304", "long head", "too long", "far too long"],
)
def test_errors_over_http2_have_the_names_of_http1(
    fetch: Fetch, serve: Serve, answer: bytes, code: str, length: str
) -> None:
    def send(stream: socket.socket, _: str) -> None:
        # The request of the client may still be on its way; its stream is known to be the first.
        received = stream.recv(65_536)
        while b"user-agent" not in received and len(received) < 90:
            received += stream.recv(65_536)
        stream.sendall(frame(SETTINGS, 0, b"", 0) + answer)
        while stream.recv(65_536):
            pass

    url = f"http://127.0.0.1:{serve(send)}/"
    row = next(csv.reader(fetch("--http-version", "2", "--quiet", urls=[url]).stdout.splitlines()))
    assert (row[1], row[4]) == (code, length)
