"""The same seed is the same web, and the same counts; another seed is another web."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import TESTS
from doubles.command_line import Command
from httpdyno.store import open_run

pytestmark = pytest.mark.beside

COUNTS = ("2xx", "3xx", "4xx", "5xx", "Exception")
URLS = 300
# Many at once, so that the URLs that stall until the timeout stall side by side.
CLIENT = ["seed-form-adapter", "--subjects", str(TESTS / "fixtures"), "--concurrency", "100"]

Crawl = Callable[[int], tuple[dict[str, int], list[tuple[Any, ...]]]]


@pytest.fixture
def crawl(httpdyno: Command, tmp_path: Path) -> Crawl:
    """Crawl the top sites of a seed; give the counts, and the status of each URL."""

    def run(seed: int) -> tuple[dict[str, int], list[tuple[Any, ...]]]:
        out = tmp_path / f"runs-{len(list(tmp_path.iterdir()))}"
        ended = httpdyno(
            *("bench", *CLIENT, "--limit", str(URLS), "--seed", str(seed), "--repeat", "1"),
            *("--format", "json", "--out", str(out)),
        )
        assert ended.code == 0, ended.err
        (row,) = ended.rows
        (folder,) = out.iterdir()
        statuses = open_run(folder).samples().sort("url", "status").collect().select(pl.col("url"), "status").rows()
        return {name: row[name] for name in COUNTS}, statuses

    return run


def test_the_same_seed_gives_the_same_counts_and_another_seed_gives_others(crawl: Crawl) -> None:
    counts, statuses = crawl(11)
    assert sum(counts.values()) == URLS
    assert min(counts["2xx"], counts["4xx"], counts["Exception"]) > 0
    assert crawl(11) == (counts, statuses)
    other_counts, other_statuses = crawl(12)
    assert other_statuses != statuses
    assert other_counts != counts
