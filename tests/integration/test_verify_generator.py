"""Our generator is right on every server with known behaviour, and one that omits is found out."""

import shutil
from typing import Any

import pytest

from doubles.command_line import Command, Ended
from httpdyno.errors import NothingMeasured


def rows(ended: Ended) -> list[dict[str, Any]]:
    """Give the rows; skip when nothing could be judged: other work had the CPUs, which is no mistake of anyone's."""
    assert ended.out, ended.err
    if ended.code == NothingMeasured.exit_code and all(row["verdict"] == "NOT_JUDGED" for row in ended.rows):
        pytest.skip("the machine was too busy to judge anybody")
    return ended.rows


def test_our_generator_reports_what_is_right(httpdyno: Command) -> None:
    ended = httpdyno("verify-generator", "--duration", "2s", "--format", "json")
    found = rows(ended)
    assert {(row["case"], row["loop"]) for row in found} == {
        ("at-once", "open"),
        *((case, loop) for case in ("law", "stall", "rate") for loop in ("open", "closed")),
    }
    for row in found:
        assert row["verdict"] in {"right", "NOT_JUDGED"}, row
    assert ended.code == 0


@pytest.mark.skipif(shutil.which("hey") is None, reason="hey is not installed; apt-get install hey")
def test_a_generator_that_omits_is_found_out(httpdyno: Command) -> None:
    ended = httpdyno(*("verify-generator", "--tool", "hey", "--case", "stall", "--duration", "3s", "--format", "json"))
    opened = next(row for row in rows(ended) if row["loop"] == "open")
    if opened["verdict"] == "NOT_JUDGED":
        pytest.skip("the machine was too busy to judge anybody")
    assert opened["p95"] < opened["p95True"] / 2, opened
    assert ended.code == 1


def test_what_cannot_be_is_refused_in_one_line(httpdyno: Command) -> None:
    for options, said in (
        (["--tool", "wrkk"], "did you mean 'wrk'"),
        (["--case", "stal"], "did you mean 'stall'"),
        (["--duration", "10ms"], "too short"),
        (["--format", "xml"], "--format: 'xml' is not known"),
        (["--tool", "go-net-http"], "this takes a tool"),
    ):
        ended = httpdyno("verify-generator", *options)
        assert (ended.code, ended.out) == (2, ""), options
        assert said in ended.err
        assert len(ended.err.splitlines()) == 1


def test_a_tool_that_is_not_there_keeps_its_row(httpdyno: Command) -> None:
    ended = httpdyno("verify-generator", "--tool", "wrk2")
    assert ended.code == 3
    assert "in no package registry" in ended.err
