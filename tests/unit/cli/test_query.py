"""`httpdyno query`: its output, its refusals, its omissions."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from doubles.command_line import Command

VERSION_1 = Path(__file__).parents[2] / "golden" / "run-of-version-1"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with one run, of record version 1."""
    shutil.copytree(VERSION_1, tmp_path / "runs" / "first")
    return tmp_path / "runs"


def spoil(folder: Path, version: int | None) -> None:
    """Make the run a damaged one, or one of another record version."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    text = "{" if version is None else json.dumps(manifest | {"record_version": version})
    (folder / "manifest.json").write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("runs")
def test_rows_are_objects(httpdyno: Command) -> None:
    ended = httpdyno("query", "select run, trial, outcome from trials order by trial", "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.rows[0] == {"run": "first", "trial": 0, "outcome": "ok"}
    assert [row["outcome"] for row in ended.rows] == ["ok", "crashed", "unavailable"]


@pytest.mark.usefixtures("runs")
def test_lists_of_structures_are_printed_in_every_format(httpdyno: Command) -> None:
    query = "select memory, statuses from trials where trial = 0"
    (row,) = httpdyno("query", query, "--format", "json").rows
    assert row["statuses"] == [{"name": "200", "count": 3}, {"name": "404", "count": 1}]
    (line,) = csv.DictReader(io.StringIO(httpdyno("query", query, "--format", "csv").out))
    assert json.loads(line["statuses"]) == row["statuses"]
    for name in ("table", "plain"):
        assert '[{"name": "200", "count": 3}, {"name": "404", "count": 1}]' in httpdyno(
            "query", query, "--format", name
        ).out  # fmt: skip


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("arguments", [["-"], []])
def test_the_query_is_read_from_standard_input(httpdyno: Command, arguments: list[str]) -> None:
    ended = httpdyno("query", *arguments, "--format", "csv", stdin=b"-- how many\nselect count(*) as n from samples\n")
    assert (ended.code, ended.out) == (0, "n\n7\n")


@pytest.mark.usefixtures("runs")
def test_a_query_that_is_no_text_is_one_line(httpdyno: Command) -> None:
    ended = httpdyno("query", "-", stdin=b"select '\xff'")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "httpdyno: the query on standard input is not UTF-8 text; encode it as UTF-8\n"


@pytest.mark.usefixtures("runs")
def test_a_cut_table_has_a_note(httpdyno: Command) -> None:
    many = " cross join ".join(f"samples s{number}" for number in range(5))
    query = f"select s0.line from {many}"
    ended = httpdyno("query", query, "--format", "plain")
    assert ended.out.splitlines()[-1] == "the first 10,000 rows; --format csv or json gives all"
    assert len(ended.out.splitlines()) == 10_002
    assert len(httpdyno("query", query, "--format", "csv").out.splitlines()) == 7**5 + 1


def test_other_folders_of_runs_and_single_runs_can_be_queried(httpdyno: Command, runs: Path, tmp_path: Path) -> None:
    runs.rename(tmp_path / "elsewhere")
    shutil.copytree(VERSION_1, tmp_path / "elsewhere" / "second")
    query = ("query", "select run from runs order by run", "--format", "csv")
    assert httpdyno(*query, "--runs", "elsewhere").out == "run\nfirst\nsecond\n"
    assert httpdyno(*query, "--out", "elsewhere").out == "run\nfirst\nsecond\n"
    assert httpdyno(*query, "--runs", "elsewhere", "--run", "second").out == "run\nsecond\n"
    assert httpdyno(*query, "--run", "elsewhere/first", "--run", str(VERSION_1)).out == "run\nfirst\nrun-of-version-1\n"


def test_a_folder_without_runs_gives_an_empty_answer_and_a_message(httpdyno: Command) -> None:
    ended = httpdyno("query", "select run from runs", "--format", "json")
    assert (ended.code, ended.out) == (0, "[]\n")
    assert ended.err == "httpdyno: runs: no runs in this folder; make one with: httpdyno bench\n"


def test_what_cannot_be_read_is_named_and_left_out(httpdyno: Command, runs: Path) -> None:
    for name, version in (("damaged", None), ("newer", 99)):
        shutil.copytree(VERSION_1, runs / name)
        spoil(runs / name, version)
    (runs / "foreign").mkdir()
    (runs / ".hidden").mkdir()
    ended = httpdyno("query", "select run from runs", "--format", "csv")
    assert (ended.code, ended.out) == (0, "run\nfirst\n")
    lines = ended.err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("httpdyno: left out: runs/") for line in lines)
    assert "runs/foreign is not a run of httpdyno: it has no manifest.json" in ended.err
    assert "runs/newer: written by a newer httpdyno (records of version 99; this httpdyno reads up to 2)" in ended.err


def test_a_list_of_runs_names_what_it_leaves_out(httpdyno: Command, runs: Path) -> None:
    (runs / "foreign").mkdir()
    (runs / ".20261121T120000Z-bench.0123abcd").mkdir()
    ended = httpdyno("runs", "--format", "csv")
    assert (ended.code, len(ended.out.splitlines())) == (0, 2)
    assert ended.err == "httpdyno: left out: runs/foreign is not a run of httpdyno: it has no manifest.json\n"


@pytest.mark.parametrize(("name", "said"), [("damaged", "manifest.json is damaged"), ("newer", "update httpdyno")])
def test_an_unreadable_run_that_is_named_is_an_error(httpdyno: Command, runs: Path, name: str, said: str) -> None:
    shutil.copytree(VERSION_1, runs / name)
    spoil(runs / name, 99 if name == "newer" else None)
    ended = httpdyno("query", "select run from runs", "--run", name)
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert said in ended.err


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("name", ["csv", "json", "table"])
def test_a_query_that_fails_over_its_rows_prints_none(httpdyno: Command, name: str) -> None:
    ended = httpdyno("query", "select cast(subject as integer) from trials", "--format", name)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("httpdyno: query: conversion from `str` to `i32` failed in column 'subject'")


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["selct 1"], "httpdyno: query: a query cannot begin with 'selct'; write it like: select"),
        (
            ["select * from trails"],
            "httpdyno: query: there is no table 'trails'; did you mean 'trials'?",
        ),
        (
            ["select subjct from trials"],
            "httpdyno: query: there is no column 'subjct'; did you mean 'subject'?",
        ),
        (["select 1", "--format", "xml"], "httpdyno: --format: 'xml' is unknown; choose from: "),
        (
            ["select 1", "--run", "absent"],
            "httpdyno: 'absent': there is no such run, neither at that path nor below runs; ch",
        ),
        (["drop table runs"], "httpdyno: query: a query cannot begin with 'drop'"),
        ([""], "httpdyno: query: the query is empty; write it like"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(httpdyno: Command, arguments: list[str], said: str) -> None:
    ended = httpdyno("query", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(said)
    assert len(ended.err.splitlines()) == 1


def test_the_columns_are_listed(httpdyno: Command, runs: Path) -> None:
    assert runs.is_dir()
    rows = httpdyno("query", "--columns", "--format", "json").rows
    known = {(row["table"], row["column"]): row for row in rows}
    assert len(known) == len(rows)
    wanted = ("right_per_s", "cpu_per_right_ms", "right_per_core_s", "p99_ms", "limited_by", "peak_memory_bytes")
    assert {("trials", name) for name in wanted} | {("runs", "run"), ("samples", "duration_ns")} <= set(known)
    assert known["trials", "cpu_per_right_ms"]["unit"] == "ms"
    assert known["trials", "limited_by"]["type"] == "text"
    # Each can be queried under its listed name.
    for table in ("runs", "trials", "ceilings", "samples", "cases"):
        names = ", ".join(f'"{column}"' for of, column in known if of == table)
        ended = httpdyno("query", f"select {names} from {table}", "--format", "json")
        assert (ended.code, ended.err) == (0, ""), table
    ended = httpdyno("query", "--columns", "select 1")
    assert (ended.code, ended.err) == (2, "httpdyno: --columns conflicts with a query; leave out one of the two\n")


def test_the_columns_are_listed_without_any_run(httpdyno: Command) -> None:
    ended = httpdyno("query", "--columns", "--format", "csv")
    assert (ended.code, ended.err) == (0, "")
    assert "trials,right_per_s," in ended.out


def test_figures_of_the_table_can_be_queried(httpdyno: Command, given: list[str]) -> None:
    (row,) = httpdyno("bench", *given, "--limit", "4", "--repeat", "1", "--format", "json").rows
    figures = ("right_per_s", "p50_ms", "p99_ms", "time", "totalUrls", "2xx", "wire_bytes", "limited_by", "p99")
    asked = ", ".join(f'"{name}"' for name in figures)
    (found,) = httpdyno("query", f"select {asked} from trials", "--format", "json").rows
    assert found["2xx"] == 4
    assert found["limited_by"] == row["limited_by"]
    for name in (name for name in figures if row[name] is not None and name != "limited_by"):
        assert found[name] == pytest.approx(row[name], rel=0.02, abs=1), name
    ended = httpdyno("query", "select right_per_core from trials")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "httpdyno: query: there is no column 'right_per_core'; did you mean 'right_per_core_s'?\n"
