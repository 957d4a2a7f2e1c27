"""`httpdyno.load_run`: the data of a run for a notebook."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

import httpdyno
from doubles.runs import NOON, make_run
from doubles.trials import trial, trials_of
from httpdyno.errors import InvalidValue, UnknownName, UnreadableRun, UsageError
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.model import LinesSummary, Outcome, Sample, Trial
from httpdyno.runs.notebook import LoadedRun
from httpdyno.store import polars_schema

VERSION_1 = Path(__file__).parents[2] / "golden" / "run-of-version-1"
FAST = [100.0, 102, 99, 101, 100]
SLOW = [90.0, 91, 89, 92, 90]


def samples(of: Trial) -> pl.DataFrame:
    """Two samples of each trial, of 1 and 2 ms."""
    given: dict[str, object] = {
        "trial": [of.trial] * 2,
        "line": [1, 2],
        "url": ["http://a.example/", "http://b.example/"],
        "duration_ns": [1_000_000, 2_000_000],
        "verdict": ["right", "late"],
        "explained": [False, False],
    }
    types = polars_schema(Sample)
    return pl.DataFrame({name: given.get(name, [None, None]) for name in types}, schema=types)


@pytest.fixture
def run(tmp_path: Path) -> LoadedRun:
    """Three subjects, of which one crashed."""
    crashed = trial("bad", 0, outcome=Outcome.CRASHED, validity=None, reason="it dumped core", summary=None)
    trials = [*trials_of("slow", SLOW), *trials_of("fast", FAST), crashed]
    return httpdyno.load_run(make_run(tmp_path, trials, samples))


def test_the_text_of_a_run_describes_it(run: LoadedRun) -> None:
    assert repr(run) == "<run 20261121T120000Z-bench: bench, complete, 11 of 11 trials of 3 subjects>"
    assert run.manifest.machine.cpu == "A CPU"
    assert run.metrics == tuple(metric.name for metric in CRAWL_METRICS)
    assert "<table" in run._repr_html_()


def test_trials_and_samples_are_frames(run: LoadedRun) -> None:
    assert run.trials.filter(pl.col("subject") == "fast")["right_per_s"].to_list() == FAST
    assert isinstance(run.samples, pl.LazyFrame)
    late = run.samples.filter(pl.col("verdict") == "late").group_by("subject").len().collect()
    assert dict(late.iter_rows()) == {"slow": 5, "fast": 5, "bad": 1}
    assert run.samples.collect_schema().names() == [*polars_schema(Sample), "subject", "condition"]
    assert [one.subject for one in run.records] == ["slow"] * 5 + ["fast"] * 5 + ["bad"]


def test_the_table_is_the_one_that_is_printed(run: LoadedRun) -> None:
    table = run.table()
    assert table["subject"].to_list() == ["fast", "slow", "bad"]
    assert table["rank"].to_list() == [1, 2, None]
    assert table["right_per_s"].to_list() == [100.0, 90.0, None]
    assert table["verdict"].to_list() == ["VALID", "VALID", "crashed"]
    assert any("it dumped core" in note for note in run.notes)


def test_figures_are_a_row_a_trial(run: LoadedRun) -> None:
    figures = run.figures()
    assert len(figures) == 11
    assert figures.columns == ["trial", "block", "condition", "subject", "outcome", "validity", *run.metrics]
    assert figures.filter(subject="slow")["right_per_s"].to_list() == SLOW
    assert figures.filter(subject="bad").row(0, named=True)["right_per_s"] is None


def test_the_ranking_has_its_doubt(run: LoadedRun) -> None:
    ranking = run.ranking()
    assert ranking.select("rank", "subject", "median", "low", "high").rows() == [
        (1, "fast", 100.0, 99.0, 102.0),
        (2, "slow", 90.0, 89.0, 92.0),
    ]
    assert ranking["level"].to_list() == [0.9375] * 2
    assert run.ranking("p99_ms").is_empty()


def test_conditions_are_ranked_each_for_itself(tmp_path: Path) -> None:
    trials = [
        *trials_of("a", FAST, condition="near"),
        *trials_of("b", SLOW, condition="near"),
        *trials_of("a", SLOW, condition="far"),
        *trials_of("b", FAST, condition="far"),
    ]
    loaded = httpdyno.load_run(make_run(tmp_path, trials))
    assert loaded.ranking().select("condition", "rank", "subject").rows() == [
        ("near", 1, "a"),
        ("near", 2, "b"),
        ("far", 1, "b"),
        ("far", 2, "a"),
    ]
    assert len(loaded.comparisons()) == 2


def test_comparisons_are_those_of_the_command(run: LoadedRun) -> None:
    rows = run.comparisons().select("subject", "baseline", "verdict").rows()
    assert rows == [("fast", "slow", "faster"), ("bad", None, "not judged, crashed")]
    rows = run.comparisons(baseline="fast").select("subject", "verdict").rows()
    assert rows == [("slow", "slower"), ("bad", "not judged, bad: crashed")]
    (change,) = run.comparisons(baseline="fast").filter(subject="slow")["change_percent"]
    assert change == pytest.approx(-10, abs=0.1)


def test_two_runs_are_compared(run: LoadedRun, tmp_path: Path) -> None:
    later = make_run(tmp_path, trials_of("slow", FAST), started_at=NOON + timedelta(hours=1))
    compared = httpdyno.load_run(later).compare(run)
    assert compared.select("subject", "verdict").rows() == [
        ("slow", "faster"),
        ("fast", "only in A"),
        ("bad", "only in A"),
    ]
    other = httpdyno.load_run(
        make_run(tmp_path, trials_of("slow", FAST, concurrency=9), started_at=NOON + timedelta(hours=2))
    )
    with pytest.raises(UsageError, match="not comparable: concurrency: 10 in A, 9 in B"):
        other.compare(run)
    assert other.compare(run, anyway=True)["verdict"].to_list()[0] == "faster"


def test_a_run_is_named_as_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "runs", trials_of("a", FAST), name="first")
    make_run(tmp_path / "runs", trials_of("a", FAST), name="second", started_at=NOON + timedelta(hours=1))
    monkeypatch.chdir(tmp_path)
    for name, folder in (("latest", "second"), ("previous", "first"), ("first", "first"), ("runs/first", "first")):
        assert httpdyno.load_run(name).folder == Path("runs", folder)
    monkeypatch.chdir("/")
    assert httpdyno.load_run("latest", runs=tmp_path / "runs").folder.name == "second"
    with pytest.raises(UnknownName, match="'third': there is no such run, neither at that path nor below"):
        httpdyno.load_run("third", runs=tmp_path / "runs")


def test_a_run_that_was_stopped_gives_what_is_there(tmp_path: Path) -> None:
    run = httpdyno.load_run(make_run(tmp_path, trials_of("a", FAST), samples, close=False, trials_planned=9))
    assert repr(run).endswith("bench, partial, 5 of 9 trials of 1 subjects>")
    assert "not whole: 5 of 9 trials" in run.notes
    assert len(run.samples.collect()) == 10


def test_a_run_of_version_1_stays_readable() -> None:
    run = httpdyno.load_run(VERSION_1)
    assert run.table()["verdict"].to_list()[-2:] == ["crashed", "unavailable"]
    assert len(run.figures()) == 3
    assert len(run.samples.collect()) == 7
    assert run.ranking().columns[0] == "rank"
    assert len(run.comparisons()) == 3


def test_mistakes_are_said_with_what_is_known(run: LoadedRun, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no metric 'speed'; choose from: time, avg"):
        run.ranking("speed")
    with pytest.raises(InvalidValue, match="connections has no direction"):
        run.comparisons("connections")
    with pytest.raises(UnknownName, match="there is no subject 'x' in this run; it has: slow, fast, bad"):
        run.comparisons(baseline="x")
    (tmp_path / "foreign").mkdir()
    with pytest.raises(UnreadableRun, match="is not a run of httpdyno: it has no manifest.json"):
        httpdyno.load_run(tmp_path / "foreign")


def test_a_figure_that_only_some_trials_have_is_null_elsewhere(tmp_path: Path) -> None:
    trials = [trial("a", 0, summary=LinesSummary(urls=3, p99_ns=2e6)), trial("a", 1, summary=LinesSummary(urls=3))]
    assert httpdyno.load_run(make_run(tmp_path, trials)).figures()["p99_ms"].to_list() == [2.0, None]


def test_to_import_the_package_is_nothing() -> None:
    program = "import sys, httpdyno; print(httpdyno.__version__, 'polars' in sys.modules, 'typing' in sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {program}"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout == f"{httpdyno.__version__} False False\n"
