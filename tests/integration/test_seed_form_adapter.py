"""An adapter older than the contract, in the seeds' own form, crawls as it stands."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import TESTS
from doubles.command_line import CORRECT, Command
from httpdyno.lab.engine import Engine
from httpdyno.model import Outcome, Trial
from httpdyno.store import Run, open_run

from .conftest import START, right_in_time

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

Crawled = Callable[..., tuple[dict[str, Any], Run]]


@pytest.fixture(scope="module")
def proved_cache(proved_cache: Path, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which the adapter is proved, too."""
    folder = tmp_path_factory.mktemp("proved-adapter")
    shutil.copytree(proved_cache, folder, dirs_exist_ok=True)
    environment = os.environ | {"HTTPDYNO_ENGINE": str(engine.path), "XDG_CACHE_HOME": str(folder)}
    # Its claims hold; but the adapter can do more than it claims, so the command ends with 1.
    probe = [*START, "subjects", "probe", *ADAPTER, "--out", str(folder / "runs")]
    subprocess.run(probe, env=environment, check=False, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture
def crawled(httpdyno: Command, tmp_path: Path) -> Crawled:
    """Crawl with the adapter, all URLs at once: the stalls overlap. Return a row and its run."""

    def crawl(timeout_s: int, *arguments: str) -> tuple[dict[str, Any], Run]:
        out = f"runs-{timeout_s}"
        given = ("--repeat", "1", "--concurrency", "100", "--timeout", str(timeout_s), *arguments)
        ended = httpdyno("bench", *ADAPTER, *given, "--format", "json", "--out", out)
        assert ended.code == 0, ended.err
        (row,) = ended.rows
        (folder,) = (tmp_path / out).iterdir()
        return row, open_run(folder)

    return crawl


def only_trial(run: Run) -> Trial:
    (trial,) = run.records()
    return trial


def at_fault(run: Run) -> list[tuple[Any, ...]]:
    samples = run.samples().filter(pl.col("verdict").cast(pl.String) != "right").collect()
    return samples.select("url", "code", "duration_ns", "body_length", "cause", "verdict").rows()


def test_it_crawls_the_top_sites_as_it_stands(crawled: Crawled) -> None:
    row, run = right_in_time(
        lambda timeout_s: crawled(timeout_s, "--web", "top-sites", "--limit", "60"),
        lambda found: not at_fault(found[1]),
    )
    assert at_fault(run) == []
    assert (row["wrong"], row["totalUrls"]) == (0, 60)
    assert row["verdict"] in CORRECT
    trial = only_trial(run)
    assert (trial.outcome, trial.validity in CORRECT) == (Outcome.OK, True)
    # Top sites have all kinds of answers: a crawl with only one kind would prove little.
    assert min(row["2xx"], row["4xx"], row["Exception"]) > 0
    # Its times are read as UTC and as whole milliseconds.
    samples = run.samples().collect()
    assert samples["start_ns"].null_count() == samples["duration_ns"].null_count() == 0
    assert samples["start_ns"].is_between(trial.counters.started_at_ns, trial.counters.ended_at_ns).all()
    assert (samples["duration_ns"] % MILLISECOND_NS == 0).all()


def test_its_lines_have_the_old_form(httpdyno: Command, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("https://length.test/\nhttps://nxdomain.test/\n", encoding="utf-8")
    asked = ("--web", "contract", "--urls", "list", "--timeout", "60")
    ended = httpdyno("try", *ADAPTER, *asked, "--format", "plain")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert len(lines) == 2
    assert [line for line in lines if not OLD_FORM.fullmatch(line)] == []
    assert any(" " in line.rsplit(",", 4)[1] for line in lines), "an error's text has spaces"


def test_on_the_contract_web_it_fails_only_where_its_library_does(
    crawled: Crawled,
) -> None:
    _, run = right_in_time(
        lambda timeout_s: crawled(timeout_s, "--web", "contract"),
        lambda found: {url for url, *_ in at_fault(found[1])} == set(KNOWN_EXCEPTIONS),
    )
    assert only_trial(run).outcome is Outcome.OK
    faults = at_fault(run)
    assert {url for url, *_ in faults} == set(KNOWN_EXCEPTIONS), faults
    samples = run.samples().filter(pl.col("url").is_in(EARLY_HINTS)).collect()
    assert samples.select("code", pl.col("verdict").cast(pl.String)).rows() == [("103", "wrong_status")] * 2
    samples = run.samples().filter(pl.col("url") == NOT_ASCII).collect()
    assert samples["verdict"].cast(pl.String).to_list() == ["wrong_length"]
