"""Preparation of lists: lines of URLs, tables of domains, packed files and downloads."""

import csv
import gzip
import http.server
import io
import re
import socket
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import UsageError
from httpdyno.urls import list_file
from httpdyno.urls.list_file import download
from httpdyno.urls.preparation import (
    DomainColumn,
    domain_column,
    host_name,
    is_table,
    is_url_or_domain,
    prepare_urls,
    read_domains,
    read_url_list,
)


@pytest.mark.parametrize(
    ("line", "url"),
    [
        (b"example.org", b"https://example.org"),
        (b"example.org:8443/a?b=c,d", b"https://example.org:8443/a?b=c,d"),
        (b"  example.org \r\n", b"https://example.org"),
        (b"\xef\xbb\xbfexample.org", b"https://example.org"),
        ("bücher.example".encode(), "https://bücher.example".encode()),
        (b"http://example.org/", b"http://example.org/"),
        (b"HTTPS://Example.org/", b"HTTPS://Example.org/"),
        (b"ftp://example.org/", b"ftp://example.org/"),
        # A line that is not a URL reaches the client, which must report it.
        (b"two words", b"two words"),
        (b"https://exa mple.org/", b"https://exa mple.org/"),
        (b"\xff\xfe", b"https://\xff\xfe"),
    ],
)
def test_a_line_becomes_a_url(line: bytes, url: bytes) -> None:
    assert list(read_url_list([line])) == [url]


@pytest.mark.parametrize("line", [b"", b"\n", b"  \r\n", b"# a comment", b"#example.org"])
def test_a_line_without_a_url_is_skipped(line: bytes) -> None:
    assert list(read_url_list([line, b"a.example"])) == [b"https://a.example"]


@given(st.lists(st.sampled_from([b"a.example", b"", b"b.example", b"# no"])), st.integers(0, 10))
def test_the_limit_counts_urls_and_keeps_order_and_duplicates(lines: list[bytes], limit: int) -> None:
    everything = list(read_url_list(lines))
    assert everything == [b"https://" + line for line in lines if line.endswith(b".example")]
    assert list(islice(read_url_list(lines), limit)) == everything[:limit]


def test_a_limit_reads_no_further() -> None:
    lines = iter([b"a.example", b"b.example", b"c.example"])
    assert len(list(islice(read_url_list(lines), 2))) == 2
    assert next(lines) == b"c.example"


@pytest.mark.parametrize(
    "line",
    [
        "example.org", " example.org.\r\n", "\ufeffexample.org", "example.org:8443/a?b=c,d", "localhost:8080",
        "bücher.example", "under_score.example", "192.0.2.1", "[2001:db8::1]:80/", "http://intranet/",
        "HTTPS://me:secret@Example.org/#x", "https://a.example?q", "https://[::1]/",
    ],
)  # fmt: skip
def test_lines_that_a_client_can_fetch(line: str) -> None:
    assert is_url_or_domain(line.encode())


@pytest.mark.parametrize(
    "line",
    [
        b"word", b"two words", b"!!!", b"<html>", b"a..example", b"-a.example", b"a-.example", b"//x", b"https://",
        b"https:///path", b"https://:80/", b"ftp://x.example/", b"https://exa mple.org/", b"https://a.example/a page",
        b"https://a.example:99999/", b"https://a.example:port/", b"a.example:99999", b"https://[::1", b"[::1",
        b"\xff\xfe", b"https://a.example/\xff", b"mailto:me@a.example",
    ],
)  # fmt: skip
def test_lines_that_no_client_can_fetch(line: bytes) -> None:
    assert not is_url_or_domain(line)


def test_a_file_becomes_one_url_a_line(tmp_path: Path) -> None:
    source = tmp_path / "list.txt"
    source.write_bytes(b"a.example\n\n# none\nhttp://b.example/x")
    with prepare_urls(str(source), limit=None) as urls:
        assert urls.count == 2
        assert urls.file.read_text() == "https://a.example\nhttp://b.example/x\n"
        assert urls.file.path.read_bytes().endswith(b"\n")


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a.example\nb.example\n")))
    with prepare_urls("-", limit=1) as urls:
        assert urls.file.read_text() == "https://a.example\n"


def test_a_list_with_commas_in_its_paths_is_one(tmp_path: Path) -> None:
    source = tmp_path / "list"
    source.write_bytes(b"https://a.example/1,b.example\nb.example,2\n")
    with prepare_urls(str(source), limit=None) as urls:
        assert urls.file.read_text() == "https://a.example/1,b.example\nhttps://b.example,2\n"


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ('"Rank","Domain","Open Page Rank"', DomainColumn(1, heading=True)),
        ("GlobalRank,TldRank,Domain,TLD,RefSubNets", DomainColumn(2, heading=True)),
        ("domain", DomainColumn(0, heading=True)),
        ("origin,rank\r\n", DomainColumn(0, heading=True)),
        ("1,example.org", DomainColumn(1, heading=False)),
        ('"1","example.org","10.00"', DomainColumn(1, heading=False)),
        ("1,com", DomainColumn(1, heading=False)),
        ("example.org,1", DomainColumn(0, heading=False)),
        ("https://www.example.org,1000", DomainColumn(0, heading=False)),
        ("google.com;1", DomainColumn(0, heading=False, delimiter=";")),
        ("rank;domain", DomainColumn(1, heading=True, delimiter=";")),
        ("1\texample.org", DomainColumn(1, heading=False, delimiter="\t")),
        # Plain lists, also such as have commas.
        ("example.org", None),
        ("https://example.org/a,1", None),
        ("https://example.org/1,example.org", None),
        ("example.org/a,b", None),
        ("1,2 3", None),
        ("", None),
        ('"', None),
    ],
)
def test_the_first_line_locates_the_domains(line: str, column: DomainColumn | None) -> None:
    assert domain_column(line) == column


@pytest.mark.parametrize(
    ("line", "table"),
    [
        ("1,google.com", True),
        ("google.com;1", True),
        # The column of its domains is unknown, but no URL is spelt like that.
        ("example.org,foo", True),
        ("place,who\n", True),
        ("foo\tbar\texample.org", True),
        ("https://example.org,foo", True),
        ("example.org", False),
        ("example.org:8443/a?b=c,d", False),
        ("https://example.org/,1", False),
        ("https://user,name@example.org/", False),
        ("https://example.org?a;b", False),
        ("two words", False),
        ("", False),
    ],
)
def test_the_first_line_distinguishes_tables_from_lists(line: str, table: bool) -> None:
    assert is_table(line) is table


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("example.org", "example.org"),
        (" Example.ORG. ", "example.org"),
        ("a-b.c1.example", "a-b.c1.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("日本.jp", "xn--wgv71a.jp"),
        ("xn--80ak6aa92e.xn--p1ai", "xn--80ak6aa92e.xn--p1ai"),
        ("x" * 63 + ".example", "x" * 63 + ".example"),
        ("x" * 64 + ".example", None),
        (".".join(["x" * 50] * 5) + ".example", None),
        ("com", None),
        ("a..example", None),
        (".example.org", None),
        ("-a.example", None),
        ("a-.example", None),
        ("a_b.example", None),
        ("a b.example", None),
        ("example.123", None),
        ("192.0.2.1", None),
        ("ü" * 70 + ".example", None),
        ("", None),
    ],
)
def test_a_name_is_spelt_as_the_name_system_spells_it(text: str, name: str | None) -> None:
    assert host_name(text) == name


def read(text: str, limit: int | None = None) -> tuple[list[str], Counter[str]]:
    lines = text.splitlines(keepends=True)
    column = domain_column(lines[0])
    assert column is not None
    left_out: Counter[str] = Counter()
    return list(islice(read_domains(lines, column, left_out), limit)), left_out


def test_a_table_as_it_is_published() -> None:
    urls, left_out = read(
        '"Rank","Domain","Open Page Rank"\r\n"1","www.example.org","10.00"\r\n"2","Bücher.example","9.98"\r\n'
        '"3","192.0.2.7","9.9"\r\n\r\n"4","WWW.example.org","9.8"\r\n"5","under_score.example","9.7"\r\n'
        '"6","hidden.onion","9.6"\r\n"7"\r\n"8","printer.local","9.5"\r\n"9","2001:db8::1","9.4"\r\n"10","ad.DoubleClick.net","9.3"\r\n'
    )
    assert urls == ["https://www.example.org/", "https://xn--bcher-kva.example/"]
    assert left_out == {
        "addresses instead of names": 2,
        "no names of hosts": 2,
        "names without public sites": 2,
        "duplicates": 1,
        "servers of advertisements": 1,
    }


def test_a_scheme_that_is_named_is_kept() -> None:
    assert read("origin,rank\nhttp://a.example,1000\nhttps://b.example/,1000\nhttps://b.example,5000\n")[0] == [
        "http://a.example/",
        "https://b.example/",
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_each_delimiter_is_supported(delimiter: str) -> None:
    urls, _ = read(f"a.example{delimiter}1\nb.example{delimiter}2\n")
    assert urls == ["https://a.example/", "https://b.example/"]


def test_the_limit_counts_what_is_printed() -> None:
    urls, left_out = read("1,a.example\n2,1.2.3.4\n3,b.example\n4,c.example\n", limit=2)
    assert urls == ["https://a.example/", "https://b.example/"]
    assert left_out == {"addresses instead of names": 1}


@given(st.lists(st.text(max_size=20)), st.booleans())
def test_a_table_yields_only_host_names(names: list[str], heading: bool) -> None:
    table = io.StringIO()
    writer = csv.writer(table)
    if heading:
        writer.writerow(["rank", "domain"])
    writer.writerows([[rank, name] for rank, name in enumerate(names)])
    left_out: Counter[str] = Counter()
    lines = table.getvalue().splitlines(keepends=True)
    urls = list(read_domains(lines, DomainColumn(1, heading=heading), left_out))
    assert len(urls) == len(set(urls))
    assert all(re.fullmatch(r"https://[a-z0-9.-]+\.[a-z][a-z0-9-]+/", url) for url in urls)
    assert len(urls) + left_out.total() == sum(bool(line.strip()) for line in lines[int(heading) :])


@given(st.from_regex(r"[a-z]{1,10}(\.[a-z0-9]{1,10}){0,2}\.[a-z]{2,6}", fullmatch=True))
def test_what_is_a_name_stays_as_it_is(name: str) -> None:
    assert host_name(name) == name
    assert host_name(name.upper() + ".") == name


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
        (packed(("folder/", b"")), "the archive has no file"),
        (b'"Rank","Domain"\n"1","1.2.3.4"\n', "the list has no URL"),
        (b"", "the list has no URL"),
        (b"# none\n\n", "the list has no URL"),
        (b"\x7fELF\x02\x01\0\0\n", "/list: line 1 has a NUL byte: this is a binary file; give a text in UTF-8"),
        (b"a.example\n\nb.ex\0ample\n", "/list: line 3 has a NUL byte"),
        ("a.example\nb.example\n".encode("utf-16"), "line 1 has a NUL byte"),
        (b"Rank,Domain\n1,a.\0example\n", "line 2 has a NUL byte"),
        (gzip.compress(b"\0" * 100, mtime=0), "line 1 has a NUL byte"),
        (b"example.org,foo\nexample.com,bar\n", "first line, 'example.org,foo', is neither .* a header row such as"),
    ],
)
def test_an_invalid_list_is_refused_in_one_line(content: bytes, said: str, tmp_path: Path) -> None:
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
        (["two words"] + 6 * ["!!!"], None, 7, "7 of 7 lines are not URLs, first: line 1 ('two words')"),
        (
            ["# none", "", "a.example", "ftp://b.example/"],
            None,
            1,
            "1 of 2 lines is not a URL, first: line 4 ('ftp://b.ex",
        ),
        (["a.example", "two words"], 1, 0, ""),
        (["x" * 100], None, 1, f"1 of 1 line is not a URL, first: line 1 ('{60 * 'x'}')"),
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
        """Print nothing."""


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


def test_a_download_reports_its_progress(publisher: str) -> None:
    received: list[tuple[int, int | None]] = []
    size = len(FORMS["zip"])
    urls = prepare_urls(publisher + "/list.zip", limit=None, progress=lambda *news: received.append(news))
    urls.file.close()
    assert received == [(0, size), (size, size)]
    received.clear()
    urls = prepare_urls(publisher + "/unannounced", limit=None, progress=lambda *news: received.append(news))
    urls.file.close()
    assert received == [(0, None), (size, None)]


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
    monkeypatch.setattr(list_file, "_PIECE_BYTES", 16)
    monkeypatch.setattr(list_file, "_LARGEST_BYTES", 64)
    target = io.BytesIO()
    with pytest.raises(UsageError, match="larger than 64 B; download it yourself and name the file"):
        download(publisher + path, target)
    assert len(target.getvalue()) <= 64 + 16


def test_a_silent_server_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_file, "_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(UsageError, match="cannot be fetched: the server sent nothing for 0 s"):
            prepared(url)
