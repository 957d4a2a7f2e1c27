"""Display and storage of a run of a published grid."""

from fractions import Fraction
from pathlib import Path

import pytest

from doubles.runs import make_run
from doubles.trials import trial
from httpdyno.cli.output import print_run
from httpdyno.experiments.capacity.figures import CapacitySummary
from httpdyno.experiments.capacity.plan import Capacity
from httpdyno.experiments.capacity.published import end_capacity, preset_axes
from httpdyno.experiments.experiment import Ended
from httpdyno.lab.engine import Engine
from httpdyno.lab.place import Place
from httpdyno.lab.room import Pinning
from httpdyno.model import Trial
from httpdyno.published import find_preset
from httpdyno.store import open_run

TENTH = Fraction(1, 10)
SOMEWHERE = Place(Engine("engine"), Pinning(), Path("cache"), Path("runs"), ("httpdyno", "capacity"))
BATCH_4 = "published-batch-4"


def trials_of(subject: str = "go-net-http", count: int = 3) -> list[Trial]:
    points = list(preset_axes(find_preset(BATCH_4, "capacity"), TENTH).points())[:count]
    summary = CapacitySummary(90, 0, 10**9, 59.0, 0.33e9, held=False)
    return [trial(subject, 0, experiment="capacity", capacity_point=point, capacity=summary) for point in points]


def run_of(root: Path, trials: list[Trial], preset: str | None = BATCH_4) -> Path:
    axes = preset_axes(find_preset(BATCH_4, "capacity"), TENTH)
    settings = Capacity(axes=axes, preset=preset, scale="1/10" if preset else None).settings()
    return make_run(root, trials, experiment="capacity", settings=settings)


def end(folder: Path) -> None:
    run = open_run(folder)
    settings = run.manifest.settings
    experiment = Capacity(axes=preset_axes(find_preset(BATCH_4, "capacity"), TENTH), preset=str(settings["preset"]))
    said: list[str] = []
    ended = Ended(experiment, (), SOMEWHERE, run.records(), run, whole=True, tell=said.append)
    assert end_capacity(ended)
    assert len(said) == len(list(folder.glob("*.csv")))
    assert all(line.startswith("published form: ") for line in said)


def test_csv_has_the_published_columns_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_run(open_run(run_of(tmp_path, trials_of())), "csv")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Delay,Bandwidth,Concurrency,Average Latency (s),Requests/sec"
    assert len(lines) == 4
    assert lines[1].endswith(",0.33,59.0")


def test_the_terminal_shows_the_run_and_the_publication(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_run(open_run(run_of(tmp_path, trials_of())), "table")
    shown = capsys.readouterr().out
    assert "measured and published: Go's client through hey, batch 4" in shown
    assert "published Concurrency" in shown
    assert "247 of 250 published points were not measured" in shown


def test_the_terminal_shows_the_summary_of_a_large_grid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_of(tmp_path, trials_of(count=60))
    print_run(open_run(folder), "table")
    shown = " ".join(capsys.readouterr().out.split())  # a line ends at the width of a terminal
    assert f"comparison of all 60 points: httpdyno published capacity-batch-4 --compare {folder}" in shown
    assert "190 of 250 published points were not measured" in shown
    assert "published Concurrency" not in shown


def test_without_a_preset_csv_is_that_of_any_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_of(tmp_path, trials_of(), None)
    print_run(open_run(folder), "csv")
    assert capsys.readouterr().out.startswith("subject,")
    end(folder)
    assert not list(folder.glob("*.csv"))


def test_the_run_keeps_a_file_in_the_published_form_for_each_subject(tmp_path: Path) -> None:
    alone = run_of(tmp_path / "alone", trials_of())
    end(alone)
    assert [file.name for file in alone.glob("*.csv")] == ["published-batch-4.csv"]
    both = run_of(tmp_path / "both", [*trials_of(), *trials_of("hey")])
    end(both)
    names = sorted(file.name for file in both.glob("*.csv"))
    assert names == ["published-batch-4-go-net-http.csv", "published-batch-4-hey.csv"]
    header = (both / names[1]).read_text().splitlines()[0]
    assert header == "Delay,Bandwidth,Concurrency,Average Latency (s),Requests/sec"
