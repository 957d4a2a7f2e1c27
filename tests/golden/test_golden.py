"""Stable outputs, kept as files: each report format, the records page, a run of record version 1.

``UPDATE_GOLDEN=1 pytest tests/golden`` rewrites the files; the difference is then reviewed like code. The run is never
rewritten: a change that cannot read it needs a new record version and a reader for both.
"""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from doubles.capacity import Simulated, capacity_trials
from doubles.cost import cost_trial, tool_trial
from httpdyno.experiments.capacity.axes import Axes
from httpdyno.experiments.load.records import load_trial
from httpdyno.experiments.registry import definition_of, experiment_names, figure_records
from httpdyno.model import Outcome, Table, Trial, Verdict
from httpdyno.published import Circumstances, published_table, side_by_side
from httpdyno.report.formats import Surface, format_names, render
from httpdyno.report.formats.json import experiment_schema
from httpdyno.report.html import page
from httpdyno.runs.showing import build_report
from httpdyno.store import Run, open_run
from pages.records import records_page

HERE = Path(__file__).parent
REFERENCE = HERE.parents[1] / "docs" / "reference"
RECORDS_PAGE = REFERENCE / "records.md"


def check(path: Path, text: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run() -> Run:
    return open_run(HERE / "run-of-version-1")


@pytest.fixture(scope="module")
def table(run: Run) -> Table:
    return definition_of("bench").presentation.table(run.records())


def test_every_format_has_its_file() -> None:
    assert sorted(path.stem for path in HERE.glob("crawl.*.txt")) == sorted(f"crawl.{name}" for name in format_names())


@pytest.mark.parametrize("name", format_names())
def test_the_format_is_as_it_was(name: str, table: Table) -> None:
    check(HERE / f"crawl.{name}.txt", render(table, name))


@pytest.mark.parametrize("width", [80, 100])
def test_what_people_see_of_a_crawl_is_as_it_was(width: int, run: Run) -> None:
    shown = definition_of("bench").presentation
    assert shown.views is not None
    (view,) = shown.views(run.records(), {})
    check(HERE / f"crawl-{width}-columns.txt", render(view, "table", Surface(width=width)))


def test_the_table_on_a_narrow_terminal_is_as_it_was(table: Table) -> None:
    check(HERE / "narrow-terminal.txt", render(table, "table", Surface(colour=True, width=100)))


def test_the_page_of_a_run_is_as_it_was(run: Run) -> None:
    text = page(build_report(run, definition_of("bench")))
    # Style and script have files of their own; how a chart is drawn depends on the fonts of the machine.
    for element in ("style", "script", "svg"):
        text = re.sub(rf"<{element}[ >].*?</{element}>", f"<{element}></{element}>", text, flags=re.DOTALL)
    check(HERE / "report.html.txt", re.sub(r"sha256-[\w+/=]+", "sha256-", text))


@pytest.mark.parametrize("name", experiment_names())
def test_the_published_schema_is_that_of_the_table(name: str) -> None:
    schema = experiment_schema(definition_of(name).presentation.table([]).columns, name)
    Draft202012Validator.check_schema(json.loads(schema))
    check(REFERENCE / f"{name}.schema.json", schema)


def test_json_follows_the_published_schema(table: Table) -> None:
    schema = json.loads((REFERENCE / "bench.schema.json").read_text(encoding="utf-8"))
    rows = json.loads(render(table, "json"))
    Draft202012Validator(schema).validate(rows)
    assert len(rows) == 3
    for wrong in (rows[0] | {"more": 1}, rows[0] | {"totalUrls": "many"}, {"subject": "x"}):
        assert not Draft202012Validator(schema).is_valid([wrong])


def test_json_with_published_figures_follows_the_schema(table: Table) -> None:
    schema = json.loads((REFERENCE / "bench.schema.json").read_text(encoding="utf-8"))
    published = published_table("crawl")
    circumstances = Circumstances(machine="ours", web="a web", timeout_s=5)
    rows = json.loads(render(side_by_side(table, published, circumstances), "json"))
    Draft202012Validator(schema).validate(rows)
    assert rows[0]["time_published"] is not None
    assert not Draft202012Validator(schema).is_valid([rows[0] | {"time_published": []}])


def test_the_records_page_describes_the_records() -> None:
    check(RECORDS_PAGE, records_page(figure_records()))


@pytest.fixture(scope="module")
def loads() -> tuple[Trial, ...]:
    reports = HERE.parent / "fixtures" / "load-reports"
    names = ("closed", "open")
    return tuple(
        load_trial(
            number, json.loads((reports / f"{name}.json").read_text(encoding="utf-8")), target="http://a.example/"
        )
        for number, name in enumerate(names)
    )


@pytest.mark.parametrize("name", format_names())
def test_a_load_in_the_format_is_as_it_was(name: str, loads: tuple[Trial, ...]) -> None:
    shown = definition_of("load").presentation
    assert shown.views is not None
    people = name not in {"csv", "json"}
    tables = shown.views(loads[1:], {}) if people else (shown.table(loads),)
    check(HERE / f"load.{name}.txt", "\n".join(render(table, name) for table in tables))


def test_the_json_of_a_load_follows_the_published_schema(loads: tuple[Trial, ...]) -> None:
    schema = json.loads((REFERENCE / "load.schema.json").read_text(encoding="utf-8"))
    rows = json.loads(render(definition_of("load").presentation.table(loads), "json"))
    Draft202012Validator(schema).validate(rows)
    assert [(row["requests"], row["rps"], row["cpu_s"]) for row in rows] == [
        (2000, 1398.3, 0.023112),
        (874, 291.3, 0.062317),
    ]
    assert not Draft202012Validator(schema).is_valid([rows[0] | {"rps": "fast"}])


@pytest.fixture(scope="module")
def grid() -> Axes:
    return Axes(
        sizes_bytes=(0, 100 * 1024, 200 * 1024),
        round_trips_ns=(0, 40_000_000, 400_000_000),
        rates_bits_per_s=(2_000_000_000,),
        concurrencies=(600,),
    )


@pytest.mark.parametrize("name", format_names())
def test_a_grid_of_two_clients_in_the_format_is_as_it_was(name: str, grid: Axes) -> None:
    shown = definition_of("capacity").presentation
    assert shown.views is not None
    trials = list(capacity_trials(grid.points(), [Simulated(), Simulated("python-aiohttp", "aiohttp", 1_900)]))
    people = name not in {"csv", "json"}
    tables = shown.views(trials, grid.settings()) if people else (shown.table(trials),)
    # The lines below the tables are sentences of a model, with tests of their own.
    texts = (render(replace(table, notes=()), name, Surface(width=80)) for table in tables)
    check(HERE / f"capacity.{name}.txt", "\n".join(texts))


def test_the_json_of_a_grid_follows_the_published_schema(grid: Axes) -> None:
    schema = json.loads((REFERENCE / "capacity.schema.json").read_text(encoding="utf-8"))
    rows = json.loads(
        render(definition_of("capacity").presentation.table(list(capacity_trials(grid.points()))), "json")
    )
    Draft202012Validator(schema).validate(rows)
    assert [row["held"] for row in rows[:3]] == [True, True, False]
    assert not Draft202012Validator(schema).is_valid([rows[0] | {"held": "yes"}])


def test_a_run_of_version_1_stays_readable(run: Run) -> None:
    assert (run.manifest.record_version, run.manifest.state, run.manifest.experiment) == (1, "complete", "bench")
    assert run.manifest.machine.sysctls == {"net.ipv4.tcp_tw_reuse": "1"}
    trials = run.records()
    assert [trial.outcome for trial in trials] == [Outcome.OK, Outcome.CRASHED, Outcome.UNAVAILABLE]
    good = trials[0]
    assert good.counters.memory is not None
    assert (good.counters.memory[1].bytes, good.counters.wall_ns) == (20_971_520, 1_300_000_000)
    assert good.counters.statuses is not None
    assert {count.name: count.count for count in good.counters.statuses} == {"200": 3, "404": 1}
    samples = run.samples().collect()
    assert len(samples) == 7
    assert samples["verdict"].to_list().count(Verdict.RIGHT.value) == 6
    assert samples.filter(samples["explained"])["cause"].to_list() == ["stall_tls"]


@pytest.fixture(scope="module")
def costs() -> tuple[Trial, ...]:
    return tuple(
        one
        for block in range(3)
        for one in (
            cost_trial("ruby-curb", block, document_us=200 + block),
            cost_trial("java-okhttp", block, document_us=300 + block, cost={"drift": -0.3, "warm_up_documents": 2_450}),
            tool_trial("ab", block),
        )
    )


@pytest.mark.parametrize("name", format_names())
def test_a_cost_in_the_format_is_as_it_was(name: str, costs: tuple[Trial, ...]) -> None:
    shown = definition_of("cost").presentation
    assert shown.views is not None
    tables = (shown.table(costs),) if name in {"csv", "json"} else shown.views(costs, {})
    check(HERE / f"cost.{name}.txt", "\n".join(render(table, name) for table in tables))


def test_the_json_of_a_cost_follows_the_published_schema(costs: tuple[Trial, ...]) -> None:
    schema = json.loads((REFERENCE / "cost.schema.json").read_text(encoding="utf-8"))
    measured = definition_of("cost").presentation.table(costs)
    circumstances = Circumstances(machine="ours", web="a web")
    for table in (measured, side_by_side(measured, published_table("cost"), circumstances)):
        rows = json.loads(render(table, "json"))
        Draft202012Validator(schema).validate(rows)
    assert not Draft202012Validator(schema).is_valid([rows[0] | {"verified": "all"}])
