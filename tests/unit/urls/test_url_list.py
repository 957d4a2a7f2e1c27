"""Lists of URLs: what is made of each line."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.urls.preparation import prepare_urls
from httpdyno.urls.url_list import is_url_or_domain, read_url_list


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
        # What is no URL reaches the client, which must report it.
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
    assert list(read_url_list(lines, limit)) == everything[:limit]


def test_a_limit_reads_no_further() -> None:
    lines = iter([b"a.example", b"b.example", b"c.example"])
    assert len(list(read_url_list(lines, 2))) == 2
    assert next(lines) == b"c.example"


@pytest.mark.parametrize(
    "line",
    [
        "example.org", " example.org.\r\n", "\ufeffexample.org", "example.org:8443/a?b=c,d", "localhost:8080",
        "bücher.example", "under_score.example", "192.0.2.1", "[2001:db8::1]:80/", "http://intranet/",
        "HTTPS://me:secret@Example.org/#x", "https://a.example?q", "https://[::1]/",
    ],
)  # fmt: skip
def test_what_a_client_can_ask_for(line: str) -> None:
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
def test_what_no_client_can_ask_for(line: bytes) -> None:
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
