"""Tables of domains: where the domains stand, what becomes of each, what is left out."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.urls.domain_list import DomainColumn, LeftOut, domain_column, host_name, is_table, read_domains


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
def test_the_first_line_tells_where_domains_stand(line: str, column: DomainColumn | None) -> None:
    assert domain_column(line) == column


@pytest.mark.parametrize(
    ("line", "table"),
    [
        ("1,google.com", True),
        ("domain", True),
        ("google.com;1", True),
        # Nobody knows where its domains stand, but no URL is spelt like that.
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
def test_the_first_line_tells_a_table_from_a_list(line: str, table: bool) -> None:
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


def read(text: str, limit: int | None = None) -> tuple[list[str], LeftOut]:
    lines = text.splitlines(keepends=True)
    column = domain_column(lines[0])
    assert column is not None
    left_out = LeftOut()
    return list(read_domains(lines, column, left_out, limit)), left_out


def test_a_table_as_it_is_published() -> None:
    urls, left_out = read(
        '"Rank","Domain","Open Page Rank"\r\n"1","www.example.org","10.00"\r\n"2","Bücher.example","9.98"\r\n'
        '"3","192.0.2.7","9.9"\r\n\r\n"4","WWW.example.org","9.8"\r\n"5","under_score.example","9.7"\r\n'
        '"6","hidden.onion","9.6"\r\n"7"\r\n"8","printer.local","9.5"\r\n"9","2001:db8::1","9.4"\r\n"10","ad.DoubleClick.net","9.3"\r\n'
    )
    assert urls == ["https://www.example.org/", "https://xn--bcher-kva.example/"]
    assert left_out.text == (
        "left out 8 of 10 (addresses instead of names: 2, no names of hosts: 2, names without public sites: 2, "
        "duplicates: 1, servers of advertisements: 1)"
    )


def test_a_scheme_that_is_named_is_kept() -> None:
    assert read("origin,rank\nhttp://a.example,1000\nhttps://b.example/,1000\nhttps://b.example,5000\n")[0] == [
        "http://a.example/",
        "https://b.example/",
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_whatever_separates_the_columns(delimiter: str) -> None:
    urls, _ = read(f"a.example{delimiter}1\nb.example{delimiter}2\n")
    assert urls == ["https://a.example/", "https://b.example/"]


def test_the_limit_counts_what_is_printed() -> None:
    urls, left_out = read("1,a.example\n2,1.2.3.4\n3,b.example\n4,c.example\n", limit=2)
    assert urls == ["https://a.example/", "https://b.example/"]
    assert left_out.text == "left out 1 of 3 (addresses instead of names: 1)"
    assert LeftOut().text == ""


@given(st.lists(st.text(max_size=20)), st.booleans())
def test_whatever_stands_in_a_table_only_names_come_out(names: list[str], heading: bool) -> None:
    table = io.StringIO()
    writer = csv.writer(table)
    if heading:
        writer.writerow(["rank", "domain"])
    writer.writerows([[rank, name] for rank, name in enumerate(names)])
    left_out = LeftOut()
    lines = table.getvalue().splitlines(keepends=True)
    urls = list(read_domains(lines, DomainColumn(1, heading=heading), left_out))
    assert len(urls) == len(set(urls))
    assert all(re.fullmatch(r"https://[a-z0-9.-]+\.[a-z][a-z0-9-]+/", url) for url in urls)
    assert len(urls) + sum(left_out.reasons.values()) == left_out.lines


@given(st.from_regex(r"[a-z]{1,10}(\.[a-z0-9]{1,10}){0,2}\.[a-z]{2,6}", fullmatch=True))
def test_what_is_a_name_stays_as_it_is(name: str) -> None:
    assert host_name(name) == name
    assert host_name(name.upper() + ".") == name
