"""A run of each experiment, made once with real programs and never again: old runs stay readable.

They were made small, as their manifests say. A change that cannot read one of them needs a new version of the records,
and a reader for both.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from httpdyno.experiments.registry import definition_of, experiment_names
from httpdyno.model import figure_fields, figures_of
from httpdyno.report.formats import format_names, render
from httpdyno.report.html import page
from httpdyno.runs.showing import build_report
from httpdyno.store import Run, open_run
from httpdyno.store.query import ask

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
PACKED = {1: HERE / "runs-of-version-1", 2: HERE / "runs-of-version-2"}
"""By the version of the records that they were written with."""
REFERENCE = HERE.parents[1] / "docs" / "reference"


@pytest.fixture(
    scope="module",
    params=[(version, path) for version, folder in PACKED.items() for path in sorted(folder.iterdir())],
    ids=lambda kept: f"{kept[0]}-{kept[1].name.partition('.')[0]}",
)
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Run]:
    version, packed = request.param
    folder = tmp_path_factory.mktemp("kept")
    shutil.unpack_archive(packed, folder, filter="data")
    (unpacked,) = folder.iterdir()
    return version, open_run(unpacked)


@pytest.fixture(scope="module")
def run(kept: tuple[int, Run]) -> Run:
    return kept[1]


def test_every_experiment_has_one() -> None:
    # That of a bench of version 1 is older than the others, and its figures are tested (test_golden.py).
    names = {path.name.partition(".")[0] for folder in PACKED.values() for path in folder.iterdir()}
    assert names == set(experiment_names())


def test_it_is_opened(kept: tuple[int, Run]) -> None:
    version, run = kept
    assert run.folder.name == run.manifest.experiment
    assert (run.manifest.record_version, run.manifest.state) == (version, "complete")
    trials = run.records()
    assert trials
    assert run.manifest.trials_planned in {len(trials), None}
    assert {trial.experiment for trial in trials} == {run.manifest.experiment}
    run.samples().collect()


def test_its_figures_are_those_of_its_experiment(run: Run) -> None:
    definition = definition_of(run.manifest.experiment)
    known = {field.name for kind in definition.judging.figures for field in figure_fields(kind)}
    for trial in run.records():
        assert trial.figures
        assert set(trial.figures) <= known
        restored = figures_of(*filter(None, map(trial.get, definition.judging.figures)))
        assert without_nulls(restored) == without_nulls(trial.figures)


def without_nulls(value: Any) -> Any:
    """An older version has no column for what it did not record; a newer one reads null."""
    if isinstance(value, list):
        return [without_nulls(entry) for entry in value]
    if isinstance(value, dict):
        return {key: without_nulls(entry) for key, entry in value.items() if entry is not None}
    return value


def test_its_trials_at_hand_are_what_reading_its_folder_gives(run: Run) -> None:
    ceiling = run.ceiling()
    at_hand = Run.of(run.folder, run.manifest, [*run.records(), *([ceiling] if ceiling else ())])
    assert at_hand.records() == run.records()
    assert at_hand.ceiling() == ceiling
    assert set(at_hand.trials.columns) <= set(run.trials.columns)


def test_it_is_shown_in_every_format_and_as_a_page(run: Run) -> None:
    definition = definition_of(run.manifest.experiment)
    trials = run.records()
    shown = definition.presentation
    tables = shown.views(trials, run.manifest.settings) if shown.views else (shown.table(trials),)
    for name in format_names():
        assert all(len(render(table, name).splitlines()) > len(table.rows) > 0 for table in tables), name
    assert 'id="chart-' in page(build_report(run, definition))


def test_its_rows_follow_the_published_schema(run: Run) -> None:
    schema = json.loads((REFERENCE / f"{run.manifest.experiment}.schema.json").read_text(encoding="utf-8"))
    rows = json.loads(render(definition_of(run.manifest.experiment).presentation.table(run.records()), "json"))
    Draft202012Validator(schema).validate(rows)
    assert rows


def test_it_is_queried(run: Run) -> None:
    question = "select experiment, count(*) as n from trials group by experiment"
    answer = ask({"kept": run}, question)
    rows = [row for batch in answer.batches for row in batch.rows()]
    assert rows == [(run.manifest.experiment, len(run.records()))]
