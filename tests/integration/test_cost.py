"""The cost of verified documents: real clients and a real tool in real rooms, checked by sums that must match."""

import shutil
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from doubles.in_process import in_process
from httpdyno.experiments.cost.judge import CostSummary, RequestClock
from httpdyno.lab.conformance import write_proof
from httpdyno.lab.engine import Engine
from httpdyno.store import open_run
from httpdyno.subjects.build import build_place
from httpdyno.subjects.cache import program_path
from httpdyno.subjects.catalogue import read_subject

DOCUMENTS = 400
"""Of the web's first ones; some of them are wrong."""


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process."""
    return in_process(environment, tmp_path, monkeypatch, capfd)


def test_every_wrong_document_is_caught_and_every_other_one_paid_for(here: Command, tmp_path: Path) -> None:
    ended = here(
        *("cost", "native", "--web", "wrong-documents", "--documents", str(DOCUMENTS), "--repeat", "1"),
        *("--format", "json"),
    )
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert row["wrong"] == 0
    assert 0 < row["caught"] < 10
    assert row["verified"] + row["caught"] == DOCUMENTS
    assert row["json_parser"] == "serde_json"
    assert row["connections"] == 1
    assert row["user"] + row["system"] == pytest.approx(row["total"], abs=0.002)
    (folder,) = (tmp_path / "runs").iterdir()
    (trial,) = open_run(folder).records()
    assert trial.get(CostSummary) is not None
    assert trial[CostSummary].cpu_ns is not None
    assert trial[CostSummary].cpu_ns / 1e6 / row["verified"] == pytest.approx(row["cpu_per_document_ms"], abs=1e-5)
    assert 0 <= (trial[CostSummary].start_cpu_ns or 0) < trial[CostSummary].cpu_ns
    assert trial.receive_steering
    assert trial[CostSummary].receive_steering or trial[CostSummary].receive_steering_reason


@pytest.mark.skipif(shutil.which("ab") is None, reason="ab is not installed")
def test_connections_follow_the_option_and_a_tool_is_measured_too(here: Command) -> None:
    ended = here(
        *("cost", "native", "ab", "--keepalive", "both", "--documents", "60", "--repeat", "1", "--format", "json"),
    )
    assert ended.code == 0, ended.err
    rows = {(row["subject"], row["keepalive"]): row for row in ended.rows}
    assert {who: row["connections"] for who, row in rows.items()} == {
        ("native", True): 1,
        ("ab", True): 1,
        ("native", False): 60,
        ("ab", False): 60,
    }
    for (subject, _), row in rows.items():
        assert (row["verified"] == 60) is (subject == "native"), row
        assert (row["verdict"] == "UNVERIFIED") is (subject == "ab"), row


def test_compressed_documents_are_fewer_bytes_on_the_wire_and_the_same_content(here: Command) -> None:
    ended = here(
        *("cost", "native", "--gzip", "both", "--documents", "200", "--repeat", "1", "--format", "json"),
    )
    assert ended.code == 0, ended.err
    plain, zipped = sorted(ended.rows, key=lambda row: bool(row["gzip"]))
    assert plain["verified"] == zipped["verified"] == 200
    assert zipped["wire_bytes"] < plain["wire_bytes"] / 2
    assert zipped["mbPerSec"] / zipped["reqPerSec"] == pytest.approx(0.016384, rel=0.05)
    assert plain["mbPerSec"] / plain["reqPerSec"] == pytest.approx(0.016384, rel=0.05)


@pytest.mark.skipif(shutil.which("apache2", path=program_path()) is None, reason="apache2 is not installed")
def test_apache_can_have_the_documents(here: Command, tmp_path: Path) -> None:
    ended = here(
        *("cost", "native", "--peer", "apache", "--documents", "200", "--repeat", "1", "--format", "json"),
    )
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert row["peer"] == "apache"
    assert (row["verified"], row["wrong"]) == (200, 0)
    assert row["cpu_per_document_ms"] > 0
    (folder,) = (tmp_path / "runs").iterdir()
    (trial,) = open_run(folder).records()
    assert trial.get(CostSummary) is not None
    # Requests to Apache are not stamped.
    assert trial[CostSummary].requests_timed_by is RequestClock.CLIENT
    assert (trial.counters.peer_cpu_user_ns or 0) + (trial.counters.peer_cpu_system_ns or 0) > 0


def test_a_client_that_cannot_take_part_is_refused_in_one_line(here: Command) -> None:
    for arguments, message in (
        (("wrk",), "wrk: cannot send a number of requests one after another"),
        (("node-puppeteer", "--keepalive", "off"), "node-puppeteer does not support --keepalive off"),
        (("native", "--scale", "1/10"), "--scale requires --preset"),
        (("native", "--gzip", "perhaps"), "--gzip: 'perhaps' is not supported"),
        (("nginx",), "nginx: is a server"),
    ):
        ended = here("cost", *arguments)
        assert ended.code == 2, ended.err
        assert message in ended.err
        assert len(ended.err.strip().splitlines()) == 1


# Parses the content, and never checks the value, like the published test.
PARSES_ONLY = """
import datetime, http.client, json, sys, time, urllib.parse
connection = http.client.HTTPConnection("cost.example")
for line in sys.stdin:
    url = line.strip()
    parts = urllib.parse.urlsplit(url)
    # The duration counts from before the start: whatever takes the CPU in between, the request lies within the two.
    began, started = time.perf_counter(), datetime.datetime.now(datetime.timezone.utc)
    connection.request("GET", parts.path + "?" + parts.query)
    answer = connection.getresponse()
    content = answer.read()
    try:
        code = json.loads(content) and answer.status
    except ValueError:
        code = "CheckFailed"
    took_ms = (time.perf_counter() - began) * 1000
    print(f"{url},{code},{started.isoformat()},{took_ms:.3f},{len(content)}", flush=True)
"""


def test_a_check_that_cannot_fail_is_found_out(
    here: Command, make_subject: MakeSubject, subject_folders: Path, engine: Engine, tmp_path: Path
) -> None:
    folder = make_subject("parses-only", PARSES_ONLY, '[capabilities]\ncheck = ["json"]')
    assert here("subjects", "build", "parses-only", "--subjects", str(subject_folders)).code == 0
    # Its claims count as proved, which tests/contract does for real ones.
    place = build_place(read_subject(folder), tmp_path / "cache" / "httpdyno")
    write_proof(place, engine.identity().sha256, ())
    asked = ("--web", "wrong-documents", "--documents", str(DOCUMENTS), "--repeat", "1", "--format", "json")
    ended = here("cost", "parses-only", "--subjects", str(subject_folders), *asked)
    (row,) = ended.rows
    assert row["verdict"] == "INCORRECT", ended.err
    assert row["wrong"] > 0
