"""A list that is too short for a rate: lengthened at its default length, else refused, or measured without a rate."""

from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from httpdyno.experiments.crawl.plan import HIGHEST, ShortList, find_short


@pytest.fixture
def both(make_subject: MakeSubject, subject_folders: Path) -> list[str]:
    """Two clients, with one request in flight and with 150."""
    make_subject("good")
    make_subject("wide", concurrency=150)
    return ["good", "wide", "--subjects", str(subject_folders), "--repeat", "1", "--format", "json"]


@pytest.mark.parametrize(
    ("asked", "where"),
    [(("--limit", "300"), "--limit"), (("--urls", "list"), "--urls list"), (("--urls", "-"), "--urls -")],
)
def test_clients_are_not_compared_by_a_list_that_is_too_short(
    httpdyno: Command, both: list[str], asked: tuple[str, ...], where: str, tmp_path: Path
) -> None:
    listed = "".join(f"host{number}.example\n" for number in range(300))
    (tmp_path / "list").write_text(listed, encoding="utf-8")
    ended = httpdyno("bench", *both, *asked, stdin=listed.encode())
    assert ended.code == 2
    assert ended.err == (
        f"httpdyno: {where}: 300 URLs are too few for 150 in flight (wide): a rate needs 600;"
        " give so many, or a --concurrency of 75 or less\n"
    )


def test_the_concurrency_that_is_named_measures_them(httpdyno: Command, both: list[str]) -> None:
    ended = httpdyno("bench", *both, "--limit", "300", "--concurrency", "75")
    assert ended.code == 0, ended.err
    assert {row["subject"]: row["right_per_s"] is None for row in ended.rows} == {"good": False, "wide": False}


def test_a_list_without_a_given_length_is_lengthened(httpdyno: Command, both: list[str]) -> None:
    ended = httpdyno("bench", *both, "--quick")
    assert ended.code == 0, ended.err
    assert "httpdyno: 500 URLs are too few for 150 in flight (wide): a rate needs 600; 600 are used" in ended.err
    assert {row["totalUrls"] for row in ended.rows} == {600}


@pytest.mark.parametrize(("verb", "urls", "few"), [("bench", 3, "3 URLs"), ("try", 3, "3 URLs"), ("try", 1, "1 URL")])
def test_one_client_alone_has_no_rate_and_that_is_said(
    httpdyno: Command, given: list[str], verb: str, urls: int, few: str
) -> None:
    ended = httpdyno(verb, *given, "--limit", str(urls), "--format", "json")
    assert ended.code == 0, ended.err
    assert f"httpdyno: no rate is computed for {few}; it needs 4\n" in ended.err
    assert ended.rows[0]["right_per_s"] is None


def test_a_search_ends_where_its_list_is_too_short(httpdyno: Command, both: list[str]) -> None:
    ended = httpdyno("tune", "wide", *both[2:4], "--limit", "599")
    assert ended.code == 2
    assert ended.err == (
        "httpdyno: --limit: 599 URLs are too few for 150 in flight (wide): a rate needs 600; give so many\n"
    )
    ended = httpdyno("tune", "good", *both[2:4], "--limit", "64", "--format", "json")
    assert (
        "64 URLs: at most 16 in flight are tried, because a rate needs 4 URLs for each request in flight" in ended.err
    )
    assert max(row["concurrency"] for row in ended.rows) <= 16


@pytest.mark.parametrize(
    ("urls", "concurrency", "short"),
    [(40, 10, None), (39, 10, ShortList(39, 10, "")), (4 * HIGHEST, HIGHEST, None), (3, 1, ShortList(3, 1, ""))],
)
def test_four_urls_for_each_request_in_flight(urls: int, concurrency: int, short: ShortList | None) -> None:
    assert find_short(urls, concurrency, []) == short


def test_a_list_that_fits_no_concurrency_names_none() -> None:
    refusal = str(ShortList(3, 1, "").refusal(None))
    assert refusal == "--limit: 3 URLs are too few for 1 in flight: a rate needs 4; give so many"
    assert str(ShortList(1, 2, "")) == "1 URL is too few for 2 in flight: a rate needs 8"
