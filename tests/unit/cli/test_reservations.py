"""The reservations of a printed result: at each row, below the table, or on stderr."""

import json
from pathlib import Path

import pytest

from doubles.runs import make_run
from doubles.trials import trial
from httpdyno.cli.compare import published
from httpdyno.cli.output import print_run
from httpdyno.store import open_run

LOOKED = "a first look (--quick): each subject ran once; differences may be chance"
NOT_WHOLE = "not whole: 1 of 5 trials"
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A first look that was stopped after its first trial."""
    return make_run(tmp_path, [trial("go-net-http", 0)], trials_planned=5, settings={"quick": True, "repeat": 1})


def test_reservations_go_to_stderr_when_json_has_no_row(tmp_path: Path, capsys: Captured) -> None:
    run = open_run(make_run(tmp_path, [], trials_planned=5))
    for name in ("json", "csv"):
        print_run(run, name)
        assert capsys.readouterr().err == "httpdyno: not whole: 0 of 5 trials\n", name
    print_run(run, "table")
    shown = capsys.readouterr()
    assert ("not whole: 0 of 5 trials" in shown.out, shown.err) == (True, "")


def test_where_there_are_rows_only_csv_has_no_place(stopped: Path, capsys: Captured) -> None:
    print_run(open_run(stopped), "json")
    assert capsys.readouterr().err == ""
    print_run(open_run(stopped), "csv")
    assert capsys.readouterr().err == f"httpdyno: {LOOKED}\nhttpdyno: {NOT_WHOLE}\n"


def test_a_comparison_with_a_publication_has_the_reservations_of_the_report(stopped: Path, capsys: Captured) -> None:
    published.callback("crawl", str(stopped), "json")
    shown = capsys.readouterr()
    assert all([row["notes"].count(text) for text in (LOOKED, NOT_WHOLE)] == [1, 1] for row in json.loads(shown.out))
    assert shown.err == ""
    published.callback("crawl", str(stopped), "csv")
    assert capsys.readouterr().err == f"httpdyno: {LOOKED}\nhttpdyno: {NOT_WHOLE}\n"
    published.callback("crawl", str(stopped), "table")
    shown = capsys.readouterr()
    assert [shown.out.count(text) for text in (LOOKED, NOT_WHOLE)] == [1, 1]
    assert shown.err == ""
