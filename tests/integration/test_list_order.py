"""The list of a new crawl, with the real engine: its slowest URLs come first."""

import io
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from conftest import MakeSubject
from httpdyno.experiments.crawl.options import BenchOptions
from httpdyno.experiments.crawl.plan import HEADLINE, Crawl, begin_bench
from httpdyno.experiments.experiment import Beginning
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.place import Place
from httpdyno.lab.room import Pinning
from httpdyno.model import Condition, Workload
from httpdyno.runs.pending import begin_run
from httpdyno.subjects.catalogue import read_catalogue
from httpdyno.urls.source import urls_of_run

LIMIT = 600


@pytest.fixture
def beginning(engine: Engine, make_subject: MakeSubject, subject_folders: Path, tmp_path: Path) -> Beginning:
    """Begin crawls of one client, with the real engine."""
    make_subject("good", concurrency=10)
    place = Place(engine, Pinning(None, None), tmp_path / "cache", None, ())
    return Beginning(read_catalogue([subject_folders]), place, Interruption(), lambda _: None)


def listed(beginning: Beginning, options: BenchOptions) -> tuple[list[str], Crawl]:
    """Begin a crawl, and read its list."""
    begun = begin_bench(beginning, ["good"], options)
    assert isinstance(begun.experiment, Crawl)
    assert begun.urls is not None
    with begun.urls as urls:
        assert urls.file.path == begun.experiment.file
        return urls.file.path.read_text().splitlines(), begun.experiment


def expected(engine: Engine, urls: Sequence[str], folder: Path, timeout_s: float = 5.0) -> pl.DataFrame:
    """Ask the engine what a correct client reports for each URL of a list."""
    (folder / "asked").write_text("".join(f"{url}\n" for url in urls))
    with (folder / "expected").open("wb") as file:
        engine.expect(Condition("bench", "top-sites", Workload((), timeout_s), seed=20261121), folder / "asked", file)
    return pl.read_csv(folder / "expected", schema_overrides={"planned_ms": pl.Float64})


def of_the_web(engine: Engine, folder: Path, limit: int = LIMIT) -> list[str]:
    """List the URLs of the web in its own order."""
    with (folder / "own").open("wb") as file:
        engine.urls(web="top-sites", seed=None, limit=limit, into=file)
    return (folder / "own").read_text().splitlines()


@pytest.mark.parametrize("source", ["the web", "a file", "standard input"])
def test_the_urls_that_stall_come_first(
    beginning: Beginning, tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = beginning.place.engine
    own = of_the_web(engine, tmp_path)
    options = BenchOptions()
    if source == "a file":
        (tmp_path / "list").write_text("\n".join(own))
        options = replace(options, urls=str(tmp_path / "list"))
    elif source == "standard input":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(own).encode())))
        options = replace(options, urls="-")
    urls, crawl = listed(beginning, options)

    answers = expected(engine, urls, tmp_path)
    stalls = answers["planned_ms"].is_null().to_list()
    count = sum(stalls)
    assert count > 0
    assert stalls == [True] * count + [False] * (LIMIT - count)
    # Next come those whose name server fails, which takes most clients two queries of 2 s.
    unresolved = (answers["cause"] == "servfail").fill_null(value=False).to_list()
    slow = count + sum(unresolved)
    assert unresolved[count:slow] == [True] * (slow - count)
    assert sorted(urls) == sorted(own)
    # Each kind keeps the order that it had.
    place = {url: number for number, url in enumerate(own)}
    for kind in (urls[:count], urls[count:slow], urls[slow:]):
        assert kind == sorted(kind, key=place.__getitem__)
    assert crawl.repeat == 9


def test_a_redirect_that_ends_in_a_stall_stalls(beginning: Beginning, tmp_path: Path) -> None:
    own = of_the_web(beginning.place.engine, tmp_path)
    # Without TLS their hosts redirect to https, which stalls.
    insecure = [url.replace("https://", "http://") for url in own]
    known = expected(beginning.place.engine, insecure, tmp_path)
    chains = known.filter((pl.col("cause") == "stall_tls") & (pl.col("requests") == 1))["url"].to_list()
    assert chains
    whole = known.filter(pl.col("status") == 200)["url"].head(50).to_list()
    (tmp_path / "list").write_text("\n".join([*whole, *chains]))
    urls, _ = listed(beginning, BenchOptions(urls=str(tmp_path / "list")))
    assert urls == [*chains, *whole]


def test_an_answer_that_comes_after_the_timeout_stalls(beginning: Beginning, tmp_path: Path) -> None:
    own = of_the_web(beginning.place.engine, tmp_path, 100)
    (tmp_path / "list").write_text("\n".join(own))
    urls, _ = listed(beginning, BenchOptions(urls=str(tmp_path / "list"), timeout_s=0.5))
    planned = expected(beginning.place.engine, urls, tmp_path, 0.5)["planned_ms"]
    ends_late = [one is None or one >= 500 for one in planned]
    count = sum(ends_late)
    assert 0 < count < 100
    assert ends_late == [True] * count + [False] * (100 - count)


def test_a_long_list_has_its_slow_urls_spread_over_all_but_its_end(beginning: Beginning, tmp_path: Path) -> None:
    urls, _ = listed(beginning, BenchOptions(limit=3000))
    answers = expected(beginning.place.engine, urls, tmp_path)
    slow = answers["planned_ms"].is_null() | (answers["cause"] == "servfail").fill_null(value=False)
    places = slow.arg_true().to_list()
    assert places[0] == 0
    assert 1400 < places[-1] < 1500
    assert max(later - earlier for earlier, later in pairwise(places)) < 100


def test_a_published_list_keeps_its_order(beginning: Beginning, tmp_path: Path) -> None:
    urls, crawl = listed(beginning, BenchOptions(preset="published", scale="1/10"))
    assert urls == of_the_web(beginning.place.engine, tmp_path, len(urls))
    assert crawl.repeat is None


def test_a_run_that_is_resumed_has_its_list_in_the_same_order(beginning: Beginning, tmp_path: Path) -> None:
    place = replace(beginning.place, runs=tmp_path / "runs")
    begun = begin_bench(replace(beginning, place=place), ["good"], BenchOptions())
    assert begun.urls is not None
    with begun.urls as urls, begin_run(begun.experiment, begun.subjects, urls, place) as run:
        assert run.folder is not None
        assert run.manifest is not None
        assert run.manifest.urls is not None
        with urls_of_run(run.folder, place.engine, run.manifest.webs[0], run.manifest.urls) as again:
            assert again.file.read_text() == urls.file.read_text()
            assert again.identity() == urls.identity()


def test_the_usual_eleven_have_six_blocks(beginning: Beginning) -> None:
    begun = begin_bench(beginning, HEADLINE, BenchOptions())
    assert begun.urls is not None
    begun.urls.file.close()
    assert isinstance(begun.experiment, Crawl)
    assert (begun.experiment.repeat, begun.urls.count, len(begun.subjects)) == (6, 600, 11)
