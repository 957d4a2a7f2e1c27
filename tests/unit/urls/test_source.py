"""The one file of URLs of a run: slow URLs first, and URLs of another origin."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.lab.scratch import ScratchFile
from httpdyno.urls.source import (
    UrlFile,
    at_origin,
    early_order,
    file_at_origin,
    with_slow_first,
    written,
)


@st.composite
def lists(draw: st.DrawFn) -> tuple[int, list[int], float]:
    """Draw the length of a list, the places of its slow URLs in any order, and a timeout in seconds."""
    count = draw(st.integers(1, 400))
    slow = draw(st.lists(st.integers(0, count - 1), unique=True))
    return count, slow, draw(st.sampled_from([0.1, 0.5, 1.0, 5.0]))


@given(lists())
def test_the_order_is_a_permutation_with_the_slow_urls_as_given(
    given_list: tuple[int, list[int], float],
) -> None:
    count, slow, timeout_s = given_list
    order = early_order(count, slow, timeout_s=timeout_s)
    assert sorted(order) == list(range(count))
    assert [old for old in order if old in set(slow)] == slow
    assert [old for old in order if old not in set(slow)] == sorted(set(range(count)) - set(slow))


@given(lists())
def test_a_slow_url_ends_before_the_list_does(given_list: tuple[int, list[int], float]) -> None:
    count, slow, timeout_s = given_list
    order = early_order(count, slow, timeout_s=timeout_s)
    places = [place for place, old in enumerate(order) if old in set(slow)]
    others = count - len(slow)
    # 300 URLs a second are read after the last slow one has begun, or all that there are.
    if places:
        assert count - 1 - places[-1] >= min(others, 300 * timeout_s)
    # They come first in a list up to that length, and are evenly spread in the part before in a longer one.
    if others <= 300 * timeout_s:
        assert places == list(range(len(slow)))
    else:
        gaps = [later - earlier for earlier, later in pairwise(places)]
        assert max(gaps, default=0) - min(gaps, default=0) <= 1


@given(lists())
def test_a_list_in_its_early_order_stays_as_it_is(given_list: tuple[int, list[int], float]) -> None:
    count, slow, timeout_s = given_list
    order = early_order(count, slow, timeout_s=timeout_s)
    places = [place for place, old in enumerate(order) if old in set(slow)]
    assert early_order(count, places, timeout_s=timeout_s) == list(range(count))


@pytest.mark.parametrize(
    ("count", "slow", "order"),
    [
        (5, [], [0, 1, 2, 3, 4]),
        (5, [3, 4], [3, 4, 0, 1, 2]),
        (5, [4, 1], [4, 1, 0, 2, 3]),
        (5, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        # 30 URLs come after the last slow one: it is at one of the first ten of 40 places.
        (40, [20, 39], [20, 0, 1, 2, 3, 39, *range(4, 20), *range(21, 39)]),
    ],
)
def test_orders(count: int, slow: list[int], order: list[int]) -> None:
    assert early_order(count, slow, timeout_s=0.1) == order


def url_file(text: str) -> UrlFile:
    file = ScratchFile()
    file.file.write(text.encode())
    file.file.flush()
    return UrlFile(file, text.count("\n"), "list", remark="r")


def test_a_list_is_written_in_its_early_order() -> None:
    urls = url_file("https://a/\nnone\nhttps://b/\n")
    with with_slow_first(urls, (2,), timeout_s=5) as early:
        assert early.file.path.read_text() == "https://b/\nhttps://a/\nnone\n"
        assert (early.count, early.source, early.remark, early.reordered, early.kept) == (3, "list", "r", True, True)


@pytest.mark.parametrize("slow", [(), (0,), (0, 1, 2)])
def test_a_list_that_has_that_order_already_is_not_written_again(slow: tuple[int, ...]) -> None:
    with url_file("https://a/\nhttps://b/\nhttps://c/\n") as urls:
        assert with_slow_first(urls, slow, timeout_s=5) is urls
        assert not urls.reordered


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


@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), min_size=1, max_size=8))
def test_no_line_is_lost(lines: list[bytes]) -> None:
    with file_at_origin(written(lines, "list.txt"), AGAINST) as there:
        assert there.file.path.read_bytes().count(b"\n") == len(lines)


def test_a_prepared_list_is_rewritten_and_the_old_one_closed() -> None:
    urls = written([b"https://a.test/x", b"https://b.test/", b"\xff"], "list.txt")
    with file_at_origin(urls, AGAINST) as there:
        assert there.file.path.read_bytes() == b"http://other:8080/x\nhttp://other:8080/b.test\n\xff\n"
        assert (there.count, there.source) == (3, "list.txt")
        assert urls.file.file.closed
