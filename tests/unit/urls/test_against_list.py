"""Lists that are asked of one origin on another machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.urls.against_list import at_origin, file_at_origin, list_at_origin
from httpdyno.urls.source import written

AGAINST = "http://other:8080"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.example.org", "http://other:8080/www.example.org"),
        ("https://www.example.org/", "http://other:8080/www.example.org"),
        ("https://www.example.org:8443/", "http://other:8080/www.example.org:8443"),
        ("https://www.example.org/?q=1", "http://other:8080/www.example.org?q=1"),
        ("http://a.test/bytes/100?n=1&b=a%20c", "http://other:8080/bytes/100?n=1&b=a%20c"),
        ("HTTP://A.test/plain#part", "http://other:8080/plain"),
        ("http://other:8080/bytes/1", "http://other:8080/bytes/1"),
        ("http://OTHER:8080/", "http://OTHER:8080/"),
        ("http://other/plain", "http://other:8080/plain"),
        ("ftp://a.test/file", "ftp://a.test/file"),
        ("no url", "no url"),
        ("http://[", "http://["),
        ("", ""),
    ],
)
def test_paths_stay_and_the_host_is_the_other_machine(url: str, expected: str) -> None:
    assert at_origin(url, AGAINST) == expected


@given(st.text(max_size=60))
def test_once_there_a_url_stays_there(url: str) -> None:
    there = at_origin(url, AGAINST)
    assert at_origin(there, AGAINST) == there


@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=8))
def test_no_line_is_lost(lines: list[bytes]) -> None:
    assert len(list(list_at_origin(lines, AGAINST))) == len(lines)


def test_a_prepared_list_is_rewritten_and_the_old_one_closed() -> None:
    urls = written([b"https://a.test/x", b"https://b.test/", b"\xff"], "list.txt")
    with file_at_origin(urls, AGAINST) as there:
        assert there.file.path.read_bytes() == b"http://other:8080/x\nhttp://other:8080/b.test\n\xff\n"
        assert (there.count, there.source) == (3, "list.txt")
        assert urls.file.file.closed
