"""The limit per host: what is handed out when, by tables and by simulated clients that answer in any order."""

from collections import Counter, defaultdict
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.lab import host_limit
from httpdyno.lab.host_limit import HostLimit, host_of

HOSTS = st.sampled_from([b"a.example", b"b.example", b"www.a.example", b"A.EXAMPLE:8443"])
URLS = st.one_of(
    st.builds(lambda host, page: b"https://%s/%d" % (host, page), HOSTS, st.integers(0, 3)), st.just(b"no url")
)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        (b"https://example.org", b"example.org"),
        (b"https://www.Example.ORG./a?b@c", b"example.org"),
        (b"HTTP://user:pass@example.org:8080/", b"example.org"),
        (b"http://127.0.0.1:8080/x", b"127.0.0.1"),
        (b"http://[2001:db8::1]:80/", b"[2001:db8::1]"),
        (b" https://example.org?x ", b"example.org"),
        ("https://bücher.example/".encode(), "bücher.example".encode()),
        (b"https://www./", b"www"),
        (b"https:///path", None),
        (b"ftp://example.org/", None),
        (b"example.org", None),
        (b"", None),
    ],
)
def test_a_url_has_a_host(url: bytes, host: bytes | None) -> None:
    assert host_of(url) == host


def drain(limit: HostLimit, now_ns: int = 0) -> list[bytes]:
    return list(iter(lambda: limit.take(now_ns), None))


def test_what_waits_goes_on_when_its_host_has_answered() -> None:
    a1, a2, a3, b1 = b"http://a/1", b"http://a/2", b"http://a/3", b"http://b/1"
    limit = HostLimit([a1, a2, a3, b1])
    assert drain(limit) == [a1, b1]
    assert (limit.held, limit.in_flight, limit.finished, limit.next_at_ns) == (2, 2, False, None)
    assert limit.answered(a1)
    assert drain(limit) == [a2]
    assert not limit.answered(a1), "it was answered already"
    assert limit.answered(a2)
    assert drain(limit) == [a3]
    assert (limit.held, limit.in_flight, limit.finished) == (0, 2, True)


def test_two_of_a_host_at_a_time() -> None:
    limit = HostLimit([b"http://a/%d" % page for page in range(4)], per_host=2)
    assert drain(limit) == [b"http://a/0", b"http://a/1"]
    limit.answered(b"http://a/1")
    assert drain(limit) == [b"http://a/2"]


def test_an_interval_holds_back_what_was_answered_at_once() -> None:
    limit = HostLimit([b"http://a/1", b"http://a/2"], interval_ns=100)
    assert drain(limit, 1000) == [b"http://a/1"]
    limit.answered(b"http://a/1")
    assert limit.next_at_ns == 1100
    assert drain(limit, 1099) == []
    assert drain(limit, 1100) == [b"http://a/2"]


def test_a_url_that_comes_twice_is_handed_out_twice() -> None:
    limit = HostLimit([b"http://a/", b"http://a/"], per_host=5)
    assert drain(limit) == [b"http://a/"] * 2
    assert limit.answered(b"http://a/")
    assert limit.answered(b"http://a/")
    assert not limit.answered(b"http://a/")


def test_what_is_no_url_is_never_held_back() -> None:
    assert drain(HostLimit([b"no url", b"no url", b"ftp://a/"])) == [b"no url", b"no url", b"ftp://a/"]


def test_no_more_is_read_than_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_limit, "LOOKAHEAD", 10)
    lines = (b"http://a/%d" % page for page in count())
    limit = HostLimit(lines)
    assert drain(limit) == [b"http://a/0"]
    assert limit.held == 10
    assert next(lines) == b"http://a/11"


def test_hosts_that_are_done_are_forgotten() -> None:
    for interval_ns in (0, 5):
        limit = HostLimit((b"http://h%d/" % host for host in range(1000)), interval_ns=interval_ns)
        for now_ns in range(1000):
            url = limit.take(now_ns)
            assert url is not None
            limit.answered(url)
        assert limit.take(2000) is None
        assert not limit._hosts


@pytest.mark.parametrize(("per_host", "interval_ns"), [(0, 0), (-1, 0), (1, -1)])
def test_a_limit_that_cannot_be(per_host: int, interval_ns: int) -> None:
    with pytest.raises(InvalidValue, match="per host"):
        HostLimit([], per_host=per_host, interval_ns=interval_ns)


@given(st.lists(URLS, max_size=40), st.integers(1, 3), st.integers(0, 20), st.data())
def test_any_client_keeps_the_limit_and_gets_the_whole_list(
    urls: list[bytes], per_host: int, interval_ns: int, data: st.DataObject
) -> None:
    limit = HostLimit(urls, per_host=per_host, interval_ns=interval_ns)
    now_ns, open_urls, handed = 0, list[bytes](), list[bytes]()
    last_ns: dict[bytes, int] = {}
    while True:
        url = limit.take(now_ns)
        if url is not None:
            handed.append(url)
            open_urls.append(url)
            host = host_of(url)
            if host is not None:
                assert sum(host_of(other) == host for other in open_urls) <= per_host
                assert now_ns - last_ns.get(host, -interval_ns) >= interval_ns
                last_ns[host] = now_ns
        elif open_urls:
            answered = data.draw(st.integers(0, len(open_urls) - 1))
            assert limit.answered(open_urls.pop(answered))
            now_ns += data.draw(st.integers(0, 10))
        elif limit.finished:
            break
        else:
            assert limit.next_at_ns is not None, "nobody is waited for, and yet nothing goes on"
            now_ns = max(now_ns, limit.next_at_ns)
        assert limit.in_flight == len(open_urls)
    assert Counter(handed) == Counter(urls)
    of_host: dict[bytes | None, list[bytes]] = defaultdict(list)
    for url in handed:
        of_host[host_of(url)].append(url)
    for host, pages in of_host.items():
        assert pages == [url for url in urls if host_of(url) == host], "a host is asked in the order of the list"


@given(st.integers(0, 50), st.integers(1, 3))
def test_a_list_of_different_hosts_keeps_its_order(length: int, per_host: int) -> None:
    urls = [b"https://h%d/" % host for host in range(length)]
    assert drain(HostLimit(urls, per_host=per_host, interval_ns=10**9)) == urls
