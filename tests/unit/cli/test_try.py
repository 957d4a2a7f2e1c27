"""`try`: its output for one client, for people and for programs."""

from pathlib import Path

import pytest

from doubles.command_line import Command


def test_try_prints_each_url_and_then_the_figures(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    ended = httpdyno("try", *given, stdin=b"a.example\nhttp://b.example/x\n")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[:2] == ["[200] https://a.example : 2ms", "[200] http://b.example/x : 2ms"]
    assert any("right/s" in line for line in lines)
    assert not (tmp_path / "runs").exists()


def test_try_as_plain_prints_the_lines_of_the_client(
    httpdyno: Command, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORMAT", "plain")
    ended = httpdyno("try", *given, "--limit", "2")
    assert ended.out == (
        "https://host0.example/,200,2026-11-21T10:00:00.000000+00:00,1.5,13\n"
        "https://host1.example/,200,2026-11-21T10:00:00.001000+00:00,1.5,13\n"
    )


def test_try_as_json_prints_the_figures_only(httpdyno: Command, given: list[str]) -> None:
    ended = httpdyno("try", *given, "--limit", "2", "--format", "json")
    assert [row["totalUrls"] for row in ended.rows] == [2]


def test_an_empty_pipe_is_no_list(httpdyno: Command, given: list[str]) -> None:
    ended = httpdyno("try", *given, stdin=b"")
    assert ended.code == 2
    assert "standard input: the list has no URL" in ended.err


def test_a_limit_of_memory_that_cannot_be_had_is_said_in_every_format(httpdyno: Command, given: list[str]) -> None:
    unlimited = "memory was not limited to 2.0 GiB: the stand-in has no control groups; see: httpdyno doctor"
    typed = ("try", *given, "--limit", "1", "--memory", "2GiB", "--format")
    assert httpdyno(*typed, "table").out.endswith(f"\n{unlimited}\n")
    assert [row["notes"] for row in httpdyno(*typed, "json").rows] == [[unlimited]]
    for name in ("plain", "csv"):
        ended = httpdyno(*typed, name)
        assert (unlimited in ended.out, f"httpdyno: {unlimited}\n" in ended.err) == (False, True), name
