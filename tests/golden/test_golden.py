"""What people and programs rely on, kept as files: each report format, the records page, a run of record version 1.

``UPDATE_GOLDEN=1 pytest tests/golden`` writes the files anew; the difference is then reviewed like code. The run is
never written anew: a change that it does not survive needs a new record version and a reader for both.
"""

import json
import os
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from httpdyno.experiments.registry import definition_of, experiment_names
from httpdyno.experiments.report import build_report
from httpdyno.model import Outcome, Table, Verdict
from httpdyno.model.documentation import records_page
from httpdyno.published import Circumstances, Workload, beside, published_table
from httpdyno.report import Surface, format_names, render
from httpdyno.report.html.page import page
from httpdyno.report.json_schema import experiment_schema
from httpdyno.store import Run, open_run

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
    return definition_of("bench").table(run.records())


def test_every_format_has_its_file() -> None:
    assert sorted(path.stem for path in HERE.glob("crawl.*.txt")) == sorted(f"crawl.{name}" for name in format_names())


@pytest.mark.parametrize("name", format_names())
def test_the_format_is_as_it_was(name: str, table: Table) -> None:
    check(HERE / f"crawl.{name}.txt", render(table, name))


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
    schema = experiment_schema(definition_of(name).table([]).columns, name)
    Draft202012Validator.check_schema(json.loads(schema))
    check(REFERENCE / f"{name}.schema.json", schema)


def test_json_is_as_the_published_schema_says(table: Table) -> None:
    schema = json.loads((REFERENCE / "bench.schema.json").read_text(encoding="utf-8"))
    rows = json.loads(render(table, "json"))
    Draft202012Validator(schema).validate(rows)
    assert len(rows) == 3
    for wrong in (rows[0] | {"more": 1}, rows[0] | {"totalUrls": "many"}, {"subject": "x"}):
        assert not Draft202012Validator(schema).is_valid([wrong])


def test_json_beside_published_figures_is_as_the_schema_says(table: Table) -> None:
    schema = json.loads((REFERENCE / "bench.schema.json").read_text(encoding="utf-8"))
    published = published_table("crawl")
    circumstances = Circumstances(machine="ours", web="a web", workload=Workload(urls=1, timeout_s=5), versions={})
    rows = json.loads(render(beside(table, published, circumstances), "json"))
    Draft202012Validator(schema).validate(rows)
    assert rows[0]["timePublished"] is not None
    assert not Draft202012Validator(schema).is_valid([rows[0] | {"timePublished": []}])


def test_the_records_page_says_what_the_records_are() -> None:
    check(RECORDS_PAGE, records_page())


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
