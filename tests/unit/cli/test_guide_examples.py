"""The examples of docs/guide do what the pages say, and their tables name what there is."""

import json
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from doubles.command_line import Command
from doubles.runs import NOON, make_run
from doubles.trials import trial
from guide_pages import blocks, command_lines, first_cells, text_of
from httpdyno.model import CrawlSummary, Sample, Trial
from httpdyno.store import open_run, polars_schema
from httpdyno.store.manifest_columns import RUN_COLUMNS
from httpdyno.store.query import TABLES, ask

SUBJECTS = {"go-net-http": 200.0, "python-aiohttp": 100.0, "rust-reqwest": 210.0}


def trials_of_all(factor: float) -> list[Trial]:
    return [
        trial(
            subject,
            block,
            summary=CrawlSummary(urls=10, right_per_s=factor * speed * (1 + block % 3 / 100), p99_ns=1e9 + block),
        )
        for block in range(5)
        for subject, speed in SUBJECTS.items()
    ]


def samples(of: Trial) -> pl.DataFrame:
    given: dict[str, Any] = {
        "trial": [of.trial] * 3,
        "line": [1, 2, 3],
        "url": ["http://a.example/", "http://b.example/", "http://c.example/"],
        "error": [None, None, "Timeout"],
        "cause": [None, None, "stall_tls"],
        "duration_ns": [1_000_000, 2_000_000, 5_000_000_000],
        "verdict": ["right", "right", "late"],
        "explained": [False] * 3,
    }
    types = polars_schema(Sample)
    return pl.DataFrame({name: given.get(name, [None] * 3) for name in types}, schema=types)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs of three clients, the later one slower."""
    for name, factor, hours in (("first", 1.0, 0), ("second", 0.8, 1)):
        started_at = NOON + timedelta(hours=hours)
        make_run(tmp_path / "runs", trials_of_all(factor), samples, name=name, started_at=started_at)
    return tmp_path / "runs"


def test_the_notebook_can_be_followed_cell_by_cell(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs.parent)
    names: dict[str, Any] = {}
    cells = blocks("notebook.md", "python")
    assert len(cells) >= 5
    for cell in cells:
        exec(compile(cell, "notebook.md", "exec"), names)  # the page is ours
    assert names["run"].folder.name == "second"
    assert names["figures"].height == 15
    assert set(names["slowest"]["subject"]) == set(SUBJECTS)
    assert names["slowest"]["p99_ms"].to_list() == [2.0] * 3
    assert "<html" in Path("blocks.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", range(len(blocks("query.md", "sql"))))
def test_each_question_is_answered(runs: Path, number: int) -> None:
    opened = {name: open_run(runs / name) for name in ("first", "second")}
    answer = ask(opened, blocks("query.md", "sql")[number])
    assert list(answer.columns)
    list(answer.batches)


def test_the_first_question_is_answered(runs: Path) -> None:
    text = text_of("query.md")
    (query,) = [part.partition('"')[0] for part in text.split('httpdyno query "')[1:]]
    opened = {name: open_run(runs / name) for name in ("first", "second")}
    rows = [row for batch in ask(opened, query).batches for row in batch.iter_rows(named=True)]
    assert [(row["run"], row["subject"], row["trials"]) for row in rows[:2]] == [
        ("first", "rust-reqwest", 5),
        ("first", "go-net-http", 5),
    ]


def test_the_tables_and_columns_of_a_query_are_all_on_the_page() -> None:
    named = [name for row in first_cells("query.md") for name in row]
    assert named == [*TABLES, *named[len(TABLES) :]]
    assert sorted(named[len(TABLES) :]) == sorted([*RUN_COLUMNS, "setting_..."])


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("line", command_lines("compare.md", "compare"))
def test_each_comparison_can_be_made(httpdyno: Command, line: str) -> None:
    arguments = ["first" if word.startswith("2026") else word for word in shlex.split(line)]
    ended = httpdyno("compare", *arguments)
    # The later run is slower by a fifth, and aiohttp slower than any other.
    assert ended.code == (1 if "--fail-if" in arguments else 0), ended.err
    assert ended.out


@pytest.mark.usefixtures("runs")
def test_the_columns_of_a_comparison_are_all_on_the_page(httpdyno: Command) -> None:
    keys = {
        key
        for arguments in (["first", "second"], ["first"])
        for row in json.loads(httpdyno("compare", *arguments, "--format", "json").out)
        for key in row
    }
    assert {name for row in first_cells("compare.md") for name in row} == keys - {"notes"}
