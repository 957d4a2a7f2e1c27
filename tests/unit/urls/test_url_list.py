"""Lists of URLs: what is made of each line."""

import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import UsageError
from httpdyno.urls.source import urls_of_list
from httpdyno.urls.url_list import read_url_list


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


def test_a_file_becomes_one_url_a_line(tmp_path: Path) -> None:
    source = tmp_path / "list.txt"
    source.write_bytes(b"a.example\n\n# none\nhttp://b.example/x")
    with urls_of_list(str(source), limit=None) as urls:
        assert urls.count == 2
        assert urls.file.read_text() == "https://a.example\nhttp://b.example/x\n"
        assert urls.file.path.read_bytes().endswith(b"\n")


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a.example\nb.example\n")))
    with urls_of_list("-", limit=1) as urls:
        assert urls.file.read_text() == "https://a.example\n"


def test_lists_that_are_none_are_one_line(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("# nothing\n\n", encoding="utf-8")
    for source, said in [
        (tmp_path / "absent", "cannot be read: No such file"),
        (tmp_path, "cannot be read: Is a directory"),
        (empty, "there is no URL in .*empty"),
    ]:
        with pytest.raises(UsageError, match=said):
            urls_of_list(str(source), limit=None)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"1,google.com\n2,example.org\n", "a table of domains"),
        (b"# made today\n\ngoogle.com;1\n", "a table of domains"),
        (b"\xef\xbb\xbfdomain\nexample.org\n", "a table of domains"),
        (b"example.org,foo\n", "a table of domains"),
        (gzip.compress(b"example.org\n", mtime=0), "packed"),
        (b"PK\x03\x04...", "packed"),
    ],
)
def test_a_table_is_refused_with_what_makes_a_list_of_it(
    content: bytes, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "top sites.csv"
    source.write_bytes(content)
    cure = f"this is {kind}, not a list of URLs; make one of it with: httpdyno urls"
    with pytest.raises(UsageError) as refused:
        urls_of_list(str(source), limit=None)
    assert str(refused.value) == f"--urls {source}: {cure} '{source}' > urls.txt"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    with pytest.raises(UsageError) as refused:
        urls_of_list("-", limit=None)
    assert str(refused.value) == f"standard input: {cure} - > urls.txt"


def test_a_list_with_commas_in_its_paths_is_one(tmp_path: Path) -> None:
    source = tmp_path / "list"
    source.write_bytes(b"https://a.example/1,b.example\nb.example,2\n")
    with urls_of_list(str(source), limit=None) as urls:
        assert urls.file.read_text() == "https://a.example/1,b.example\nhttps://b.example,2\n"
