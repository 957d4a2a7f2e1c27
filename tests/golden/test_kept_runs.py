"""A run of each experiment, made once with real programs and never again: what was measured stays readable.

They were made small, as their manifests say. A change that one of them does not survive needs a new version of the
records, and a reader for both.
"""

import json
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from httpdyno.experiments.registry import definition_of, experiment_names
from httpdyno.report import format_names, render
from httpdyno.report.html.page import page
from httpdyno.runs.report import build_report
from httpdyno.store import Run, open_run
from httpdyno.store.query import ask

HERE = Path(__file__).parent
PACKED = HERE / "runs"
REFERENCE = HERE.parents[1] / "docs" / "reference"


@pytest.fixture(scope="module", params=sorted(path.name for path in PACKED.iterdir()))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("kept")
    shutil.unpack_archive(PACKED / request.param, folder, filter="data")
    (unpacked,) = folder.iterdir()
    return open_run(unpacked)


def test_every_experiment_has_one() -> None:
    # That of a bench is older than the others, and its figures are tested (test_golden.py).
    assert {path.name.partition(".")[0] for path in PACKED.iterdir()} == set(experiment_names()) - {"bench"}


def test_it_is_opened(run: Run) -> None:
    assert run.folder.name == run.manifest.experiment
    assert (run.manifest.record_version, run.manifest.state) == (1, "complete")
    trials = run.records()
    assert trials
    assert run.manifest.trials_planned in {len(trials), None}
    assert {trial.experiment for trial in trials} == {run.manifest.experiment}
    run.samples().collect()


def test_it_is_shown_in_every_format_and_as_a_page(run: Run) -> None:
    definition = definition_of(run.manifest.experiment)
    trials = run.records()
    tables = definition.views(trials, run.manifest.settings) if definition.views else (definition.table(trials),)
    for name in format_names():
        assert all(len(render(table, name).splitlines()) > len(table.rows) > 0 for table in tables), name
    assert 'id="chart-' in page(build_report(run, definition))


def test_its_rows_are_as_the_published_schema_says(run: Run) -> None:
    schema = json.loads((REFERENCE / f"{run.manifest.experiment}.schema.json").read_text(encoding="utf-8"))
    rows = json.loads(render(definition_of(run.manifest.experiment).table(run.records()), "json"))
    Draft202012Validator(schema).validate(rows)
    assert rows


def test_it_is_queried(run: Run) -> None:
    question = "select experiment, count(*) as n from trials group by experiment"
    answer = ask({"kept": run}, question)
    rows = [row for batch in answer.batches for row in batch.rows()]
    assert rows == [(run.manifest.experiment, len(run.records()))]
