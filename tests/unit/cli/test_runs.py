"""`runs`: the list of what was measured."""

from pathlib import Path

import pytest

from doubles.command_line import Command
from httpdyno.errors import UnreadableRun
from httpdyno.store import open_run


@pytest.mark.parametrize("option", ["--runs", "--out"])
def test_where_no_runs_are_that_is_said(httpdyno: Command, option: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for asked, folder in (([option, "empty"], "empty"), ([], "runs")):
        ended = httpdyno("runs", *asked)
        said = f"httpdyno: {folder}: there are no runs in it; make one with: httpdyno bench\n"
        assert (ended.code, ended.err) == (0, said)
    (tmp_path / "runs").touch()
    ended = httpdyno("runs")
    assert (ended.code, ended.err) == (2, "httpdyno: runs is no folder; runs are kept in one\n")


@pytest.mark.parametrize("option", ["--runs", "--out"])
@pytest.mark.parametrize(
    "verb", [["runs"], ["query", "select 1"], ["report", "latest"], ["compare", "latest"], ["published", "crawl"]]
)
def test_a_folder_that_is_named_must_be_one(httpdyno: Command, verb: list[str], option: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, what in (("nowhere", "does not exist"), ("file", "is no folder")):
        ended = httpdyno(*verb, option, name)
        said = f"httpdyno: --runs {name}: {what}; name the folder that holds the runs\n"
        assert (ended.code, ended.out, ended.err) == (2, "", said)


def test_runs_are_listed_the_newest_first(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    assert httpdyno("runs", "--format", "json").rows == []
    httpdyno("bench", *given, "--limit", "4", "--quick")
    httpdyno("bench", *given, "--limit", "4", "--repeat", "2")
    (tmp_path / "runs" / "foreign").mkdir()
    # Whatever it is called now.
    first = min(path for path in (tmp_path / "runs").iterdir() if path.name.endswith("-bench"))
    first.rename(first.with_name("zero"))
    ended = httpdyno("runs", "--format", "json")
    assert [(row["state"], row["trials"], row["planned"]) for row in ended.rows] == [
        ("complete", 2, 2),
        ("complete", 1, 1),
    ]
    assert "left out: runs/foreign is no run of httpdyno" in httpdyno("runs").err
    with pytest.raises(UnreadableRun):
        open_run(tmp_path / "runs" / "foreign")
