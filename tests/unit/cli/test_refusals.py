"""A command reports each failure in one line, and ends with the exit status of its kind."""

from pathlib import Path

import pytest

from doubles.command_line import Command
from httpdyno.store import open_run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bench", "god"], "'god': there is no such client; did you mean 'good'?"),
        (
            ["bench", "good", "--format", "xml"],
            "--format: 'xml' is unknown; choose from: csv, json, markdown, plain, table",
        ),
        (["bench", "good", "--timeout", "soon"], "--timeout: 'soon' is not understood"),
        (["bench", "good", "--timeout", "0"], "--timeout: 0 is not a timeout; write it like 5s or 800ms"),
        (["bench", "good", "--duration", "-1"], "--duration: '-1' is negative; write it like 40ms, 5s or 10m"),
        (["bench", "good", "--duration", "0"], "--duration: 0 is not a duration; write it like 10m or 30s"),
        (["bench", "good", "--cpus", "99999"], "--cpus: CPU 99999 is not available here; choose from"),
        (["bench", "good", "--cpus", "some"], "--cpus: 'some' is not understood; write numbers and ranges"),
        (["bench", "good", "--user-agent", "two\nlines"], "'two\\nlines': no header can contain it"),
        (["bench", "good", "--user-agent", "\udcff"], "no header can contain it"),
        (["bench", "good", "--memory", "lots"], "--memory: 'lots' is not understood"),
        (
            ["bench", "good", "--memory", "3"],
            "--memory: '3' is too small; write 1MiB or more, like 2GiB",
        ),
        (["cost", "good", "--memory", "1023KiB"], "--memory: '1023KiB' is too small"),
        (["bench", "good", "--link", "rate=0"], "link 'rate=0': rate: '0' is not a rate; write 1gbit"),
        (["try", "good", "--link", "loss=100%"], "is not a loss; write 0.1%, below 100 %"),
        (["tune", "good", "--link", "rtt=-1ms"], "is not a time; write 40ms"),
        (
            ["bench", "good", "--link-seed", "-1"],
            "httpdyno: --link-seed: '-1' is not a whole number from 0 to 18446744073709551615; see: httpdyno bench -h",
        ),
        (["bench", "good", "--cpus", ":0"], "--cpus: ':0' is not understood; write it like 1:0"),
        (["bench", "good", "--web", "nowhere"], "there is no web 'nowhere'"),
        (
            ["bench", "good", "--urls", "absent"],
            "absent: cannot be read: No such file or directory; name another file",
        ),
        (
            ["bench", "good", "--limit", "0"],
            "httpdyno: --limit: '0' is not a whole number of 1 or more; see: httpdyno bench -h",
        ),
        (["bench", "good", "--repeat", "two"], "httpdyno: --repeat: 'two' is not a whole number of 1 or more; see:"),
        (["capacity", "good", "--rps", "many"], "httpdyno: --rps: 'many' is not a number from 0.01 to 1000000; see:"),
        (["capacity", "good", "--rps", "inf"], "httpdyno: --rps: 'inf' is not a number from 0.01 to 1000000; see:"),
        (
            ["cost", "good", "--documents", "99999999999999"],
            "httpdyno: --documents: '99999999999999' is not a whole number from 1 to 10000000; see: httpdyno cost -h",
        ),
        (
            ["capacity", "go-net-http", "--loss", "100%"],
            "httpdyno: --loss: '100%' is not a loss; write 0.1%, below 100 %",
        ),
        (
            ["capacity", "go-net-http", "--loss", "1%,rtt=4ms"],
            "httpdyno: --loss: '1%,rtt=4ms' is not a loss; write 0.1%",
        ),
        (["capacity", "go-net-http", "--rtt", "100h"], "httpdyno: --rtt: '100h' is longer than on any link; write 2h"),
        (["bench", "good", "--saturate", "--limit", "3"], "httpdyno: --limit: 3 URLs are too few for 1 in flight"),
        (
            ["bench", "good", "--saturate", "--concurrency", "50"],
            "httpdyno: --saturate conflicts with --concurrency: both set the concurrency; leave one out",
        ),
        (["bench", "good", "--saturate", "--preset", "published"], "--saturate conflicts with --preset"),
        (
            ["bench", "good", "--saturate", "--web", "live", "--urls", "https://a.example/list"],
            "--saturate conflicts with --web live",
        ),
        (
            ["bench", "good", "--rank-by", "speed"],
            "httpdyno: --rank-by: there is no metric 'speed'; choose from: time, ",
        ),
        (["bench", "good", "--rank-by", "connections"], "--rank-by: connections has no direction"),
        (["bench", "good", "--quick=yes"], "httpdyno: --quick: takes no value; see: httpdyno bench -h"),
        (["bench", "--limit"], "httpdyno: --limit: its value is missing; see: httpdyno bench -h"),
        (["bench", "good", "--seed", str(2**64)], "is not a whole number from 0 to 18446744073709551615"),
        (
            ["bench", "good", "--no-such-option"],
            "httpdyno: --no-such-option: unknown option; see: httpdyno bench -h",
        ),
        (
            ["bench", "good", "--limt", "1"],
            "--limt: unknown option; did you mean --limit? See: httpdyno bench -h",
        ),
        (["try"], "httpdyno: SUBJECT is missing; see: httpdyno try -h"),
        (["try", "good", "fine"], "httpdyno: fine: unexpected argument; see: httpdyno try -h"),
        (["no-such-verb"], "httpdyno: 'no-such-verb': there is no such verb; see: httpdyno -h"),
        (["benhc"], "httpdyno: 'benhc': there is no such verb; did you mean 'bench'? See: httpdyno -h"),
        (["subjects", "lst"], "'lst': there is no such verb; did you mean 'list'? See: httpdyno subjects -h"),
        (
            ["urls", "nowhere"],
            "httpdyno: urls: 'nowhere' is not a file, and no web (top-sites, plain, contract, wrong-documents, wild)",
        ),
        (["urls", "absent.csv"], "httpdyno: urls: 'absent.csv' is not a file, and no web"),
        (["bench", "zzzzzz"], "httpdyno: 'zzzzzz': there is no such client; there are"),
        (["doctor", "--format", "csv"], "--format: 'csv' is unknown to doctor; choose from: plain, json"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(httpdyno: Command, given: list[str], arguments: list[str], said: str) -> None:
    more = given[1:] if arguments[0] in {"bench", "try", "tune"} and arguments[-1] != "--limit" else []
    ended = httpdyno(*arguments, *more)
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert said in line
    assert line.startswith("httpdyno: ")
    assert ended.out == ""
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("variable", "value", "arguments", "said"),
    [
        ("LIMIT", "some", ["bench", "good"], "LIMIT (environment): 'some' is not a whole number of 1 or more; see:"),
        ("CONCURRENCY", "abc", ["bench", "good"], "CONCURRENCY (environment): 'abc'"),
        ("FORMAT", "xml", ["runs"], "FORMAT (environment): 'xml' is unknown"),
        ("REQUEST_TIMEOUT", "soon", ["bench", "good"], "REQUEST_TIMEOUT (environment): 'soon' is not understood"),
        (
            "LIMIT",
            "100",
            ["bench", "good", "--preset", "published", "--scale", "1/10"],
            "LIMIT (environment) conflicts with --scale: both set the number of URLs; leave one out",
        ),
        (
            "SATURATE",
            "1",
            ["bench", "good", "--concurrency", "5"],
            "SATURATE (environment) conflicts with --concurrency",
        ),
        ("DURATION", "0", ["bench", "good"], "DURATION (environment): 0 is not a duration; write it like 10m"),
        ("USER_AGENT", "two\nlines", ["bench", "good"], "USER_AGENT (environment): 'two\\nlines': no header can"),
    ],
)
def test_an_error_names_the_variable_instead_of_its_option(
    httpdyno: Command,
    given: list[str],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.setenv(variable, value)
    ended = httpdyno(*arguments, *(given[1:] if arguments[0] == "bench" else []))
    assert (ended.code, ended.err.startswith(f"httpdyno: {said}")) == (2, True), ended.err


def test_an_engine_that_is_missing_is_one_line_and_exit_3(
    httpdyno: Command, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPDYNO_ENGINE", "/no/engine")
    for arguments in (["bench", *given], ["try", *given], ["room", "--", "true"], ["origin"]):
        ended = httpdyno(*arguments)
        assert (ended.code, ended.out) == (3, "")
        assert ended.err == (
            "httpdyno: HTTPDYNO_ENGINE=/no/engine is not an executable program; "
            "unset the variable to use the usual engine\n"
        )


def test_an_engine_that_refuses_is_one_line_and_exit_3(
    httpdyno: Command, given: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "refuse")
    ended = httpdyno("bench", *given, "--limit", "4")
    assert ended.code == 3
    assert ended.err.splitlines()[-1] == "httpdyno: the engine failed: no user namespaces here; run as root"
    (folder,) = (tmp_path / "runs").iterdir()
    assert open_run(folder).manifest.state == "partial"


def test_a_folder_that_cannot_be_written_is_one_line_and_exit_3(
    httpdyno: Command, given: list[str], tmp_path: Path
) -> None:
    (tmp_path / "runs").write_text("a file", encoding="utf-8")
    ended = httpdyno("bench", *given, "--limit", "4")
    assert ended.code == 3
    assert "results cannot be written" in ended.err
    assert len(ended.err.splitlines()) == 1
