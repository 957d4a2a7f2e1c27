"""The same seed gives the same web and the same counts; another seed gives another web."""

import csv
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
import pytest

from doubles.command_line import Command
from httpdyno.lab.engine import Engine
from httpdyno.store import open_run
from httpdyno.subjects.build import find_build
from httpdyno.subjects.cache import cache_folder
from httpdyno.subjects.catalogue import read_catalogue

from .conftest import OF_OUR_OWN_S, right_in_time

Statuses = list[tuple[str, int | None]]
Crawl = Callable[..., tuple[int, Statuses]]

FEW, SOME, MANY = 60, 1_000, 4_500
SEED, OTHER_SEED = 11, 12


def web_of(engine: Engine, seed: int, count: int) -> tuple[str, str]:
    """Print the first top sites of a seed, and the correct report for each."""
    seeded = ["--web", "top-sites", "--seed", str(seed)]
    urls = printed([str(engine.path), "urls", *seeded, "--limit", str(count)])
    return urls, printed([str(engine.path), "expect", *seeded], urls)


def printed(argv: list[str], given: str = "") -> str:
    return subprocess.run(argv, input=given, stdout=subprocess.PIPE, text=True, check=True).stdout


def statuses_in(expected: str) -> Statuses:
    """Read the status that is due for each URL; None: an error is."""
    rows = csv.DictReader(expected.splitlines())
    return in_order((row["url"], int(row["status"]) if row["status"] else None) for row in rows)


def in_order(found: Iterable[tuple[str, int | None]]) -> Statuses:
    return sorted(found, key=lambda one: (one[0], one[1] or 0))


@pytest.fixture
def crawl(httpdyno: Command, tmp_path: Path) -> Crawl:
    """Crawl the top sites of a seed; return how many answers were wrong, and the status of each URL."""

    def run(
        seed: int, urls: int, timeout_s: int = 5, concurrency: int = 100, client: str = "native"
    ) -> tuple[int, Statuses]:
        out = tmp_path / f"runs-{len(list(tmp_path.iterdir()))}"
        ended = httpdyno(
            # Many at once, so that the stalls overlap.
            *("bench", client, "--concurrency", str(concurrency), "--limit", str(urls), "--seed", str(seed)),
            *("--timeout", str(timeout_s), "--repeat", "1", "--format", "json", "--out", str(out)),
        )
        assert ended.code == 0, ended.err
        (row,) = ended.rows
        (folder,) = out.iterdir()
        return row["wrong"], in_order(open_run(folder).samples().collect().select(pl.col("url"), "status").rows())

    return run


def test_the_same_seed_is_the_same_web_and_another_seed_is_another(engine: Engine) -> None:
    urls, expected = web_of(engine, SEED, MANY)
    assert (urls.count("\n"), expected.count("\n")) == (MANY, MANY + 1)
    assert web_of(engine, SEED, MANY) == (urls, expected)
    other_urls, other_expected = web_of(engine, OTHER_SEED, MANY)
    assert other_urls != urls
    assert other_expected != expected
    assert statuses_in(other_expected) != statuses_in(expected)


def test_a_crawl_meets_the_web_of_its_seed(crawl: Crawl, engine: Engine) -> None:
    due = statuses_in(web_of(engine, SEED, FEW)[1])
    assert {200, 404, None} <= {status for _, status in due}, "a crawl that met one kind only would prove little"
    # An answer may come later than the client waits, on a machine that is busy.
    wrong, statuses = right_in_time(
        lambda timeout_s: crawl(SEED, FEW, timeout_s), lambda found: found == (0, due), timeouts_s=OF_OUR_OWN_S
    )
    assert wrong == 0
    assert statuses == due


@pytest.mark.measured
@pytest.mark.parametrize("client", ["native", "rust-reqwest", "go-net-http", "node-fetch", "python-aiohttp"])
def test_the_same_seed_gives_the_same_answers_to_many_and_another_seed_gives_others(crawl: Crawl, client: str) -> None:
    (subject,) = read_catalogue().select([client])
    if client != "native" and find_build(subject, cache_folder()) is None:
        pytest.skip(f"there is no build of it; make one with: httpdyno subjects install {client}")
    # Other clients get fewer URLs, at their usual concurrency: without spare CPU time they would wait.
    urls, concurrency = (MANY, 300) if client == "native" else (SOME, subject.concurrency)
    wrong, statuses = crawl(SEED, urls, concurrency=concurrency, client=client)
    assert (wrong, len(statuses)) == (0, urls)
    assert crawl(SEED, urls, concurrency=concurrency, client=client) == (wrong, statuses)
    assert crawl(OTHER_SEED, urls, concurrency=concurrency, client=client)[1] != statuses
