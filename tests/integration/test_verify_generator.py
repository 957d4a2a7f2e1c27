"""The generator of httpdyno is right on every server with known behaviour, and one that omits is detected."""

import shutil
from pathlib import Path

import pytest

from disturbance import INCONCLUSIVE
from doubles.command_line import Command
from doubles.in_process import in_process


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process, as on a machine of two CPUs: with one, no verification is possible."""
    place = "httpdyno.experiments.verify_generator.run"
    monkeypatch.setattr(f"{place}.divide_cpus", lambda *_: (frozenset({0}), frozenset({1})))
    monkeypatch.setattr(f"{place}.measure_overhead_ns", lambda *_, **__: 0)
    return in_process(environment, tmp_path, monkeypatch, capfd)


def test_what_cannot_be_is_refused_in_one_line(here: Command) -> None:
    for options, said in (
        (["--tool", "wrkk"], "did you mean 'wrk'"),
        (["--case", "stal"], "did you mean 'stall'"),
        (["--duration", "10ms"], "too short"),
        (["--format", "xml"], "--format: 'xml' is unknown"),
        (["--tool", "go-net-http"], "name a tool"),
    ):
        ended = here("verify-generator", *options)
        assert (ended.code, ended.out) == (2, ""), options
        assert said in ended.err
        assert len(ended.err.splitlines()) == 1


def test_a_tool_that_is_not_there_keeps_its_row(here: Command) -> None:
    ended = here("verify-generator", "--tool", "wrk2")
    assert ended.code == 3
    assert "in no package registry" in ended.err


@pytest.mark.measured
def test_our_generator_reports_what_is_right(httpdyno: Command) -> None:
    ended = httpdyno("verify-generator", "--duration", "2s", "--format", "json")
    assert ended.out, ended.err
    found = ended.rows
    # It has tried three times, and knows more than a test: its own server was late.
    if late := [row for row in found if row["verdict"] == "NOT_JUDGED"]:
        pytest.skip(f"{INCONCLUSIVE} verify-generator: {late[0]['notes']}")
    assert {(row["case"], row["loop"]) for row in found} == {
        ("at-once", "open"),
        *((case, loop) for case in ("law", "stall", "rate") for loop in ("open", "closed")),
    }
    for row in found:
        assert row["verdict"] == "right", row
    assert ended.code == 0


@pytest.mark.measured
@pytest.mark.skipif(shutil.which("hey") is None, reason="hey is not installed; apt-get install hey")
def test_a_generator_that_omits_is_found_out(httpdyno: Command) -> None:
    ended = httpdyno(*("verify-generator", "--tool", "hey", "--case", "stall", "--duration", "3s", "--format", "json"))
    opened = next(row for row in ended.rows if row["loop"] == "open")
    assert opened["p95"] < opened["p95True"] / 2, opened
    assert ended.code == 1
