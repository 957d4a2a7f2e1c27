"""The published figures that ship: whole, in their units, consistent in themselves, and as printed."""

import itertools
from typing import Any

import pytest

from doubles.collected import collected, number
from doubles.presets import published_tables
from httpdyno.errors import UnknownName
from httpdyno.model import Cell, ColumnKind, SubjectKind
from httpdyno.published import PublishedTable, published_names, published_table
from httpdyno.published.table import Role
from httpdyno.subjects.catalogue import read_catalogue

EVERY = tuple(map(published_table, published_names()))
CRAWL, COST, SERVICE, LATENCY = (published_table(name) for name in ("crawl", "cost", "service", "latency"))


def dicts(table: PublishedTable) -> list[dict[str, Any]]:
    return [{name: cell for name, cell in row.items() if name != "subject"} for row in table.rows]


def test_each_table_of_the_publications_is_there() -> None:
    others = [name for name in published_names() if not name.startswith("capacity-")]
    assert others == ["cost", "cost-throughput", "crawl", "latency", "service"]
    assert {table.experiment for table in EVERY} == {"bench", "capacity", "cost", "latency", "service"}
    assert [table.name for table in published_tables("cost")] == ["cost", "cost-throughput"]


def test_an_unknown_table_is_refused_with_the_known_names() -> None:
    with pytest.raises(
        UnknownName,
        match="'tables': there is no such published table; choose from: .*, cost, cost-throughput, crawl, lat",
    ):
        published_table("tables")


@pytest.mark.parametrize("table", EVERY, ids=lambda table: table.name)
def test_each_table_names_its_source_and_its_figures(table: PublishedTable) -> None:
    assert table.source.url is None or table.source.url.startswith("https://")
    assert table.source.title
    assert table.title
    assert table.circumstances.machine
    assert table.circumstances.web
    assert table.rows
    assert table.of_role(Role.IDENTITY) or table.of_role(Role.CONDITION)
    assert table.of_role(Role.FIGURE)
    units = {"ms", "us", "s", "bytes", "KiB", "1/s", "MB/s", "Gbit/s", ""}
    assert {column.unit for column in table.columns} <= units
    for column in table.of_role(Role.FIGURE):
        if column.kind is ColumnKind.DURATION:
            assert column.unit == "ms"
        assert all(cell is None or (isinstance(cell, int | float) and cell >= 0) for cell in cells(table, column.name))
    assert set(table.circumstances.versions) <= set(table.subjects)
    assert bool(table.circumstances.versions) == bool(table.versions_from)
    assert all(set(row) == {"subject", *(column.name for column in table.columns)} for row in table.rows)
    grown_with = {column.name for column in table.columns if column.role in {Role.SETTING, Role.CONDITION}}
    assert all(column.role is Role.FIGURE and column.per in grown_with for column in table.columns if column.per)
    assert table.ordered_by in {"", *(column.name for column in table.of_role(Role.FIGURE))}


def cells(table: PublishedTable, name: str) -> list[Cell]:
    return [row[name] for row in table.rows]


@pytest.mark.parametrize("table", EVERY, ids=lambda table: table.name)
def test_a_client_that_is_a_subject_here_is_keyed_by_its_id(table: PublishedTable) -> None:
    if not {"language", "method"} <= {column.name for column in table.columns}:
        assert table.name != "crawl"
        return
    clients = [subject for subject in read_catalogue().subjects.values() if subject.kind is not SubjectKind.SERVER]
    known = {(subject.language, subject.method): subject.id for subject in clients}
    for row in table.rows:
        assert known.get((str(row["language"]), str(row["method"])), row["subject"]) == row["subject"]


def test_the_four_first_clients_are_subjects_here() -> None:
    subjects = set(CRAWL.subjects)
    assert {"rust-reqwest", "go-net-http", "python-aiohttp", "node-fetch"} <= subjects & set(read_catalogue().subjects)


@pytest.mark.parametrize("row", dicts(CRAWL), ids=lambda row: f"{row['language']} {row['method']}")
def test_the_crawl_adds_up(row: dict[str, Any]) -> None:
    outcomes = [row[name] for name in ("2xx", "3xx", "4xx", "5xx", "Exception")]
    assert sum(outcomes) == row["totalUrls"] == CRAWL.urls
    assert round(row["2xx"] * 1000 / row["time"]) == row["okReqsSec"]
    assert round(row["2xx"] / row["totalUrls"], 2) == row["okReqsPct"]
    # Each URL held one of the slots for its duration: their sum cannot be more than the slots were open.
    assert row["avg"] * row["totalUrls"] <= row["concurrency"] * row["time"]
    assert row["avg"] < row["max"] < row["time"]


def test_the_crawl_is_printed_with_the_fastest_first() -> None:
    times = cells(CRAWL, "time")
    assert times == sorted(times, key=lambda time: float(time or 0))
    timeout_ms = 1000 * (CRAWL.circumstances.timeout_s or 0)
    longest = [row["max"] for row in dicts(CRAWL)]
    assert min(longest) > timeout_ms
    assert sum(most > timeout_ms + 500 for most in longest) == 5


def test_cpu_times_add_up_but_for_curl_whose_children_count_in_the_total_only() -> None:
    for row in dicts(COST):
        parts = [row["user"], row["system"]]
        if None in parts:
            assert row["client"] == "ab"
        elif row["client"] == "curl":
            assert row["total"] > 2 * sum(parts)
        else:
            assert sum(parts) == pytest.approx(row["total"], abs=1e-9)


def test_the_throughputs_of_the_summary_are_those_of_the_best_rows() -> None:
    real = dicts(COST)
    runtimes = {"Java": "java", "Ruby": "ruby", "ab": "ab", "httperf": "httperf"}
    for row in dicts(published_table("cost-throughput")):
        best = min(one["real"] for one in real if one["runtime"].startswith(runtimes[row["client"]]))
        assert row["reqPerSec"] == pytest.approx(10_000 / best, rel=0.01)
        # 16 KB of content, with or without the headers of the answer.
        assert row["mbPerSec"] * 1e6 / row["reqPerSec"] == pytest.approx(16_200, rel=0.025)


def test_servers_that_are_not_saturated_answer_in_rounds_of_two_seconds() -> None:
    for row in dicts(SERVICE):
        if row["framework"] == "Flask & Gunicorn":
            # Ten threads that wait two seconds answer at most five requests a second.
            assert row["requestsPerSec"] is None or row["requestsPerSec"] <= 5
        else:
            assert row["requestsPerSec"] == pytest.approx(14 * row["connections"] / 30, abs=0.02)
            assert 2000 < row["slowest5"] < 2100


def test_latency_is_in_milliseconds_and_its_deviation_in_microseconds() -> None:
    rows = dicts(LATENCY)
    assert [(row["series"], row["workload"], row["parallel"]) for row in rows] == [
        place
        for place in ((1, "plain", 1), (1, "json", 1), (2, "plain", 1), (2, "json", 1), (1, "plain", 20))
        for _ in range(3)
    ]
    for row in rows:
        assert 0.01 < row["deviation"] / 1000 / row["mean"] < 0.1


@pytest.mark.parametrize(
    ("table", "name"), [(CRAWL, "crawl-c7g-medium.csv"), (COST, "json-cost-10000.csv")], ids=["crawl", "cost"]
)
def test_figures_are_those_that_were_collected(table: PublishedTable, name: str) -> None:
    expected = collected(name)
    names = {"user_s": "user", "system_s": "system", "total_s": "total", "real_s": "real"}
    assert len(expected) == len(table.rows)
    for line, result in zip(expected, dicts(table), strict=True):
        # How many documents there were is in the text, not in the picture of the table.
        row = {key: cell for key, cell in result.items() if (table.name, key) != ("cost", "documents")}
        assert list(row) == [names.get(key, key) for key in line]
        for (key, text), cell in zip(line.items(), row.values(), strict=True):
            assert (text if isinstance(cell, str) else number(text)) == cell, key


def test_latency_is_as_collected_but_for_one_deviation_that_was_copied_wrong() -> None:
    expected = collected("python-latency.csv")
    ours = [row for row in dicts(LATENCY) if row["series"] == 1]
    assert len(expected) == len(ours)
    for line, row in zip(expected, ours, strict=True):
        workload = row["workload"] if row["parallel"] == 1 else f"{row['workload']} parallel {row['parallel']}"
        assert (line["workload"], line["client"]) == (workload, row["client"])
        assert [float(line["mean_ms"]), int(line["runs"]), int(line["loops"])] == [
            row["mean"], row["runs"], row["loops"],
        ]  # fmt: skip
        # The text prints 1.2 ms ± 62.5 us for JSON with urllib; 0.070 ms is the deviation of its plain text, rounded.
        deviation = {("json", "urllib in executor"): 62.5}.get((workload, row["client"]), float(line["std_ms"]) * 1000)
        assert row["deviation"] == pytest.approx(deviation)


def test_service_is_as_collected() -> None:
    rows = dicts(SERVICE)
    expected = collected("server-workloads.csv")
    for line, connections in itertools.product(expected, (20, 100, 250)):
        (row,) = [one for one in rows if (one["framework"], one["connections"]) == (line["framework"], connections)]
        assert row["language"] == line["language"]
        assert row["slowest5"] == number(line[f"p95_ms_{connections}"])
        assert row["requestsPerSec"] == number(line[f"rps_{connections}"])
    assert len(rows) == 3 * len(expected)
