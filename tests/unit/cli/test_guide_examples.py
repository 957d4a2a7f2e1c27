"""The examples of docs/guide do what the pages say, and their tables are complete."""

import json
import re
import shlex
from datetime import timedelta
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest

from doubles.command_line import Command
from doubles.runs import NOON, make_run
from doubles.trials import trial
from guide_pages import OUTPUT, blocks, command_lines, first_cells, options_of_engine, text_of, typed_commands
from httpdyno.cli.app import app
from httpdyno.experiments.capacity.axes import QUANTITIES
from httpdyno.experiments.load.present import LOAD_METRICS
from httpdyno.experiments.registry import definition_of
from httpdyno.judge.machine_plan import Load, Machine
from httpdyno.model import FORMER_NAMES, LinesSummary, Link, Outcome, Sample, Trial
from httpdyno.report.formats import Surface, render
from httpdyno.runs.plan_report import default_source, plan_table
from httpdyno.store import open_run, polars_schema
from httpdyno.store.query import RUN_COLUMNS, TABLES, ask
from httpdyno.subjects.catalogue import read_catalogue
from pages.command_line import ENGINE_VERBS

pytestmark = pytest.mark.slow

PAGES = (
    *(
        "call-cost.md",
        "capacity.md",
        "clients.md",
        "cluster.md",
        "fetch.md",
        "fetch-redirects.md",
        "load.md",
        "load-data.md",
        "load-replay.md",
        "ray.md",
        "real-network.md",
        "servers.md",
    ),
    "connections.md",
    *("../concepts/frontier.md", "../concepts/link.md", "../results/examples/README.md"),
    *("../results/published-grids.md", "../results/published.md", "../start.md", "../../README.md"),
)
"""Whose commands are held against what the verbs take."""
PLAN = "../concepts/machine-plan.md"
LIMITED = {metric.name for metric in LOAD_METRICS}
"""Figures that `load --fail-if` knows."""
SUBJECTS = {"go-net-http": 200.0, "python-aiohttp": 100.0, "rust-reqwest": 210.0}


def trials_of_all(factor: float) -> list[Trial]:
    return [
        trial(
            subject,
            block,
            summary=LinesSummary(urls=10, right_per_s=factor * speed * (1 + block % 3 / 100), p99_ns=1e9 + block),
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
    cells = blocks("results.md", "python")
    assert len(cells) >= 5
    for cell in cells:
        exec(compile(cell, "results.md", "exec"), names)  # the page is ours
    assert names["run"].folder.name == "second"
    assert names["figures"].height == 15
    assert set(names["slowest"]["subject"]) == set(SUBJECTS)
    assert names["slowest"]["p99_ms"].to_list() == [2.0] * 3
    page = Path("blocks.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert 'src="http' not in page, "what is saved is looked at without a network, too"


@pytest.mark.parametrize("number", range(len(blocks("results.md", "sql"))))
def test_each_question_is_answered(runs: Path, number: int) -> None:
    opened = {name: open_run(runs / name) for name in ("first", "second")}
    answer = ask(opened, blocks("results.md", "sql")[number])
    assert list(answer.columns)
    list(answer.batches)


def test_percentiles_are_those_of_one_run_and_web(runs: Path) -> None:
    (query,) = [block for block in blocks("results.md", "sql") if "as p99_ms" in block]
    opened = {name: open_run(runs / name) for name in ("first", "second")}
    rows = [row for batch in ask(opened, query).batches for row in batch.iter_rows(named=True)]
    assert {(row["run"], row["web"]) for row in rows} == {("first", "plain"), ("second", "plain")}
    assert [row["samples"] for row in rows] == [10] * 6


def test_the_first_question_is_answered(runs: Path) -> None:
    text = text_of("results.md")
    (query,) = [part.partition('"')[0] for part in text.split('httpdyno query "')[1:]]
    opened = {name: open_run(runs / name) for name in ("first", "second")}
    rows = [row for batch in ask(opened, query).batches for row in batch.iter_rows(named=True)]
    assert [(row["run"], row["subject"], row["trials"]) for row in rows[:2]] == [
        ("first", "rust-reqwest", 5),
        ("first", "go-net-http", 5),
    ]


def test_the_tables_and_columns_of_a_query_are_all_on_the_page() -> None:
    named = [name for row in first_cells(OUTPUT, "query") for name in row]
    assert named == [*TABLES, *named[len(TABLES) :]]
    assert sorted(named[len(TABLES) :]) == sorted([*RUN_COLUMNS, "setting_..."])


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("line", command_lines("results.md", "compare"))
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
    assert {name for row in first_cells(OUTPUT, "compare") for name in row} == keys - {"notes", *FORMER_NAMES.values()}


def load_examples() -> list[str]:
    """Return the command lines of the page about loads, without their comments, a continued line as one."""
    text = text_of("load.md").replace("\\\n", " ")
    lines = [line.partition("  #")[0].strip() for line in text.splitlines()]
    return [line for line in lines if line.startswith("httpdyno load ")]


def test_the_page_about_loads_has_examples() -> None:
    assert len(load_examples()) > 8


@pytest.mark.parametrize("line", load_examples())
def test_the_loads_of_the_page_can_be_typed(line: str) -> None:
    words = shlex.split(line)[2:]
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options_of_engine("load")
    for before, word in pairwise(words):
        if before == "--fail-if":
            assert word.split()[0].replace(".", "_") in LIMITED


def test_the_figures_that_the_page_names_can_be_limited() -> None:
    names = re.findall(
        r"`([a-z0-9_.]+)`", text_of("load.md").partition("Names are those")[2].partition("With `--repeat")[0]
    )
    assert len(names) > 8
    for name in names:
        assert name.replace(".", "_") in LIMITED or name == "--format"


@pytest.mark.parametrize(("page", "words"), [(page, words) for page in PAGES for words in typed_commands(page)])
def test_the_commands_of_a_page_can_be_typed(page: str, words: tuple[str, ...]) -> None:
    verb, *arguments = words
    if verb in ENGINE_VERBS:
        options = {word.partition("=")[0] for word in takewhile("--".__ne__, arguments) if word.startswith("--")}
        assert options <= options_of_engine(verb), page
    else:
        # Parses them as the command does, and stops before any action; a refusal is raised.
        names = command_of(verb).make_context(verb, arguments).params.get("names")
        named = {names} if isinstance(names, str) else set(names or ())
        # Some may be in a folder of the reader's own.
        assert "--subjects" in words or named <= set(read_catalogue().subjects), page
    for before, word in pairwise(arguments):
        if before == "--link":
            Link.parse(word)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_commands(page: str) -> None:
    assert typed_commands(page)


@pytest.mark.parametrize("line", command_lines("capacity.md", "capacity"))
def test_the_grids_of_the_page_are_as_they_are_written(line: str) -> None:
    arguments = shlex.split(line, comments=True)
    for quantity in QUANTITIES:
        if quantity.option in arguments:
            values = quantity.values(arguments[arguments.index(quantity.option) + 1])
            assert values == tuple(sorted(set(values)))


def test_the_axes_that_the_page_lists_are_all_there_are() -> None:
    assert len(command_lines("capacity.md", "capacity")) >= 4
    named = [name for row in first_cells("capacity.md", "The axes") for name in row]
    assert sorted(named) == sorted(quantity.option for quantity in QUANTITIES)


@pytest.mark.parametrize("verb", ["cost", "latency", "service"])
def test_the_options_and_columns_that_a_page_lists_are_there(verb: str) -> None:
    named = [name.split()[0] for row in first_cells(OUTPUT, verb) for name in row]
    assert len(named) > 8
    options = {option for parameter in command_of(verb).params for option in parameter.opts}
    columns = {column.name for column in definition_of(verb).presentation.table([]).columns}
    assert set(named) <= options | columns | set(Outcome)


def test_the_plan_of_the_page_is_what_the_verb_prints() -> None:
    source = default_source(Path("/no-runs"), "bench")
    machine = Machine(8, 8 * 4 * 2**30, 10e9)
    table = plan_table(source, "1e9/week", Load(1e9 / 604_800), machine, for_programs=False)
    (shown,) = blocks(PLAN, "text")[:1]
    assert render(table, "table", Surface(width=100)) == shown


def test_the_options_and_columns_of_a_plan_are_all_on_the_page(httpdyno: Command) -> None:
    tables = [*first_cells(PLAN, "Options"), *first_cells(PLAN, "Columns")]
    named = {name.split()[0] for row in tables for name in row}
    options = {param.opts[0] for param in command_of("plan").params if param.opts[0].startswith("--")}
    assert {name for name in named if name.startswith("--")} == options - {"--help", "--runs", "--format"}
    lines = httpdyno("plan", "1/s").out.splitlines()
    heading = lines[next(place for place, line in enumerate(lines) if line.startswith("─")) - 1]
    columns = set(heading.split()) - {"client"}
    assert {name for name in named if not name.startswith("--")} == columns


def command_of(verb: str) -> click.Command:
    command = app.get_command(click.Context(app), verb)
    assert command is not None
    return command
