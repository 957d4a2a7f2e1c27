"""Lists wherever they are and however they are packed, from servers of our own."""

import gzip
import http.server
import io
import socket
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from httpdyno.errors import UsageError
from httpdyno.urls import download as downloading
from httpdyno.urls.download import download
from httpdyno.urls.preparation import prepare_urls

TABLE = b'"Rank","Domain","Open Page Rank"\n"1","a.example","10"\n"2","b.example","9"\n"3","c_.example","8"\n'
URLS = "https://a.example/\nhttps://b.example/\n"


def packed(*files: tuple[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return target.getvalue()


FORMS = {
    "plain": TABLE,
    "gzip": gzip.compress(TABLE, mtime=0),
    "zip": packed(("LICENCE", b"yours\n"), ("lists/", b""), ("lists/top.csv", TABLE)),
    "byte order mark": b"\xef\xbb\xbf" + TABLE,
    "comments before it": b"# made today\n\n" + TABLE,
}


def prepared(source: str, limit: int | None = None) -> tuple[str, str]:
    with prepare_urls(source, limit=limit) as urls:
        return urls.file.read_text(), urls.remark


@pytest.mark.parametrize("form", FORMS)
def test_a_file_in_any_form(form: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(FORMS[form])
    source = str(tmp_path / "list")
    assert prepared(source) == (URLS, f"{source}: left out 1 of 3 (no names of hosts: 1)")
    assert prepared(source, limit=1) == ("https://a.example/\n", "")


@pytest.mark.parametrize("form", FORMS)
def test_standard_input_in_any_form(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    pipe = Pipe(FORMS[form])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(pipe))
    assert prepared("-")[0] == URLS


def test_a_plain_list_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"a.example\na.example\n192.0.2.1\nhttp://b.example/x,1\n")
    assert prepared(str(tmp_path / "list")) == (
        "https://a.example\nhttps://a.example\nhttps://192.0.2.1\nhttp://b.example/x,1\n",
        "",
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(TABLE * 1000, mtime=0)[:-20], "cannot be unpacked: Compressed file ended"),
        (gzip.compress(TABLE, mtime=0)[:12] + b"damaged" * 3, "cannot be unpacked"),
        (b"PK\x03\x04 no archive", "cannot be unpacked: File is not a zip file"),
        (packed(("folder/", b"")), "there is no file in the archive"),
        (b'"Rank","Domain"\n"1","1.2.3.4"\n', "there is no URL in it"),
        (b"", "there is no URL in it"),
        (b"# none\n\n", "there is no URL in it"),
        (b"\x7fELF\x02\x01\0\0\n", "/list: line 1 has a NUL byte: this is a binary file; give a text in UTF-8"),
        (b"a.example\n\nb.ex\0ample\n", "/list: line 3 has a NUL byte"),
        ("a.example\nb.example\n".encode("utf-16"), "line 1 has a NUL byte"),
        (b"Rank,Domain\n1,a.\0example\n", "line 2 has a NUL byte"),
        (gzip.compress(b"\0" * 100, mtime=0), "line 1 has a NUL byte"),
        (b"example.org,foo\nexample.com,bar\n", "first line, 'example.org,foo', is neither .* a heading, such as"),
    ],
)
def test_what_is_no_list_is_one_line(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(content)
    with pytest.raises(UsageError, match=said):
        prepared(str(tmp_path / "list"))


@pytest.mark.parametrize(("path", "said"), [("", "Is a directory"), ("absent", "No such file or directory")])
def test_a_file_that_cannot_be_read(path: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"cannot be read: {said}; name another file"):
        prepared(str(tmp_path / path))


@pytest.mark.parametrize(
    ("lines", "limit", "no_urls", "said"),
    [
        (["a.example", "http://b.example:8080/x"], None, 0, ""),
        (["two words"] + 6 * ["!!!"], None, 7, "7 of 7 lines are no URL, first: line 1 ('two words')"),
        (
            ["# none", "", "a.example", "ftp://b.example/"],
            None,
            1,
            "1 of 2 lines is no URL, first: line 4 ('ftp://b.ex",
        ),
        (["a.example", "two words"], 1, 0, ""),
        (["x" * 100], None, 1, f"1 of 1 line is no URL, first: line 1 ('{60 * 'x'}')"),
    ],
)
def test_lines_that_are_no_urls_are_handed_on_and_counted(
    lines: list[str], limit: int | None, no_urls: int, said: str, tmp_path: Path
) -> None:
    source = tmp_path / "list"
    source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with prepare_urls(str(source), limit=limit) as urls:
        assert urls.no_urls == no_urls
        assert urls.remark.startswith(f"{source}: {said}" if said else "")
        assert bool(urls.remark) == bool(said)
        assert urls.count == min(limit or 7, sum(bool(line) and line[0] != "#" for line in lines))


class Publisher(http.server.BaseHTTPRequestHandler):
    """Publishes the table in several ways."""

    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/list.zip")
            self.end_headers()
            return
        if self.path not in {"/list.zip", "/short", "/unannounced"}:
            self.send_error(404)
            return
        self.send_response(200)
        content = FORMS["zip"]
        if self.path != "/unannounced":
            self.send_header("Content-Length", str(len(content) + (self.path == "/short")))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def publisher() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Publisher) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", ["/list.zip", "/unannounced", "/moved"])
def test_a_list_is_downloaded(publisher: str, path: str) -> None:
    assert prepared(publisher + path)[0] == URLS


def test_a_download_tells_how_far_it_is(publisher: str) -> None:
    told: list[tuple[int, int | None]] = []
    size = len(FORMS["zip"])
    urls = prepare_urls(publisher + "/list.zip", limit=None, progress=lambda *news: told.append(news))
    urls.file.close()
    assert told == [(0, size), (size, size)]
    told.clear()
    urls = prepare_urls(publisher + "/unannounced", limit=None, progress=lambda *news: told.append(news))
    urls.file.close()
    assert told == [(0, None), (size, None)]


def free_port() -> int:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        return int(other.getsockname()[1])


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (lambda base: base + "/absent", "/absent: the server answers 404 Not Found"),
        (lambda base: base + "/short", "/short: ended after .* of .*; try again"),
        (lambda _: f"http://127.0.0.1:{free_port()}/", "cannot be fetched: Connection refused"),
        (lambda _: "http://", "http://: cannot be fetched"),
        (lambda _: "http://[", "cannot be fetched"),
    ],
)
def test_a_download_that_fails_is_one_line(publisher: str, url: Callable[[str], str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        prepared(url(publisher))


@pytest.mark.parametrize("path", ["/list.zip", "/unannounced"])
def test_what_is_too_large_is_refused(publisher: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloading, "_PIECE_BYTES", 16)
    target = io.BytesIO()
    with pytest.raises(UsageError, match="larger than 64 B; download it and give the file"):
        download(publisher + path, target, largest_bytes=64)
    assert len(target.getvalue()) <= 64 + 16


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloading, "_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(UsageError, match="cannot be fetched: nothing came for 0 s"):
            prepared(url)
