"""SQL over runs: the content of the tables, refusals, damaged runs."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest

from httpdyno.errors import HttpdynoError, InvalidValue, UnknownName, UnreadableRun
from httpdyno.model import Outcome, Sample, Trial, flatten
from httpdyno.store import Machine, Manifest, Run, RunWriter, polars_schema
from httpdyno.store.folder import SAMPLES
from httpdyno.store.manifest import GitState, WebIdentity
from httpdyno.store.query import CASE_COLUMNS, RUN_COLUMNS, SETTING, TABLES, Answer, ComputedFigures, ask, open_runs

VERSION_1 = Path(__file__).parents[2] / "golden" / "run-of-version-1"
NOON = datetime(2026, 11, 21, 13, tzinfo=timezone(timedelta(hours=1)))
MANIFEST = Manifest(
    experiment="bench",
    command=("httpdyno", "bench", "a client"),
    version="0.1.0",
    started_at=NOON,
    machine=Machine("Linux", "6.1", "x86_64", cpu="A CPU", cpus=2, sysctls={"vm.swappiness": "60"}),
    trials_planned=2,
    git=GitState("abc", modified=True),
    webs=(WebIdentity("plain", 2**64 - 1, "d"),),
    settings={"timeout_s": 5, "quick": False, "user_agent": ""},
)
TRIAL = Trial(
    trial=0,
    block=0,
    position=0,
    experiment="bench",
    condition="",
    subject="go",
    language="Go",
    method="net/http",
    version="1.25",
    concurrency=10,
    web="plain",
    seed=1,
    link="direct",
    timeout_ns=5_000_000_000,
    keepalive=True,
    check="",
    http_version="",
    urls_given=2,
    outcome=Outcome.OK,
)


def samples_of(trial: int, rows: int) -> pl.DataFrame:
    values = {
        "trial": [trial] * rows,
        "line": range(1, rows + 1),
        "url": [f"http://host{row % 7}.example/" for row in range(rows)],
        "duration_ns": range(1, rows + 1),
        "verdict": ["right"] * rows,
        "explained": [False] * rows,
    }
    frame = pl.DataFrame(values)
    absent = [pl.lit(None).cast(kind).alias(name) for name, kind in polars_schema(Sample).items() if name not in values]
    return frame.with_columns(absent).select(pl.col(n).cast(k) for n, k in polars_schema(Sample).items())


def make_run(root: Path, manifest: Manifest = MANIFEST, *, rows: int = 2, close: bool = True) -> Path:
    writer = RunWriter.create(root, manifest)
    for number in range(2):
        writer.add(replace(TRIAL, trial=number, block=number), samples_of(number, rows))
    if close:
        writer.close(complete=True, ended_at=NOON + timedelta(minutes=5))
    else:
        writer.lock.release()  # as a kill does
    return writer.folder


def refuse(error: UnreadableRun) -> None:
    raise error


def rows_of(answer: Answer) -> list[dict[str, object]]:
    return [row for batch in answer.batches for row in batch.iter_rows(named=True)]


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Run]:
    """One whole run, one that was killed, one of record version 1."""
    other = replace(MANIFEST, started_at=NOON + timedelta(days=1), settings={"timeout_s": 2.5, "limit": 9})
    folders = [make_run(tmp_path / "runs"), make_run(tmp_path / "runs", other, close=False), VERSION_1]
    return open_runs(folders, refuse)


def test_each_run_is_a_row(runs: dict[str, Run]) -> None:
    rows = rows_of(ask(runs, "select * from runs"))
    assert [row["run"] for row in rows] == ["20261121T120000Z-bench", "20261122T120000Z-bench", "run-of-version-1"]
    first, second, _ = rows
    assert first["started_at"] == datetime(2026, 11, 21, 12)
    assert first["ended_at"] == datetime(2026, 11, 21, 12, 5)
    assert (first["command"], first["trials_planned"], first["trials_finished"]) == ("httpdyno bench 'a client'", 2, 2)
    assert (first["git_commit"], first["git_modified"], first["cpu"], first["cpus"]) == ("abc", True, "A CPU", 2)
    assert first["webs"] == [{"name": "plain", "seed": 2**64 - 1, "digest": "d"}]
    assert first["sysctls"] == [{"name": "vm.swappiness", "value": "60"}]
    assert (first["state"], second["ended_at"]) == ("complete", None)
    assert second["state"] == "partial"
    assert list(rows[0])[: len(RUN_COLUMNS)] == list(RUN_COLUMNS)


def test_a_run_that_is_being_made_gives_what_is_there(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, MANIFEST)
    writer.add(TRIAL, samples_of(0, 2))
    opened = open_runs([writer.folder], refuse)
    assert rows_of(ask(opened, "select state, trials_finished from runs")) == [
        {"state": "running", "trials_finished": 1}
    ]
    assert rows_of(ask(opened, "select count(*) as n from samples")) == [{"n": 2}]
    writer.close(complete=False, ended_at=NOON)
    assert rows_of(ask(opened, "select state from runs")) == [{"state": "partial"}]


def test_settings_are_columns_and_those_that_a_run_lacks_are_null(runs: dict[str, Run]) -> None:
    columns = [f"{SETTING}{name}" for name in ("timeout_s", "limit", "quick", "user_agent")]
    rows = rows_of(ask(runs, f"select {', '.join(columns)} from runs where run like '2026112%'"))
    assert [tuple(row.values()) for row in rows] == [(5.0, None, False, ""), (2.5, 9, None, None)]


def test_a_setting_of_several_kinds_is_text(tmp_path: Path) -> None:
    values = ["auto", 10, True, 2**70]
    manifests = [replace(MANIFEST, settings={"concurrency": value}) for value in values]
    opened = open_runs([make_run(tmp_path, manifest) for manifest in manifests], refuse)
    assert [row["setting_concurrency"] for row in rows_of(ask(opened, "select setting_concurrency from runs"))] == [
        "auto",
        "10",
        "true",
        str(2**70),
    ]


def test_trials_and_samples_say_which_run_they_are_of(runs: dict[str, Run]) -> None:
    assert [
        row["n"] for row in rows_of(ask(runs, "select run, count(*) as n from trials group by run order by run"))
    ] == [
        2,
        2,
        3,
    ]
    query = "select run, trial, count(*) as n from samples group by run, trial order by run, trial"
    assert [row["n"] for row in rows_of(ask(runs, query))][:4] == [2, 2, 2, 2]
    query = """select t.subject, sum(s.duration_ns) as total from samples s join trials t
               on s.run = t.run and s.trial = t.trial where s.run = '20261121T120000Z-bench' group by t.subject"""
    assert rows_of(ask(runs, query)) == [{"subject": "go", "total": 6}]


def test_a_query_of_a_run_of_version_1_has_null_in_later_columns(runs: dict[str, Run]) -> None:
    answer = ask(runs, "select * from trials where run = 'run-of-version-1' order by trial")
    assert list(answer.columns)[: 1 + len(polars_schema(Trial))] == ["run", *polars_schema(Trial)]
    assert {"urls", "right_per_s"} <= set(answer.columns)
    rows = rows_of(answer)
    assert [row["outcome"] for row in rows] == ["ok", "crashed", "unavailable"]
    verdicts = rows_of(
        ask(runs, "select verdict, count(*) as n from samples where run = 'run-of-version-1' group by 1")
    )
    assert {row["verdict"]: row["n"] for row in verdicts}["right"] == 6


def test_times_compare_with_what_is_typed(runs: dict[str, Run]) -> None:
    for literal in ("'2026-11-22'", "date '2026-11-22'", "timestamp '2026-11-22 00:00:00'"):
        rows = rows_of(ask(runs, f"select run from runs where started_at > {literal} and run <> 'run-of-version-1'"))
        assert [row["run"] for row in rows] == ["20261122T120000Z-bench"]


def test_the_columns_of_records_come_first_whatever_runs_there_are(runs: dict[str, Run]) -> None:
    for table in TABLES:
        without, columns = (list(ask(some, f"select * from {table}").columns) for some in ({}, runs))
        assert columns[: len(without)] == without
    assert list(ask({}, "select * from trials").columns) == ["run", *polars_schema(Trial)]
    assert list(ask({}, "select * from samples").columns) == ["run", *polars_schema(Sample)]
    assert list(ask({}, "select * from cases").columns) == list(CASE_COLUMNS)


def test_no_runs_give_no_rows() -> None:
    for table in TABLES:
        assert rows_of(ask({}, f"select * from {table}")) == []


@pytest.mark.parametrize(
    "text",
    [
        "  -- a comment\n select 1 as one",
        "/* two\nlines */ SELECT 1 AS one",
        "(select 1 as one)",
        "with t as (select 1 as one) select * from t;",
    ],
)
def test_a_query_may_begin_as_people_write_them(text: str) -> None:
    assert rows_of(ask({}, text)) == [{"one": 1}]


def test_show_tables_lists_the_tables() -> None:
    assert sorted(str(row["name"]) for row in rows_of(ask({}, "show tables"))) == sorted(TABLES)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            "select * from trails",
            UnknownName,
            "no table 'trails'; did you mean 'trials'?",
        ),
        ("select subjct from trials", UnknownName, "no column 'subjct'; did you mean 'subject'?"),
        ("select subject from runs order by zz", UnknownName, "no column 'subject'; did you mean"),
        ("select t.subjct from trials t", UnknownName, "no column 'subjct'; did you mean 'subject'?"),
        ("select * from trials where", InvalidValue, "query: Expected: an expression, found: EOF"),
        (
            "select subject trials",
            UnknownName,
            "'subject' needs a table; add from and one of runs, trials, ceil",
        ),
        ("select nosuch(subject) from trials", InvalidValue, "query: unsupported function 'nosuch'"),
        ("select sum(subject) from trials", InvalidValue, "query: `sum` operation not supported for dtype `str`"),
        ("select 1 as a; select 2 as b", InvalidValue, "query: one (and only one) statement"),
        ("select trial, trial from trials", InvalidValue, "query: "),
        ("selec 1", InvalidValue, "a query cannot begin with 'selec'; write it like: select"),
        ("", InvalidValue, "query: the query is empty; write it like"),
        ("-- nothing", InvalidValue, "query: the query is empty"),
        ("drop table runs", InvalidValue, "a query cannot begin with 'drop'"),
        ("create table x as select 1", InvalidValue, "a query cannot begin with 'create'"),
        ("delete from trials where trial = 0", InvalidValue, "a query cannot begin with 'delete'"),
        ("TRUNCATE TABLE trials", InvalidValue, "a query cannot begin with 'TRUNCATE'"),
        ("insert into trials values (1)", InvalidValue, "a query cannot begin with 'insert'"),
        ("copy trials to 'x'", InvalidValue, "a query cannot begin with 'copy'"),
        ("with t as (select 1) delete from trials", InvalidValue, "query: "),
        ("explain drop", InvalidValue, "query: "),
    ],
)
def test_mistakes_are_one_line_with_the_known_names(
    runs: dict[str, Run], text: str, kind: type[HttpdynoError], said: str
) -> None:
    with pytest.raises(kind) as error:
        rows_of(ask(runs, text))
    assert said in error.value.line
    assert error.value.exit_code == 2
    assert "Resolved plan" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "has_example"),
    [
        ("select * from trials where", True),
        ("select subject,, from trials", True),
        ("select 'a", True),
        ("select cast(subject as integer) from trials", False),
        ("select sum(subject) from trials", False),
        ("select nosuch(subject) from trials", False),
        ("select trial, trial from trials", False),
        ("select trial from trials group by subject", False),
    ],
)
def test_only_what_is_no_sql_is_answered_with_an_example(runs: dict[str, Run], text: str, has_example: bool) -> None:
    with pytest.raises(InvalidValue) as error:
        rows_of(ask(runs, text))
    assert ("; write it like: select" in error.value.line) is has_example, error.value.line


def test_damaged_and_foreign_folders_are_named_and_left_out(tmp_path: Path) -> None:
    good = make_run(tmp_path)
    short = make_run(tmp_path)
    (short / SAMPLES).write_bytes((short / SAMPLES).read_bytes()[:-30])
    torn = make_run(tmp_path)
    (torn / "manifest.json").write_text("{", encoding="utf-8")
    (tmp_path / "foreign").mkdir()
    result: list[str] = []
    opened = open_runs([good, short, torn, tmp_path / "foreign"], lambda error: result.append(error.line))
    assert list(opened) == [good.name]
    assert len(result) == 3
    assert str(short) in result[0]
    assert "manifest.json is damaged" in result[1]
    assert result[2].endswith("foreign is not a run of httpdyno: it has no manifest.json")


def test_damage_in_the_middle_of_a_file_names_its_run(tmp_path: Path) -> None:
    good, bad = make_run(tmp_path, rows=5000), make_run(tmp_path, rows=5000)
    whole = (bad / SAMPLES).read_bytes()
    (bad / SAMPLES).write_bytes(whole[:100] + b"\xff" * 2000 + whole[2100:])
    opened = open_runs([good, bad], refuse)
    with pytest.raises(UnreadableRun) as error:
        rows_of(ask(opened, "select * from samples"))
    assert error.value.line.startswith(f"{bad}: the run is damaged: ")
    # A query that does not use it is answered.
    assert rows_of(ask(opened, "select count(*) as n from trials")) == [{"n": 4}]


def test_runs_of_one_name_in_two_places_have_their_paths(tmp_path: Path) -> None:
    here, there = tmp_path / "a" / "run", tmp_path / "b" / "run"
    shutil.copytree(VERSION_1, here)
    shutil.copytree(VERSION_1, there)
    assert list(open_runs([here, there, VERSION_1], refuse)) == [str(here), str(there), "run-of-version-1"]


def test_every_trial_has_a_row_that_equals_its_record(runs: dict[str, Run]) -> None:
    (row, _) = rows_of(ask(runs, "select * from trials where run = '20261121T120000Z-bench' order by trial"))
    found = {key: value for key, value in row.items() if key != "run" and value is not None}
    assert found == {key: value for key, value in flatten(TRIAL).items() if value is not None} | TRIAL.figures


def test_figures_are_computed_of_the_trials_where_a_query_mentions_them(runs: dict[str, Run]) -> None:
    asked: list[tuple[str, int, str]] = []

    def values(experiment: str, trials: Sequence[Trial], name: str) -> list[float]:
        asked.append((experiment, len(trials), name))
        return [trial.urls_given / 2 for trial in trials]

    computed = ComputedFigures({"half": pl.Float64(), "other": pl.Float64(), "concurrency": pl.Float64()}, values)
    text = "select half, concurrency from trials where run like '2026%' order by run, trial"
    assert rows_of(ask(runs, text, computed=computed)) == [{"half": 1.0, "concurrency": 10}] * 4
    # Recorded values are taken from the record; values that the query does not name are not computed.
    assert {name for _, _, name in asked} == {"half"}
    asked.clear()
    assert len(rows_of(ask(runs, "select trial from trials", computed=computed))) == 7
    assert asked == []
    with pytest.raises(UnknownName, match="there is no column 'othr'; did you mean 'other'?"):
        ask(runs, "select othr from trials", computed=computed)
