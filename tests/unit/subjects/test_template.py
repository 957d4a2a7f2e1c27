"""The commands of load tools: for each tool and both loops, as typed."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from httpdyno.errors import InvalidSubject, InvalidValue
from httpdyno.model import Loop, Subject, SubjectKind
from httpdyno.subjects.catalogue import read_catalogue
from httpdyno.subjects.template import Load, check_template, fill_content, fill_sequence, fill_template, loops_of

URL = "http://127.0.0.1:8080/a?b=1"
CLOSED = Load(url=URL, connections=16, duration_s=8, requests=3000)
OPEN = Load(url=URL, connections=64, duration_s=8, requests=8000, rate_per_s=1000)
GOLDEN = {
    ("ab", Loop.CLOSED): f"ab -q -k -l -r -c 16 -n 3000 -s 30 {URL}",
    (
        "fortio",
        Loop.CLOSED,
    ): "{folder}/fortio load -quiet -allow-initial-errors -json - -c 16 -qps 0 -t 8s -timeout 30s " + URL,
    (
        "fortio",
        Loop.OPEN,
    ): "{folder}/fortio load -quiet -allow-initial-errors -json - -c 64 -qps 1000 -t 8s -timeout 30s " + URL,
    ("h2load", Loop.CLOSED): f"h2load --h1 -t 1 -c 16 -D 8 {URL}",
    ("h2load", Loop.OPEN): f"h2load --h1 -t 1 -c 64 --rps 15.625 -D 8 {URL}",
    ("hey", Loop.CLOSED): f"hey -c 16 -z 8s -t 30 -m GET {URL}",
    ("hey", Loop.OPEN): f"hey -c 64 -q 15.625 -z 8s -t 30 -m GET {URL}",
    ("httpdyno-load", Loop.CLOSED): "{engine} load --connections 16 --duration 8s --timeout 30s --report - " + URL,
    ("httpdyno-load", Loop.OPEN): "{engine} load --connections 64 --rate 1000 --duration 8s --timeout 30s --report - "
    + URL,
    ("httperf", Loop.OPEN): "httperf --hog --server 127.0.0.1 --port 8080 --uri '/a?b=1' --num-conns 8000 --rate 1000"
    " --timeout 30",
    ("k6", Loop.CLOSED): "{folder}/k6 run --quiet --log-output=none --no-usage-report -e URL="
    + URL
    + " -e TIMEOUT=30s --vus 16 --duration 8s {folder}/load.js",
    ("k6", Loop.OPEN): "{folder}/k6 run --quiet --log-output=none --no-usage-report -e URL="
    + URL
    + " -e TIMEOUT=30s -e RATE=1000 -e CONNECTIONS=64 -e DURATION=8s {folder}/load.js",
    ("oha", Loop.CLOSED): "{folder}/bin/oha --no-tui --output-format json -c 16 -z 8s -t 30s -m GET " + URL,
    ("oha", Loop.OPEN): "{folder}/bin/oha --no-tui --output-format json -c 64 -q 1000 --latency-correction -z 8s"
    " -t 30s -m GET " + URL,
    ("rewrk", Loop.CLOSED): "{folder}/bin/rewrk --json -t 1 -c 16 -d 8s -h " + URL,
    (
        "vegeta",
        Loop.CLOSED,
    ): """sh -c 'printf '\\''GET %s\\n'\\'' "$1" | "$0" attack -rate 0 -workers "$2" -max-workers "$2" """
    """-duration "$3" -timeout "$4" | "$0" report -type json' {folder}/vegeta '""" + URL + "' 16 8s 30s",
    (
        "vegeta",
        Loop.OPEN,
    ): """sh -c 'printf '\\''GET %s\\n'\\'' "$1" | "$0" attack -rate "$5" -workers "$2" """
    """-duration "$3" -timeout "$4" | "$0" report -type json' {folder}/vegeta '""" + URL + "' 64 8s 30s 1000",
    ("wrk", Loop.CLOSED): f"wrk --latency -t 1 -c 16 -d 8s --timeout 30s {URL}",
}


def tools() -> list[Subject]:
    return [tool for tool in read_catalogue().of_kind(SubjectKind.TOOL) if not tool.unavailable]


def a_tool(*run: str, opened: tuple[str, ...] = ()) -> Subject:
    return Subject(
        "a-tool", SubjectKind.TOOL, "C", "a tool", Path("x"), run, report_parser="wrk", open_argv=opened
    )  # fmt: skip


def test_every_tool_is_started_as_it_would_be_typed() -> None:
    assert {(tool.id, loop) for tool in tools() for loop in loops_of(tool)} == set(GOLDEN)
    for tool in tools():
        for loop in loops_of(tool):
            filled = fill_template(tool, OPEN if loop is Loop.OPEN else CLOSED)
            assert filled == tuple(shlex.split(GOLDEN[tool.id, loop])), (tool.id, loop)


def test_content_is_sent_as_it_would_be_typed() -> None:
    load = Load(url=URL, connections=20, duration_s=30, requests=1, headers=("A: b",), content='{"n": 1}')
    (rewrk,) = [tool for tool in tools() if tool.id == "rewrk"]
    typed = "{folder}/bin/rewrk --pct -t 1 -c 20 -d 30s -m GET -H 'A: b' -b '{\"n\": 1}' -h " + URL
    assert fill_content(rewrk, load) == tuple(shlex.split(typed))
    assert {tool.id for tool in tools() if tool.content_argv} == {"hey", "oha", "rewrk"}


def test_content_that_a_tool_cannot_send_is_refused() -> None:
    with pytest.raises(InvalidValue, match="a-tool: cannot send content"):
        fill_content(a_tool("x", "{url}"), CLOSED)
    (rewrk,) = [tool for tool in tools() if tool.id == "rewrk"]
    with pytest.raises(InvalidValue, match="rewrk: cannot send content in an open loop"):
        fill_content(rewrk, OPEN)


def test_a_loop_that_a_tool_cannot_run_is_refused() -> None:
    closed_only, open_only = a_tool("x", "{url}"), a_tool("x", "{rate}")
    assert (loops_of(closed_only), loops_of(open_only)) == ((Loop.CLOSED,), (Loop.OPEN,))
    with pytest.raises(InvalidValue, match="a-tool: cannot run an open loop"):
        fill_template(closed_only, OPEN)
    with pytest.raises(InvalidValue, match="a-tool: cannot run a closed loop"):
        fill_template(open_only, CLOSED)


@pytest.mark.parametrize(
    ("placeholder", "hint"),
    [("{conections}", r"did you mean 'connections'\?"), ("--x={zzzz}", "choose from: url, host")],
)
def test_a_placeholder_that_nothing_fills_is_refused(placeholder: str, hint: str) -> None:
    with pytest.raises(InvalidSubject, match=hint):
        check_template(["x", placeholder], section="open")


def test_braces_that_are_none_of_ours_stay() -> None:
    tool = a_tool("x", "{folder}/y", "--json={}", '--at={"a":1}', "{port}")
    assert fill_template(tool, CLOSED) == ("x", "{folder}/y", "--json={}", '--at={"a":1}', "8080")


def test_headers_repeat_with_their_option() -> None:
    tool = a_tool("x", "-H", "{headers}", "{url}")
    several = Load(url=URL, connections=1, duration_s=1, requests=1, headers=("a: b", "c: d e"))
    assert fill_template(tool, several) == ("x", "-H", "a: b", "-H", "c: d e", URL)
    assert fill_template(tool, CLOSED) == ("x", URL)


@pytest.mark.parametrize("change", [{"connections": 0}, {"duration_s": 0}, {"requests": 0}, {"threads": 0}])
def test_a_load_of_nothing_is_refused(change: dict[str, int]) -> None:
    usual = {"url": URL, "connections": 1, "duration_s": 1, "requests": 1}
    with pytest.raises(InvalidValue, match="at least"):
        Load(**{**usual, **change})  # type: ignore[arg-type]


def test_tools_that_can_send_one_request_after_another_are_started_as_it_would_be_typed() -> None:
    kept = {tool.id: shlex.join(fill_sequence(tool, CLOSED)) for tool in tools() if tool.sequence_argv}
    closed = {
        tool.id: shlex.join(fill_sequence(tool, replace(CLOSED, keepalive=False)))
        for tool in tools()
        if tool.sequence_close_argv
    }
    httperf = "httperf --hog --server 127.0.0.1 --port 8080 --uri '/a?b=1' --num-conns {} --num-calls {} --timeout 30"
    assert kept == {
        "ab": f"ab -q -k -l -r -c 1 -n 3000 -s 30 '{URL}'",
        "httperf": httperf.format(1, 3000),
    }
    assert closed == {
        "ab": f"ab -q -l -r -c 1 -n 3000 -s 30 '{URL}'",
        "httperf": httperf.format(3000, 1),
    }


@pytest.mark.parametrize(("keepalive", "what"), [(True, "on one connection"), (False, "each on a new connection")])
def test_a_tool_without_sequences_is_refused_with_the_reason(keepalive: bool, what: str) -> None:
    with pytest.raises(InvalidValue, match=f"a-tool: cannot send requests one after another,? {what}"):
        fill_sequence(a_tool("x", "{url}"), replace(CLOSED, keepalive=keepalive))
