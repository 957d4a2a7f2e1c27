"""`httpdyno published`: published figures, alone and with a run."""

from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from doubles.runs import make_run
from doubles.trials import trial
from httpdyno.model import LinesSummary, Tally, Trial

SEED_COLUMNS = (
    "language,method,concurrency,totalUrls,time,avg,max,okReqsSec,okReqsPct,avgBodyLen,2xx,3xx,4xx,5xx,Exception"
)


@pytest.fixture
def _one_client(make_subject: MakeSubject, subject_folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave one subject in the catalogue: a client of the publication that answers at once."""
    monkeypatch.setattr("httpdyno.subjects.catalogue.builtin_folder", lambda: subject_folders)
    make_subject("go-net-http")


def test_tables_are_listed_with_where_they_are_from(httpdyno: Command) -> None:
    rows = {row["name"]: row for row in httpdyno("published", "--format", "json").rows}
    assert {"capacity-batch-4", "cost", "cost-throughput", "crawl", "latency", "service"} <= set(rows)
    assert (rows["crawl"]["experiment"], rows["crawl"]["preset"], rows["crawl"]["rows"]) == ("bench", "published", 10)
    assert rows["crawl"]["url"].startswith("https://")


def test_a_table_is_printed_as_it_was_published(httpdyno: Command) -> None:
    lines = httpdyno("published", "crawl", "--format", "csv").out.splitlines()
    assert lines[0] == f"subject,{SEED_COLUMNS}"
    assert lines[1] == "rust-reqwest,Rust,reqwest,150,10000,49149,680,5018,162,0.8,256487,7980,1,971,21,1027"
    assert len(lines) == 11
    result = httpdyno("published", "crawl").out
    assert "source: Comparing concurrent HTTP requests in different languages" in result
    assert "machine: EC2 c7g.medium" in result


@pytest.mark.usefixtures("_one_client")
def test_a_run_is_compared_with_a_table(httpdyno: Command) -> None:
    assert httpdyno("bench", "go-net-http", "--limit", "4", "--repeat", "1").code == 0
    rows = {
        row["subject"]: row for row in httpdyno("published", "crawl", "--compare", "latest", "--format", "json").rows
    }
    assert len(rows) == 10
    go = rows["go-net-http"]
    assert (go["totalUrls"], go["totalUrls_published"]) == (4, 10_000)
    assert (go["concurrency"], go["concurrency_published"]) == (1, 125)
    assert go["okReqsPct_ratio"] == 1.25
    assert go["verdict"] == "VALID"
    assert rows["rust-reqwest"]["verdict"] == "not measured"
    result = httpdyno("published", "crawl", "--compare", "latest").out
    assert "concurrency: published 125, measured 1" in result
    assert "totalUrls: published 10000, measured 4; ratios of time, 2xx," in result


def test_a_comparison_with_a_table_ranks_clients_as_their_run_does(httpdyno: Command, tmp_path: Path) -> None:
    def measured(subject: str, block: int, rate: float, cpu_ms: float) -> Trial:
        summary = LinesSummary(
            urls=100,
            mean_ns=5e8,
            planned_mean_ns=5e8,
            right_per_s=rate * (1 + block / 100),
            cpu_per_right_ns=cpu_ms * 1e6 * (1 + block / 100),
            ok_share=1.0,
        )
        return trial(subject, block, summary=summary, tally=Tally(right=100))

    clients = (("go-net-http", 200.0, 2.0), ("rust-reqwest", 100.0, 1.0))
    trials = [measured(name, block, rate, cost) for block in range(3) for name, rate, cost in clients]
    for ranked_by, first in (("right_per_s", "go-net-http"), ("right_per_core_s", "rust-reqwest")):
        make_run(tmp_path / "runs", trials, name=ranked_by, settings={"rank_by": ranked_by})
        rows = httpdyno("published", "crawl", "--compare", ranked_by, "--format", "json").rows
        assert [row["subject"] for row in rows if row["rank"] == 1] == [first]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["published", "crawls"], "'crawls': there is no such published table; did you mean 'crawl'?"),
        (["published", "crawl", "--format", "xml"], "--format: 'xml' is unknown; choose from:"),
        (["published", "crawl", "--compare", "never"], "never"),
        (["published", "--compare", "latest"], "--compare requires the name of a table"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(httpdyno: Command, arguments: list[str], said: str) -> None:
    ended = httpdyno(*arguments)
    assert ended.code == 2
    assert said in ended.err
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1


@pytest.mark.usefixtures("_one_client")
def test_a_table_of_another_experiment_is_refused(httpdyno: Command) -> None:
    httpdyno("bench", "go-net-http", "--limit", "4", "--repeat", "1")
    ended = httpdyno("published", "latency", "--compare", "latest")
    assert ended.code == 2
    assert "is a run of bench, the published table latency is of latency; name another table" in ended.err


def test_the_former_name_of_the_option_is_known_but_not_listed(httpdyno: Command) -> None:
    assert httpdyno("published", "--beside", "latest").err == httpdyno("published", "--compare", "latest").err
    assert "--beside" not in httpdyno("published", "--help").out
