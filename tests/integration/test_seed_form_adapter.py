"""An adapter older than the contract, in the seeds' own form, crawls as it stands."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import TESTS
from doubles.command_line import CORRECT, Command, Ended
from httpdyno.model import Outcome, Trial
from httpdyno.store import Run, open_run

pytestmark = pytest.mark.beside

ADAPTER = ["seed-form-adapter", "--subjects", str(TESTS / "fixtures")]
OLD_FORM = re.compile(
    r".*,(?:[1-5][0-9]{2}|[^,]+),[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{6})?,[0-9]+,[0-9]+"
)
EARLY_HINTS = ("https://early-hints.test/", "https://http2-early-hints.test/")
NOT_ASCII = "https://utf8.test/encoding/utf8"
KNOWN_EXCEPTIONS = {
    NOT_ASCII: "it counts characters, as the seeds did; everywhere else they are as many as the bytes",
    **dict.fromkeys(
        EARLY_HINTS, "Python's http.client knows no interim answer but 100: it takes a 103 for the final one"
    ),
}
MILLISECOND_NS = 10**6


@pytest.fixture
def crawled(httpdyno: Command, tmp_path: Path) -> Any:
    """Crawl with the adapter; give what the command printed, and its run."""

    def crawl(*arguments: str) -> tuple[Ended, Run]:
        ended = httpdyno("bench", *ADAPTER, "--repeat", "1", *arguments, "--format", "json")
        assert ended.code == 0, ended.err
        (folder,) = (tmp_path / "runs").iterdir()
        return ended, open_run(folder)

    return crawl


def only_trial(run: Run) -> Trial:
    (trial,) = run.records()
    return trial


def at_fault(run: Run) -> list[tuple[Any, ...]]:
    samples = run.samples().filter(pl.col("verdict").cast(pl.String) != "right").collect()
    return samples.select("url", "code", "duration_ns", "body_length", "cause", "verdict").rows()


def test_it_crawls_the_top_sites_as_it_stands(crawled: Any) -> None:
    # Many at once, so that the URLs that stall until the timeout stall side by side.
    ended, run = crawled("--web", "top-sites", "--limit", "300", "--concurrency", "100")
    assert at_fault(run) == []
    (row,) = ended.rows
    assert (row["wrong"], row["totalUrls"]) == (0, 300)
    assert row["verdict"] in CORRECT
    trial = only_trial(run)
    assert (trial.outcome, trial.validity in CORRECT) == (Outcome.OK, True)
    # A top site answers in every way there is: a crawl that met one kind only would prove little.
    assert min(row["2xx"], row["4xx"], row["Exception"]) > 0


def test_its_times_are_read_as_utc_and_as_whole_milliseconds(crawled: Any) -> None:
    _, run = crawled("--web", "plain", "--limit", "20")
    counters = only_trial(run).counters
    samples = run.samples().collect()
    assert samples["start_ns"].null_count() == samples["duration_ns"].null_count() == 0
    assert samples["start_ns"].is_between(counters.started_at_ns, counters.ended_at_ns).all()
    assert (samples["duration_ns"] % MILLISECOND_NS == 0).all()


def test_its_lines_have_the_old_form(httpdyno: Command) -> None:
    ended = httpdyno("try", *ADAPTER, "--web", "contract", "--timeout", "1", "--format", "plain")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert [line for line in lines if not OLD_FORM.fullmatch(line)] == []
    assert any(" " in line.rsplit(",", 4)[1] for line in lines), "an error's text has spaces"


def test_on_the_contract_web_it_fails_only_where_its_library_does(crawled: Any) -> None:
    _, run = crawled("--web", "contract", "--timeout", "1")
    trial = only_trial(run)
    assert trial.outcome is Outcome.OK
    faults = at_fault(run)
    assert {url for url, *_ in faults} == set(KNOWN_EXCEPTIONS), faults
    samples = run.samples().filter(pl.col("url").is_in(EARLY_HINTS)).collect()
    assert samples.select("code", pl.col("verdict").cast(pl.String)).rows() == [("103", "wrong_status")] * 2
    samples = run.samples().filter(pl.col("url") == NOT_ASCII).collect()
    assert samples["verdict"].cast(pl.String).to_list() == ["wrong_length"]
