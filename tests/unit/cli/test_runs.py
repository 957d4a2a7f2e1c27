"""`runs`: the list of what was measured."""

from pathlib import Path

import pytest

from doubles.command_line import Command
from httpdyno.errors import UnreadableRun
from httpdyno.store import open_run


@pytest.mark.parametrize("option", ["--runs", "--out"])
def test_where_no_runs_are_that_is_said(httpdyno: Command, option: str, tmp_path: Path) -> None:
    ended = httpdyno("runs", option, "nowhere")
    assert (ended.code, ended.err) == (0, "httpdyno: nowhere: there are no runs in it; make one with: httpdyno bench\n")
    (tmp_path / "file").touch()
    ended = httpdyno("runs", option, "file")
    assert ended.err == "httpdyno: file is no folder; runs are kept in one\n"
    assert ended.code != 0


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
