"""Conformance of clients by scripted cases, with the engine's own fetcher and a client that is wrong on purpose."""

import json
import re
import signal
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import TESTS, MakeSubject
from doubles.command_line import Command, Ended
from httpdyno.errors import UnreadableRun
from httpdyno.judge.scripted.case_file import read_cases
from httpdyno.judge.scripted.matrix import expected_of, script_of
from httpdyno.lab.conformance import results_of
from httpdyno.report.conformance import read_matrix
from httpdyno.store import holder_of, open_run

from .conftest import wait_until, wait_while_it_runs

pytestmark = pytest.mark.slow

CARELESS = (TESTS / "fixtures" / "careless_client.py").read_text(encoding="utf-8")
CLAIMS = '[capabilities]\nhttp = ["1.1"]\nkeepalive = [true]'
CASES = (
    "connections/truncated-content",
    "tls/self-signed",
    "tls/intermediate",
    "dns/alias-chain",
    "deadlines/silent-after-request",
    "http2/continuation",
)
Conform = Callable[..., Ended]
RESUMED = ("connections/truncated-content", "dns/alias-chain", "connections/closed-when-reused")
# Sleeps for ever when it reads this host for the first time, as if the machine had been switched off.
SLEEPS_ONCE = """
    if "closed-when-reused" in line and not os.path.exists({flag!r}):
        open({flag!r}, "w").close()
        time.sleep(1000)
"""
KNOWN = """
[[known_failure]]
case = "tls/self-signed"
reason = "it trusts everyone"
[[known_failure]]
case = "dns/alias-chain"
reason = "it was so once"
[[known_failure]]
case = "dns/alias-chains"
reason = "misspelt"
"""
PROFILE = """
[[profile]]
name = "silent"
argv = ["python3", "-S", "-c", "import sys; sys.exit(3)"]
"""


@pytest.fixture
def conform(httpdyno: Command, make_subject: MakeSubject, subject_folders: Path) -> Conform:
    """Try some cases with a client that is wrong on purpose; ``environment`` decides how."""

    def run(*more: str, environment: str = "", clients: tuple[str, ...] = ("careless",)) -> Ended:
        if not (subject_folders / "careless").exists():
            make_subject("careless", CARELESS, f"environment = {{ {environment} }}\n{CLAIMS}", concurrency=10)
        return httpdyno("conform", *clients, *more, "--subjects", str(subject_folders))

    return run


def outcomes(ended: Ended) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for row in ended.rows:
        found.setdefault(row["subject"], {})[row["case"]] = row["outcome"]
    return found


def test_a_right_client_passes_and_a_careless_one_does_not(conform: Conform) -> None:
    ended = conform(*CASES, "--tries", "1", "--format", "json", clients=("native", "careless"))
    assert ended.code == 0, ended.err
    found = outcomes(ended)
    assert set(found) == {"native", "native-tolerant", "careless"}
    assert set(found["native"]) == set(CASES)
    assert {case: outcome for case, outcome in found["native"].items() if outcome != "pass"} == {}
    assert found["careless"] == {
        "connections/truncated-content": "fail",
        "tls/self-signed": "unsafe",
        "tls/intermediate": "pass",
        "dns/alias-chain": "pass",
        "deadlines/silent-after-request": "pass",
        "http2/continuation": "unsupported",
    }


def test_the_matrix_is_a_page_and_data(conform: Conform, tmp_path: Path) -> None:
    data, page = tmp_path / "matrix.json", tmp_path / "matrix.html"
    for file in (data, page):
        ended = conform(*CASES, "--tries", "1", "--matrix", str(file))
        assert ended.code == 0, ended.err
        assert ended.err.endswith(f"matrix: {file}\n")
    matrix = read_matrix(json.loads(data.read_text(encoding="utf-8")))
    cell = next(cell for cell in matrix.cells if cell.case == "tls/self-signed")
    assert (cell.client, cell.outcome, cell.tries) == ("careless", "unsafe", ("unsafe",))
    assert cell.transcript
    case = next(case for case in matrix.cases if case.id == "tls/self-signed")
    assert "an error" in case.expected
    assert any("issuer" in line for line in case.script)
    assert "1 of 1 client was unsafe in at least one of 6 cases." in page.read_text(encoding="utf-8")


def test_expectation_and_script_of_every_case_are_described() -> None:
    for file in read_cases().values():
        assert expected_of(file), file.id
        assert all(len(line) < 2_500 for line in script_of(file)), file.id


def test_the_worst_comes_first_and_the_run_is_kept(conform: Conform, httpdyno: Command) -> None:
    ended = conform("connections/truncated-content", "tls/self-signed", "dns/alias-chain", "--tries", "2")
    assert ended.code == 0, ended.err
    first, *lines, last = ended.out.splitlines()
    assert first == "careless: connections 0/1 (1 fail), tls 0/1 (1 unsafe), dns 1/1"
    assert [line.split()[0] for line in lines] == ["unsafe", "fail"]
    assert "RFC 9112, section 8" in lines[1]
    assert "200 with 5 bytes" in lines[1]
    assert last == "show one: httpdyno conform careless tls/self-signed --show"
    kept = httpdyno("report", "latest", "--format", "json")
    assert {row["case"]: row["tries"] for row in kept.rows} == {
        "connections/truncated-content": "fail, fail",
        "tls/self-signed": "unsafe, unsafe",
        "dns/alias-chain": "pass, pass",
    }


@pytest.mark.parametrize(("variable", "outcome"), [("CRASHES_AT", "crash"), ("SILENT_AT", "hang")])
def test_a_case_that_ends_the_process_spares_the_others(conform: Conform, variable: str, outcome: str) -> None:
    cases = ("connections/truncated-content", "dns/alias-chain", "dns/no-such-name")
    ended = conform(*cases, "--tries", "1", "--format", "json", environment=f'{variable} = "alias-chain"')
    assert outcomes(ended)["careless"] == {
        "connections/truncated-content": "fail",
        "dns/alias-chain": outcome,
        "dns/no-such-name": "pass",
    }


def test_a_cell_that_got_worse_ends_with_1(conform: Conform, tmp_path: Path) -> None:
    file = tmp_path / "conform.json"
    cases = ("connections/truncated-content", "dns/alias-chain", "--tries", "1", "--expect", str(file))
    assert conform(*cases, "--update").code == 0
    expected = json.loads(file.read_text(encoding="utf-8"))
    assert expected == {"careless": {"connections/truncated-content": "fail", "dns/alias-chain": "pass"}}
    assert conform(*cases).code == 0
    expected["careless"]["connections/truncated-content"] = "pass"
    file.write_text(json.dumps(expected), encoding="utf-8")
    ended = conform(*cases)
    assert ended.code == 1
    assert "worse: careless: connections/truncated-content: fail, expected pass" in ended.err


def test_a_case_is_shown_with_its_transcript(conform: Conform) -> None:
    ended = conform("connections/truncated-content", "--show")
    assert ended.code == 0, ended.err
    assert re.search(
        r"ms  truncated-content\.connections\.test: connection 1: got \d+ bytes: GET / HTTP/1\.1", ended.out
    )
    assert "http://truncated-content.connections.test/: 200 with 5 bytes" in ended.out
    assert "fail: " in ended.out
    assert "no outcome holds; the first: code 200, not error" in ended.out


def test_a_client_that_fails_everything_may_have_a_broken_adapter(conform: Conform) -> None:
    ended = conform("connections/truncated-content", "tls/self-signed", "--tries", "1")
    assert "careless passes no case: its adapter may be broken" in ended.out


def test_cases_are_listed_with_clause_and_level(conform: Conform) -> None:
    rows = conform("--list", "--group", "tls", "--level", "must", "--format", "json", clients=()).rows
    assert {row["level"] for row in rows} == {"must"}
    assert all(row["clause"] for row in rows)
    assert "tls/self-signed" in [row["case"] for row in rows]


@pytest.fixture
def sleeper(make_subject: MakeSubject, subject_folders: Path, tmp_path: Path) -> list[str]:
    """Some cases with a client that sleeps in the last of its processes, once."""
    sleeps = SLEEPS_ONCE.format(flag=str(tmp_path / "flag"))
    program = CARELESS.replace("def work(line: str) -> None:", f"def work(line: str) -> None:{sleeps}")
    make_subject("careless", program, CLAIMS, concurrency=10)
    return ["conform", "careless", *RESUMED, "--tries", "2", "--subjects", str(subject_folders)]


def kept_cases(runs: Path) -> set[str]:
    """Return the cases of the only run that are on disk."""
    try:
        (folder,) = runs.iterdir()
        return {result.case for result in results_of(open_run(folder).records())}
    except (OSError, ValueError, UnreadableRun):
        return set()


def check_resumed(folder: Path) -> None:
    run = open_run(folder)
    assert run.manifest.state == "complete"
    trials = run.records()
    assert [trial.trial for trial in trials] == list(range(len(trials)))
    assert sorted(result.case for result in results_of(trials)) == sorted(RESUMED)
    assert {result.tries for result in results_of(trials)} == {("fail", "fail"), ("pass", "pass")}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_goes_on_with_the_cases_that_are_left(
    sleeper: list[str],
    start: Callable[..., "subprocess.Popen[str]"],
    wait_for_end: Callable[[object], Ended],
    httpdyno: Command,
    tmp_path: Path,
    number: signal.Signals,
    nothing_left: Callable[..., None],
) -> None:
    command = start(*sleeper)
    wait_while_it_runs(command, (tmp_path / "flag").exists)
    # The processes before it run side by side with it.
    wait_while_it_runs(command, lambda: kept_cases(tmp_path / "runs") == {*RESUMED[:2]})
    command.send_signal(number)
    ended = wait_for_end(command)
    (folder,) = (tmp_path / "runs").iterdir()
    if number is signal.SIGINT:
        assert ended.code == 130
        assert f"(partial); continue with: httpdyno conform --resume runs/{folder.name}" in ended.err
    before = open_run(folder).records()
    assert {result.case for result in results_of(before)} == {*RESUMED[:2]}
    refused = httpdyno("conform", "--resume", "latest", "--tries", "1")
    assert (refused.code, refused.err) == (
        2,
        "httpdyno: --resume: --tries cannot change when a run is resumed; leave it out\n",
    )
    matrix = tmp_path / "matrix.json"
    ended = httpdyno("conform", "--resume", "latest", "--matrix", str(matrix))
    assert ended.code == 0, ended.err
    assert ended.out.startswith("careless: connections 1/2 (1 fail), dns 1/1\n")
    check_resumed(folder)
    assert open_run(folder).records()[: len(before)] == before
    assert len(read_matrix(json.loads(matrix.read_text(encoding="utf-8"))).cells) == len(RESUMED)
    nothing_left(swept=number is signal.SIGKILL)


def test_a_run_in_the_background_ends_by_itself(sleeper: list[str], httpdyno: Command, tmp_path: Path) -> None:
    (tmp_path / "flag").touch()
    ended = httpdyno(*sleeper, "--detach")
    assert ended.code == 0, ended.err
    folder = tmp_path / ended.out.strip()
    wait_until(lambda: holder_of(folder) is None, (folder / "output.txt").read_text)
    check_resumed(folder)
    wait_until(lambda: "httpdyno: report: " in (folder / "output.txt").read_text(), (folder / "output.txt").read_text)
    assert "careless: connections 1/2 (1 fail), dns 1/1" in (folder / "output.txt").read_text(encoding="utf-8")


def test_a_run_of_cases_is_resumed_by_its_own_verb_and_while_its_cases_exist(
    sleeper: list[str], start: Callable[..., "subprocess.Popen[str]"], httpdyno: Command, tmp_path: Path
) -> None:
    command = start(*sleeper)
    wait_while_it_runs(command, (tmp_path / "flag").exists)
    command.kill()
    command.wait()
    (folder,) = (tmp_path / "runs").iterdir()
    other = httpdyno("bench", "--resume", "latest")
    assert other.err.endswith(f"continue with: httpdyno conform --resume runs/{folder.name}\n")
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"cases_sha256": "', '"cases_sha256": "0'))
    changed = httpdyno("conform", "--resume", "latest")
    assert (changed.code, changed.err) == (
        2,
        "httpdyno: the cases have changed since the run began; begin a new run\n",
    )


def test_a_stored_run_has_its_page_its_matrix_and_the_known_failures_that_are_missing(
    conform: Conform, httpdyno: Command, tmp_path: Path
) -> None:
    cases = ("connections/truncated-content", "tls/self-signed", "dns/alias-chain", "--tries", "1")
    assert conform(*cases).code == 0
    assert conform("dns/no-such-name", "--tries", "1", clients=("native",)).code == 0
    page, data = tmp_path / "matrix.html", tmp_path / "matrix.json"
    assert httpdyno("report", "previous", "--matrix", str(page)).err == f"httpdyno: matrix: {page}\n"
    assert "1 of 1 client was unsafe in at least one of 3 cases." in page.read_text(encoding="utf-8")
    assert httpdyno("report", "latest", "--html", "other.html").code == 0
    assert "Conformance of HTTP clients" in (tmp_path / "other.html").read_text(encoding="utf-8")
    assert httpdyno("report", "latest", "--with", "previous", "--matrix", str(data)).code == 0
    matrix = read_matrix(json.loads(data.read_text(encoding="utf-8")))
    assert {client.id for client in matrix.clients} == {"careless", "native", "native-tolerant"}
    assert len(matrix.cells) == 3 + 2
    proposed = httpdyno("report", "previous", "--known-failures")
    assert [table["case"] for table in tomllib.loads(proposed.out)["known_failure"]] == [
        "tls/self-signed",
        "connections/truncated-content",
    ]
    assert "careless/subject.toml" in proposed.out


def test_known_failures_are_shown_as_such_and_those_that_pass_are_named(
    make_subject: MakeSubject, subject_folders: Path, httpdyno: Command, tmp_path: Path
) -> None:
    folder = make_subject("careless", CARELESS, f"{CLAIMS}{KNOWN}", concurrency=10)
    cases = ("tls/self-signed", "dns/alias-chain", "connections/truncated-content", "--tries", "1")
    ended = httpdyno("conform", "careless", *cases, "--subjects", str(subject_folders), "--matrix", "matrix.json")
    assert ended.code == 0, ended.err
    first, fail, known, passing, _ = ended.out.splitlines()
    assert first == "careless: connections 0/1 (1 fail), tls 0/1 (1 known), dns 1/1"
    assert fail.startswith("fail        connections/truncated-content: ")
    assert known.startswith("unsafe      tls/self-signed: ")
    assert known.endswith("; known failure: it trusts everyone")
    assert passing == f"dns/alias-chain passes: remove its [[known_failure]] from {folder / 'subject.toml'}"
    assert "careless: known_failure.case: there is no case 'dns/alias-chains'; nearest: dns/alias-chain" in ended.err
    cells = read_matrix(json.loads((tmp_path / "matrix.json").read_text(encoding="utf-8"))).cells
    assert {cell.case: cell.known for cell in cells if cell.known} == {"tls/self-signed": "it trusts everyone"}
    assert "self-signed" not in httpdyno("report", "latest", "--known-failures").out


def test_each_profile_of_a_client_is_a_column(
    make_subject: MakeSubject, subject_folders: Path, httpdyno: Command
) -> None:
    make_subject("careless", CARELESS, f"{CLAIMS}{PROFILE}", concurrency=10)
    more = ("dns/alias-chain", "--tries", "1", "--subjects", str(subject_folders), "--format", "json")
    ended = httpdyno("conform", "careless", *more)
    assert outcomes(ended) == {
        "careless": {"dns/alias-chain": "pass"},
        "careless-silent": {"dns/alias-chain": "crash"},
    }
    assert outcomes(httpdyno("conform", "careless-silent", *more)) == {"careless-silent": {"dns/alias-chain": "crash"}}


def test_expectations_of_other_cases_are_named(conform: Conform, tmp_path: Path) -> None:
    file = tmp_path / "conform.json"
    cases = ("connections/truncated-content", "dns/alias-chain", "--tries", "1", "--expect", str(file))
    file.write_text(json.dumps({"careless": {"dns/alias-chain": "pass", "dns/gone": "pass"}}), encoding="utf-8")
    ended = conform(*cases)
    assert ended.code == 0
    new = "1 case of careless not in the file: connections/truncated-content; renew it with --update"
    assert f"httpdyno: --expect {file}: {new}\n" in ended.err
    assert f"httpdyno: --expect {file}: 1 case of careless not in this version: dns/gone" in ended.err
    file.write_text(json.dumps({"another": {"dns/alias-chain": "pass"}}), encoding="utf-8")
    ended = conform(*cases)
    assert ended.code == 2
    assert ended.err.endswith("the file has no outcome of careless for these cases; add them with --update\n")
    assert conform(*cases, "--update").code == 0
    assert set(json.loads(file.read_text(encoding="utf-8"))) == {"another", "careless"}
