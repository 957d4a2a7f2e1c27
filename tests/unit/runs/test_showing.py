"""The tables of a run: of every experiment, of its presets, in every format, with its reservations."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from doubles.presets import preset_names
from httpdyno.experiments.registry import definition_of, experiment_names
from httpdyno.experiments.report import usual_headline
from httpdyno.judge import marked_ranks
from httpdyno.model import Table
from httpdyno.report.formats import format_names, render
from httpdyno.report.sections.tables import rows_apart
from httpdyno.runs.showing import read_by_programs, shown_tables
from httpdyno.store import Run, open_run

GOLDEN = Path(__file__).parents[2] / "golden"
FOR_PEOPLE = [name for name in format_names() if not read_by_programs(name)]
PRESETS = [(experiment, preset) for experiment in experiment_names() for preset in preset_names(experiment)]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A whole run of each experiment, by its name."""
    folder = tmp_path_factory.mktemp("kept")
    for packed in (*(GOLDEN / "runs-of-version-1").iterdir(), *(GOLDEN / "runs-of-version-2").iterdir()):
        if not (folder / packed.name.partition(".")[0]).exists():
            shutil.unpack_archive(packed, folder, filter="data")
    runs = [open_run(path) for path in (*folder.iterdir(), GOLDEN / "run-of-version-1")]
    return {run.manifest.experiment: run for run in runs}


def doubtful(run: Run, preset: str | None = None) -> tuple[Run, tuple[str, str]]:
    """Make a stopped first look of that preset; return its reservations, too."""
    there = len(run.trials)
    settings = {**run.manifest.settings, "quick": True, "repeat": 1, "preset": preset}
    manifest = replace(run.manifest, trials_planned=there + 7, settings=settings)
    looked = "a first look (--quick): each subject ran once; differences may be chance"
    return replace(run, manifest=manifest), (looked, f"not whole: {there} of {there + 7} trials")


def notes_of(tables: tuple[Table, ...]) -> list[str]:
    return [note.text for table in tables for note in table.notes]


@pytest.mark.parametrize("experiment", experiment_names())
def test_a_whole_run_is_shown_as_its_experiment_shows_it(experiment: str, kept: dict[str, Run]) -> None:
    run, presentation = kept[experiment], definition_of(experiment).presentation
    table = presentation.table(run.records())
    assert shown_tables(run, "csv") == shown_tables(run, "json") == (table,)
    answered = table.answering(usual_headline(presentation, run.records(), table))
    views = presentation.views(run.records(), run.manifest.settings) if presentation.views else (answered,)
    shown = tuple(marked_ranks(rows_apart(view)) for view in views)
    assert all(shown_tables(run, name) == shown for name in FOR_PEOPLE if name != "plain")
    # Plain text has no titles: the answer is the first note.
    (answer, *_) = shown_tables(run, "plain")[0].notes
    assert answer.text == views[0].title.splitlines()[0]


@pytest.mark.parametrize(("experiment", "preset"), [*((name, None) for name in experiment_names()), *PRESETS])
def test_tables_for_people_have_each_reservation_once(
    experiment: str, preset: str | None, kept: dict[str, Run]
) -> None:
    run, said = doubtful(kept[experiment], preset)
    for name in FOR_PEOPLE:
        tables = shown_tables(run, name)
        assert [notes_of(tables).count(text) for text in said] == [1, 1], name
        assert set(said) <= set(notes_of(tables[-1:])), name


@pytest.mark.parametrize(("experiment", "preset"), [*((name, None) for name in experiment_names()), *PRESETS])
def test_programs_find_the_reservations_at_each_row(experiment: str, preset: str | None, kept: dict[str, Run]) -> None:
    run, said = doubtful(kept[experiment], preset)
    (table,) = shown_tables(run, "json")
    rows = json.loads(render(table, "json"))
    assert rows
    assert all([row["notes"].count(text) for text in said] == [1, 1] for row in rows)


@pytest.mark.parametrize(("experiment", "preset"), PRESETS)
def test_a_run_of_a_preset_is_shown_with_its_published_table(
    experiment: str, preset: str, kept: dict[str, Run]
) -> None:
    run = kept[experiment]
    of_preset = replace(run, manifest=replace(run.manifest, settings={**run.manifest.settings, "preset": preset}))
    shown = [render(table, "table") for table in shown_tables(of_preset, "table")]
    assert shown != [render(table, "table") for table in shown_tables(run, "table")]
    assert any("published" in text for text in shown)
    assert len(shown_tables(of_preset, "csv")) == 1
