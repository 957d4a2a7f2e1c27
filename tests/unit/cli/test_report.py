"""`httpdyno report`: the table, the page, the charts, the schema, and refusals."""

import json
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from conftest import MakeSubject
from doubles.command_line import Command
from httpdyno.errors import StorageFailed

VERSION_1 = Path(__file__).parents[2] / "golden" / "run-of-version-1"
CHARTS = {"ranking", "throughput", "memory", "percentiles", "distribution", "verdicts", "statuses"}


@pytest.fixture
def undrawn() -> None:
    """Draw everything here."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a run."""
    return Path(shutil.copytree(VERSION_1, tmp_path / "runs" / "first"))


def test_the_table_is_printed_and_the_page_is_written(folder: Path, httpdyno: Command) -> None:
    ended = httpdyno("report", "latest")
    assert ended.code == 0
    assert "net/http" in ended.out
    assert ended.err == "httpdyno: report: runs/first/report.html\n"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 2 * len(CHARTS)


@pytest.mark.usefixtures("folder")
def test_the_page_is_written_to_the_named_file(folder: Path, tmp_path: Path, httpdyno: Command) -> None:
    ended = httpdyno("report", "first", "--html", "page.html")
    assert (ended.code, ended.err) == (0, "httpdyno: report: page.html\n")
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert not (folder / "report.html").exists()


def test_a_format_is_for_programs_and_writes_nothing(folder: Path, httpdyno: Command) -> None:
    ended = httpdyno("report", "first", "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    assert [row["subject"] for row in ended.rows] == ["go-net-http", "node-fetch", "ruby-async"]
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "samples.parquet", "trials.parquet"]


@pytest.mark.usefixtures("folder")
def test_json_follows_the_printed_schema(httpdyno: Command) -> None:
    schema = json.loads(httpdyno("report", "first", "--schema").out)
    Draft202012Validator(schema).validate(httpdyno("report", "first", "--format", "json").rows)


def test_charts_are_written_as_svg_and_png(folder: Path, tmp_path: Path, httpdyno: Command) -> None:
    ended = httpdyno("report", "first", "--charts", "some/charts")
    assert (ended.code, ended.err) == (0, "httpdyno: charts: some/charts\n")
    written = list((tmp_path / "some" / "charts").iterdir())
    assert {path.name for path in written} == {f"{name}.{kind}" for name in CHARTS for kind in ("svg", "png")}
    for path in written:
        content = path.read_bytes()
        assert content.startswith(b"<svg" if path.suffix == ".svg" else b"\x89PNG")
        assert b"var(--" not in content
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "'nowhere': there is no such run"),
        (["first", "--format", "pdf"], "choose from: csv, json, markdown, plain, table"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_not_there_is_one_clear_line(arguments: list[str], said: str, httpdyno: Command) -> None:
    ended = httpdyno("report", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_a_run_of_an_unknown_experiment_is_one_clear_line(folder: Path, httpdyno: Command) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (folder / "manifest.json").write_text(json.dumps(manifest | {"experiment": "juggling"}), encoding="utf-8")
    ended = httpdyno("report", "first")
    assert ended.code == 2
    assert "experiment 'juggling' is unknown" in ended.err


def test_a_page_that_cannot_be_written_is_one_clear_line(tmp_path: Path, folder: Path, httpdyno: Command) -> None:
    (tmp_path / "file").touch()
    for option in ("--html", "--charts"):
        ended = httpdyno("report", str(folder), option, "file/inside")
        assert ended.code == 3
        assert "cannot be written" in ended.err
        assert ended.err.count("\n") == 1
        assert option in ended.err


def test_a_bench_ends_with_the_path_of_its_page(
    make_subject: MakeSubject, subject_folders: Path, tmp_path: Path, httpdyno: Command
) -> None:
    make_subject("good")
    ended = httpdyno("bench", "good", "--subjects", str(subject_folders), "--limit", "5", "--repeat", "1")
    assert ended.code == 0
    (run,) = (tmp_path / "runs").iterdir()
    assert ended.err.endswith(f"httpdyno: run: runs/{run.name}\nhttpdyno: report: runs/{run.name}/report.html\n")
    assert "<h1>Fastest here: Python good, " in (run / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [(), ("--preset", "published")])
@pytest.mark.parametrize("form", ["table", "plain", "markdown", "csv", "json"])
def test_a_report_prints_what_the_verb_has_printed(
    form: str,
    options: tuple[str, ...],
    make_subject: MakeSubject,
    subject_folders: Path,
    httpdyno: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Other tests check the drawings, which take longer than all of this.
    monkeypatch.setattr("httpdyno.report.html.page", lambda report: report.headline)
    make_subject("mine")
    measured = httpdyno(
        "bench", "mine", *options, "--subjects", str(subject_folders), "--limit", "4", "--quick", "--format", form
    )
    reported = httpdyno("report", "latest", "--format", form)
    assert (measured.code, reported.code) == (0, 0), measured.err + reported.err
    assert reported.out == measured.out
    said = "a first look (--quick): each subject ran once; differences may be chance"
    for ended in (measured, reported):
        where = ended.err if form == "csv" else ended.out.replace("\\", "")
        assert where.count(said) == (len(ended.rows) if form == "json" else 1)


def test_a_bench_in_which_all_failed_has_a_page_too(
    make_subject: MakeSubject, subject_folders: Path, tmp_path: Path, httpdyno: Command
) -> None:
    make_subject("broken", "import sys; sys.exit(3)")
    ended = httpdyno("bench", "broken", "--subjects", str(subject_folders), "--limit", "5", "--repeat", "1")
    assert ended.code == 3
    (run,) = (tmp_path / "runs").iterdir()
    assert "<h1>No subject is ranked" in (run / "report.html").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_made_is_no_failure_of_the_measurement(
    make_subject: MakeSubject, subject_folders: Path, httpdyno: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> Path:
        raise StorageFailed("the disk is full")

    monkeypatch.setattr("httpdyno.cli.output.write_report", refuse)
    make_subject("good")
    ended = httpdyno("bench", "good", "--subjects", str(subject_folders), "--limit", "5", "--repeat", "1")
    assert ended.code == 0
    assert ended.err.endswith("httpdyno: the disk is full\n")
