"""`httpdyno load` with the real engine, against a real origin and against programs that are not servers."""

import gzip
import itertools
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from doubles.command_line import Command
from doubles.in_process import in_process
from httpdyno.experiments.load.judge import LOAD_RULES, LoadSummary
from httpdyno.lab.engine import Engine
from httpdyno.store import open_run

from .conftest import Mounted, NothingLeft, Start

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PATIENCE_S = 300
PATIENT = ("--timeout", "60s")
"""For loads that count on every answer, on a machine that has other work."""
BELIEVABLE = {"VALID", "GENERATOR_LIMITED", "DISTURBED", "UNSTEADY"}
"""Permitted validities of a load on a busy machine."""


@pytest.fixture(scope="module")
def origin(engine: Engine) -> Iterator[str]:
    """A web on a port of its own; return its address."""
    argv = [engine.path, "origin", "--web", "plain", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()


class Answered(ThreadingHTTPServer):
    """A server that notes the second request of a connection: its first answer has then arrived."""

    daemon_threads = True
    hangs_after = 1_000_000_000
    """Number of answers on each connection before it hangs."""
    busy_every = 1_000_000_000
    """Every so many answers one is 503."""
    dies_after = 1_000_000_000
    """Number of answers on all connections before it accepts no more and closes each."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.came = threading.Event()
        self.came_again = threading.Event()
        self.answers = itertools.count(1)


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Answered
    requests = 0

    def do_GET(self) -> None:
        self.server.came.set()
        self.requests += 1
        if self.requests > 1:
            self.server.came_again.set()
        if self.requests > self.server.hangs_after:
            self.rfile.read(1)
            return
        number = next(self.server.answers)
        self.send_response(503 if number % self.server.busy_every == 0 else 200)
        self.send_header("Content-Length", "5")
        if number >= self.server.dies_after:
            self.server.socket.shutdown(socket.SHUT_RDWR)
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def answered() -> Iterator[Answered]:
    with Answered() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process."""
    return in_process(environment, tmp_path, monkeypatch, capfd)


def report_of(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("load-*.json")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def only_run(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "runs").iterdir()
    return folder


def test_a_closed_loop_is_measured_and_kept(
    httpdyno: Command, origin: str, tmp_path: Path, nothing_left: NothingLeft
) -> None:
    ended = httpdyno(
        "load", *PATIENT, f"{origin}/plain", "-c", "4", "-n", "500", "--check", "length=13", "--format", "json"
    )
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    Draft202012Validator(json.loads((REFERENCE / "load.schema.json").read_text(encoding="utf-8"))).validate(ended.rows)
    assert (row["requests"], row["errors"], row["checks"], row["2xx"], row["loop"]) == (500, 0, 0, 500, "closed")
    assert row["rps"] > 0
    assert row["cpu_s"] > 0
    assert row["p50"] <= row["p99"] <= row["max"]
    assert row["verdict"] in BELIEVABLE
    folder = only_run(tmp_path)
    run = open_run(folder)
    assert (run.manifest.experiment, run.manifest.state) == ("load", "complete")
    assert [trial[LoadSummary].requests for trial in run.records() if trial.get(LoadSummary)] == [500]
    assert run.samples().collect().is_empty()
    schema = json.loads((REFERENCE / "load-report.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(report_of(folder))
    assert httpdyno("report", "latest").code == 0
    assert "Response time and service time by percentile" in (folder / "report.html").read_text(encoding="utf-8")
    nothing_left()


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_each_request_takes_a_row_of_the_data(here: Command, origin: str, tmp_path: Path, version: str) -> None:
    (tmp_path / "codes.csv").write_text('code,name\n200,"a, b"\n404,c\n503,d\n', encoding="utf-8")
    words = ("--data", "codes.csv", "--pick", "unique", "--http-version", version, "-H", "X-Name: {{name}} {{uuid}}")
    load = here("load", *PATIENT, origin + "/status/{{code}}?n={{name}}&r={{random 1 6}}", *words, "-c", "2")
    assert load.code == 0, load.err
    assert "the load ended with its data: 3 rows, each picked once" in load.out
    report = report_of(only_run(tmp_path))
    assert report["statuses"] == {"200": 1, "404": 1, "503": 1}
    assert report["data"] == {"rows": 3, "pick": "unique", "used_up": True}
    assert report["plan"]["seed"] == 1
    schema = json.loads((REFERENCE / "load-report.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(report)
    assert here("report", "latest").out == load.out


def test_a_warm_up_uses_rows_that_are_sent_once(here: Command, origin: str, tmp_path: Path) -> None:
    rows = ["name", *(f"row{number}" for number in range(60))]
    (tmp_path / "rows.csv").write_text("\n".join(rows), encoding="utf-8")
    words = ("load", *PATIENT, f"{origin}/plain?{{{{name}}}}", "--data", "rows.csv", "--pick", "unique", "-c", "2")
    load = here(*words, "--rate", "20", "--warm-up", "1s")
    assert load.code == 0, load.err
    report = report_of(only_run(tmp_path))
    # The warm-up of one second at 20 a second has 20 of the 60 rows; fewer if the machine was busy.
    assert report["data"]["used_up"]
    assert 40 <= report["sent"] <= 60 - report["warm_up"]["requests"]
    note = "the load ended with its data: 60 rows, each picked once, some of them in the warm-up"
    assert note in " ".join(load.out.split())
    assert here("report", "latest").out == load.out
    limited = here(*words, "--rate", "20", "--warm-up", "1s", "-n", "30", "--no-store", "--format", "json")
    assert [row["sent"] for row in limited.rows] == [30]
    (tmp_path / "rows.csv").write_text("name\nrow0\nrow1\n", encoding="utf-8")
    too_few = here(*words, "--warm-up", "2s", "--no-store")
    assert too_few.code == 3
    assert too_few.err.endswith("the warm-up picked each of the 2 rows of --data; add rows, or shorten --warm-up\n")


def test_requests_are_reported_and_limited_by_label(here: Command, origin: str, tmp_path: Path) -> None:
    lines = [
        {"url": f"{origin}/plain", "label": "home", "weight": 3},
        {"url": origin + "/status/{{random 404 404}}", "label": "check out"},
    ]
    (tmp_path / "mixed.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    words = ("load", *PATIENT, "--requests-file", "mixed.jsonl", "-c", "2", "-n", "40", "--repeat", "2")
    limits = ("--fail-if", "home.p99 > 1h", "--fail-if", "check out.errors > 50%")
    for name in ("table", "plain", "json", "csv", "markdown"):
        load = here(*words, *limits, "--format", name)
        assert load.code == 1, load.err
        assert load.err.splitlines()[-1].endswith("check out.errors is 100 %, 100 % above 50 %")
        assert here("report", "latest", "--format", name).out == load.out
    first, *_ = (tmp_path / "runs").iterdir()
    schema = json.loads((REFERENCE / "load-report.schema.json").read_text(encoding="utf-8"))
    report = json.loads((first / "load-000000.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(report)
    assert [(one["label"], one["statuses"]) for one in report["labels"]] == [
        ("home", {"200": 30}),
        ("check out", {"404": 10}),
    ]
    rows = here("load", *words[1:], "--no-store", "--format", "json").rows
    Draft202012Validator(json.loads((REFERENCE / "load.schema.json").read_text(encoding="utf-8"))).validate(rows)
    assert (rows[0]["home.requests"], rows[0]["check out.errors"]) == (30, 10)
    assert (rows[0]["check out.statuses"], rows[0]["check out.p99"]) == ("404: 10", None)
    queried = here(
        "query", "select label, sum(errors) as errors from labels group by label order by label", "--format", "csv"
    )
    assert queried.out == "label,errors\ncheck out,100\nhome,0\n"
    refused = here(*words, "--fail-if", "hom.p99 > 1ms")
    assert refused.err == "httpdyno: --fail-if 'hom.p99 > 1ms': there is no label 'hom'; did you mean 'home'?\n"


@pytest.mark.parametrize(
    "options",
    [
        ["-n", "300", "--repeat", "2"],
        ["--rate", "300", "-d", "1500ms"],
        ["--stages", "0..600/500ms,300/1s,0/100ms"],
        ["-n", "300", "--warm-up", "200ms"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("name", ["table", "plain", "json", "csv", "markdown"])
def test_a_load_prints_what_its_report_prints(here: Command, origin: str, name: str, options: list[str]) -> None:
    urls = [f"{origin}/plain", f"{origin}/status/404"]
    load = here("load", *PATIENT, *urls, "-c", "2", *options, "--check", "status=200", "--format", name)
    assert load.code == 0, load.err
    report = here("report", "latest", "--format", name)
    assert report.out == load.out


ODD_ANSWERS = {
    "an empty line before the status line": b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "a version in lower case": b"http/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "a version other than HTTP/1.x": b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "tabs or several spaces in the status line": b"HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nok",
    "LF line ends": b"HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok",
    "folded fields": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nok",
    "a space before a colon": b"HTTP/1.1 200 OK\r\nA : b\r\nContent-Length: 2\r\n\r\nok",
    "lines that are no fields": b"HTTP/1.1 200 OK\r\nno field\r\nContent-Length: 2\r\n\r\nok",
    "control characters in fields": b"HTTP/1.1 200 OK\r\nA: b\x01c\r\nContent-Length: 2\r\n\r\nok",
    "a list in Content-Length": b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok",
    "Transfer-Encoding and Content-Length": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
    ),
    "Transfer-Encoding: identity": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nok",
    "Transfer-Encoding: chunked twice": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
    ),
    "malformed chunk extensions": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;\r\nok\r\n0\r\n\r\n",
}
"""Answers that a tolerant reader accepts, by the words of the note."""


def test_odd_answers_have_the_same_note_in_a_load_and_its_report(here: Command) -> None:
    class OddAnswer(BaseRequestHandler):
        def handle(self) -> None:
            with suppress(ConnectionError):
                if self.request.recv(65536):
                    self.request.sendall(next(answers))

    answers = iter(ODD_ANSWERS.values())
    with ThreadingTCPServer(("127.0.0.1", 0), OddAnswer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        load = here("load", *PATIENT, url, "-c", "1", "-n", str(len(ODD_ANSWERS)), "--no-keepalive")
        server.shutdown()
        thread.join()
    assert load.code == 0, load.err
    out = " ".join(load.out.split())
    assert all(f"1 {words}" in out or f"1 answer had {words}" in out for words in ODD_ANSWERS), load.out
    assert here("report", "latest").out == load.out


def test_a_load_by_a_proxy_that_waits_for_content_has_the_notes_of_its_report(here: Command) -> None:
    class Proxy(BaseRequestHandler):
        def handle(self) -> None:
            with suppress(ConnectionError):
                head = self.request.recv(65536)
                assert head.startswith(b"POST http://server.test/ HTTP/1.1\r\n")
                self.request.recv(65536)
                status = b"407 Proxy Authentication Required" if next(numbers) % 2 else b"200 OK"
                self.request.sendall(b"HTTP/1.1 %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok" % status)

    numbers = itertools.count()
    with ThreadingTCPServer(("127.0.0.1", 0), Proxy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        proxy = f"http://127.0.0.1:{server.server_address[1]}"
        upload = ("--method", "POST", "--body", "hello", "--expect-continue")
        load = here("load", *PATIENT, "http://server.test/", "--proxy", proxy, *upload, "-c", "1", "-n", "2")
        server.shutdown()
        thread.join()
    assert load.code == 0, load.err
    out = " ".join(load.out.split())
    assert "VALID: 50 % of the requests failed: 1 x status 407" in out
    assert "Expect: 100-continue: 2 of 2 requests waited a second without an answer" in out
    assert f"proxy: {proxy} (from --proxy); figures are those of proxy and server together; status 407: it wants" in out
    assert here("report", "latest").out == load.out


@pytest.mark.parametrize("options", [["-n", "300"], ["-d", "1500ms"], ["--rate", "300", "-d", "1500ms"]], ids=" ".join)
def test_the_engine_judges_by_the_rules_of_the_page(
    here: Command, origin: str, tmp_path: Path, options: list[str]
) -> None:
    ended = here("load", *PATIENT, f"{origin}/plain", "-c", "2", *options, "--check", "length=13")
    assert ended.code == 0, ended.err
    folder = only_run(tmp_path)
    judged = report_of(folder)["validity"]
    assert [(one["rule"], one["verdict"], one["threshold"]) for one in judged["rules"]] == [
        (rule.name, rule.verdict, rule.threshold) for rule in LOAD_RULES
    ]
    (trial,) = open_run(folder).records()
    assert (trial.validity, trial.validity_reason) == (judged["verdict"], judged["reason"])


def test_report_reads_a_run_in_a_read_only_folder(
    here: Command, origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert here("load", *PATIENT, f"{origin}/plain", "-n", "50", "--samples", "s.csv").code == 0
    folder = only_run(tmp_path)

    def refused(path: Path, _: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr("httpdyno.store.reader.write_whole", refused)
        run = open_run(folder)
        assert (len(run.records()), len(run.samples().collect())) == (1, 50)
    assert not (folder / "trials.parquet").exists()
    again = open_run(folder)
    assert (folder / "trials.parquet").exists()
    assert again.trials.equals(run.trials)
    assert again.samples().collect().equals(run.samples().collect())


def test_a_damaged_report_gives_a_one_line_message(here: Command, origin: str, tmp_path: Path) -> None:
    assert here("load", *PATIENT, f"{origin}/plain", "-n", "50").code == 0
    (only_run(tmp_path) / "load-000000.json").write_text("{", encoding="utf-8")
    ended = here("report", "latest")
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
    assert "load-000000.json is damaged" in ended.err


def test_an_open_loop_reports_its_schedule_and_lag(here: Command, origin: str) -> None:
    ended = here("load", *PATIENT, f"{origin}/plain", "--rate", "200", "-d", "1s", "--format", "json", "--no-store")
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert row["requests"] + row["errors"] + row["censored"] + row["unsent"] == 200
    assert row["send_lag_p99"] is not None
    assert row["p50"] >= row["service_p50"]


def test_the_table_format_prints_all_tables_one_below_the_other(here: Command, origin: str, tmp_path: Path) -> None:
    ended = here("load", *PATIENT, f"{origin}/plain", f"{origin}/status/404", "-n", "100", "-c", "2", "--no-store")
    assert ended.code == 0, ended.err
    for words in ("closed loop", "response time", "service time", "first byte", "status 404", "verdict"):
        assert words in ended.out
    assert not (tmp_path / "runs").exists()


def test_http2_with_several_streams(here: Command, origin: str) -> None:
    words = (
        "load",
        *PATIENT,
        f"{origin}/plain",
        "--http2",
        "--streams",
        "5",
        "-c",
        "2",
        "-n",
        "300",
        "--format",
        "json",
    )
    ended = here(*words, "--no-store")
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert (row["requests"], row["http_version"], row["concurrency"]) == (300, "2", 10)


def test_a_list_from_standard_input_serves_every_trial(here: Command, origin: str) -> None:
    words = ("load", *PATIENT, "--urls", "-", "-n", "40", "-c", "2", "--repeat", "2", "--format", "json", "--no-store")
    ended = here(*words, stdin=f"{origin}/plain\n{origin}/bytes/100\n")
    assert ended.code == 0, ended.err
    assert [row["content_bytes"] for row in ended.rows] == [20 * 13 + 20 * 100] * 2


def test_samples_are_streamed_and_kept(here: Command, origin: str, tmp_path: Path) -> None:
    ended = here("load", *PATIENT, f"{origin}/plain", "-n", "50", "-c", "2", "--samples", "s.csv", "--hdr-log", "h.log")
    assert ended.code == 0, ended.err
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 51
    assert (tmp_path / "h.log").stat().st_size > 0
    samples = open_run(only_run(tmp_path)).samples().collect()
    assert samples["status"].to_list() == [200] * 50
    assert samples.select(pl.col("duration_ns").min()).item() > 0
    sql = "select count(*) as n, min(status) as status from samples"
    assert here("query", sql, "--format", "json").rows == [{"n": 50, "status": 200}]


@pytest.mark.parametrize(("option", "begins"), [("--samples", "intended_ns,"), ("--hdr-log", "#[Histogram log format")])
def test_samples_and_hdr_log_may_be_written_to_a_pipe(
    option: str, begins: str, environment: dict[str, str], here: Command, origin: str, tmp_path: Path
) -> None:
    load = f"httpdyno load {' '.join(PATIENT)} {origin}/plain -n 50 -c 2"
    for script in (f"{load} {option} >(cat > piped) > table; wait $!", f"{load} {option} /dev/stdout > piped"):
        ran = subprocess.run(
            ["bash", "-c", script],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ran.returncode == 0, ran.stderr
        assert (tmp_path / "piped").read_text().startswith(begins)
    # A file is replaced.
    (tmp_path / "file").write_text("earlier\n" * 10_000)
    assert here("load", *PATIENT, f"{origin}/plain", "-n", "50", "-c", "2", option, "file").code == 0
    assert "earlier" not in (tmp_path / "file").read_text()
    refused = here("load", *PATIENT, f"{origin}/plain", "-n", "50", "--repeat", "2", option, "/dev/stderr")
    assert refused.code == 2, refused.err
    assert "with --repeat each trial writes a file of its own" in refused.err


@pytest.mark.parametrize(
    "verb", [("load", "-n", "50"), ("runs",), ("subjects",), ("urls", "plain"), ("link", "4g"), ("-h",)]
)
def test_a_full_disk_behind_standard_output_gives_a_one_line_message(
    verb: tuple[str, ...], environment: dict[str, str], origin: str, tmp_path: Path
) -> None:
    words = ["httpdyno", *verb, *([f"{origin}/plain", *PATIENT] if verb[0] == "load" else [])]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            words,
            env=environment,
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=300,
        )
    assert ran.returncode == 4, ran.stderr
    assert "No space left on device" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_load_is_kept_as_a_run_for_report_compare_and_query(here: Command, origin: str, tmp_path: Path) -> None:
    load = ("load", *PATIENT, f"{origin}/plain", "-n", "200", "-c", "2", "--repeat", "3")
    assert here(*load).code == 0
    # Runs are distinguished by the second in which they began.
    (begun,) = (tmp_path / "runs").iterdir()
    at, _, verb = begun.name.partition("-")
    earlier = datetime.strptime(at, "%Y%m%dT%H%M%SZ") - timedelta(minutes=1)
    begun.rename(begun.with_name(f"{earlier:%Y%m%dT%H%M%SZ}-{verb}"))
    assert here(*load).code == 0
    listed = here("runs", "--format", "json").rows
    assert [(row["experiment"], row["state"], row["trials"]) for row in listed] == [("load", "complete", 3)] * 2
    compared = here("compare", "previous", "latest", "--format", "json")
    assert compared.code == 0, compared.err
    assert [row["metric"] for row in compared.rows] == ["rps", "p50", "p99"]
    (answered,) = here("query", "select sum(load_requests) as n from trials", "--format", "json").rows
    assert answered == {"n": 1200}
    assert len(here("report", "latest", "--format", "json").rows) == 3
    assert "Medians of 3 trials" in here("report", "latest").out
    resumed = here("bench", "--resume", "latest")
    assert (resumed.code, "cannot be continued" in resumed.err) == (2, True), resumed.err


def test_loads_with_other_options_are_not_compared(here: Command, origin: str, tmp_path: Path) -> None:
    load = ("load", *PATIENT, f"{origin}/plain", "-n", "50", "-c", "1")
    assert here(*load, "--out", "one").code == 0
    other = here(*load, "--no-delay", "off", "--out", "two")
    assert "options: --no-delay off" in other.out
    first, second = (str(next((tmp_path / runs).iterdir())) for runs in ("one", "two"))
    refused = here("compare", first, second)
    assert (refused.code, "no delay: unset in A, off in B" in refused.err) == (2, True), refused.err
    assert here("compare", first, second, "--anyway").code == 0
    assert "options: --no-delay off" in here("report", second).out


def test_a_run_keeps_no_credentials(here: Command, origin: str, tmp_path: Path) -> None:
    ended = here(
        *("load", *PATIENT, f"{origin}/plain?access_token=planted", "-n", "10", "-c", "1", "-X", "POST"),
        *("-H", "Authorization: Bearer planted", "--header=X-Api-Key: planted", "-HCookie: session=planted"),
        *("--body", '{"password": "planted"}', "--samples", "samples.csv"),
        *("--check", "header=Set-Cookie: planted"),
    )
    assert ended.code == 0, ended.err
    assert here("report", "latest", "--html", "page.html").code == 0
    kept = [tmp_path / "page.html", *(path for path in only_run(tmp_path).rglob("*") if path.is_file())]
    assert {"manifest.json", "page.html", "samples.parquet", "samples-000000.csv.gz"} <= {path.name for path in kept}
    contents = [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in kept]
    assert [path for path, content in zip(kept, contents, strict=True) if b"planted" in content] == []
    assert open_run(only_run(tmp_path)).samples().collect()["url"].unique().to_list() == [
        f"{origin}/plain?access_token=***"
    ]
    assert "planted" not in ended.out + ended.err


@pytest.mark.parametrize("option", ["--out", "--samples", "--hdr-log"])
def test_a_full_disk_ends_a_load(here: Command, origin: str, mounted: Mounted, option: str) -> None:
    small = mounted("size=16k")
    filled = small / "filled"
    if option == "--hdr-log":
        filled.write_bytes(bytes(16 << 10))
    ended = here("load", *PATIENT, f"{origin}/plain", "-n", "20000", "-c", "2", option, str(small / "results"))
    assert ended.code == 4, ended.err
    assert "No space left on device" in ended.err
    assert str(small) in ended.err
    assert "Traceback" not in ended.err


def test_a_full_disk_leaves_no_page(here: Command, origin: str, mounted: Mounted) -> None:
    small = mounted("size=16k")
    (small / "filled").write_bytes(bytes(16 << 10))
    assert here("load", *PATIENT, f"{origin}/plain", "-n", "10", "-c", "1").code == 0
    ended = here("report", "latest", "--html", str(small / "page.html"))
    assert (ended.code, ended.err.count("\n")) == (4, 1), ended.err
    assert "No space left on device" in ended.err


@pytest.mark.parametrize(
    ("limit", "code", "words"),
    [
        ("p99 > 1ns", 1, "FAILED --fail-if 'p99 > 1ns': p99 is "),
        ("rps < 1000000000", 1, "FAILED --fail-if 'rps < 1000000000': rps is "),
        ("not_2xx > 0", 1, "not_2xx is 100, above 0"),
        ("errors > 0.1%", 0, ""),
        ("p99 > 1h", 0, ""),
        ("tls_p99 > 1ms", 3, "not measured; remove it"),
        ("p99 > 50", 2, "needs its unit"),
        ("send_lag_p99 > 1ms", 2, "add --rate"),
        ("pp > 1ms", 2, "there is no 'pp'"),
    ],
)
def test_a_limit_decides_the_exit_code(here: Command, origin: str, limit: str, code: int, words: str) -> None:
    load = ("load", *PATIENT, f"{origin}/status/503", "--check", "status=503", "-n", "100", "-c", "2", "--no-store")
    ended = here(*load, "--fail-if", limit)
    assert (ended.code, words in ended.err) == (code, True), ended.err


def test_a_limit_counts_requests_without_an_answer_of_a_hanging_server(here: Command, answered: Answered) -> None:
    answered.hangs_after = 10
    url = f"http://127.0.0.1:{answered.server_port}/"
    ended = here("load", *PATIENT, url, "--rate", "100", "-c", "2", "-d", "2s", "--no-store", "--format", "json")
    (row,) = json.loads(ended.out)
    # 20 answers, however quick, to 200 requests: the others were due, and no connection was free.
    assert row["p50"] > 500
    assert row["unsent"] > 100


def test_ctrl_c_prints_the_figures_so_far(
    start: Start, answered: Answered, tmp_path: Path, nothing_left: NothingLeft
) -> None:
    process = start("load", f"http://127.0.0.1:{answered.server_port}/", "-c", "2", "-d", "10m", "--format", "json")
    assert answered.came_again.wait(PATIENCE_S)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    (row,) = json.loads(out)
    assert row["requests"] > 0
    assert row["verdict"] == "interrupted"
    assert open_run(only_run(tmp_path)).manifest.state == "partial"
    nothing_left()


def test_ctrl_c_before_the_first_answer_exits_with_130(start: Start, answered: Answered) -> None:
    answered.hangs_after = 0
    process = start("load", f"http://127.0.0.1:{answered.server_port}/", *PATIENT, "-d", "10m", "--repeat", "3")
    assert answered.came.wait(PATIENCE_S)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "trial 0: " in err
    assert "no answer came" in err


def test_trials_before_the_death_of_a_server_are_kept(here: Command, answered: Answered, tmp_path: Path) -> None:
    answered.dies_after = 10
    url = f"http://127.0.0.1:{answered.server_port}/"
    ended = here("load", *PATIENT, url, "-c", "1", "-n", "5", "--repeat", "6", "--format", "json")
    assert ended.code == 3, ended.err
    assert [row["requests"] for row in json.loads(ended.out)] == [5, 5, 0]
    assert json.loads(ended.out)[-1]["verdict"] == "died"
    assert f"trial 2: {url}: no answer came: " in ended.err
    run = open_run(only_run(tmp_path))
    assert run.manifest.state == "partial"
    assert [trial.outcome for trial in run.records()] == ["ok", "ok", "died"]
    shown = here("report", "--format", "json")
    assert [row["requests"] for row in json.loads(shown.out)] == [5, 5, 0]


def test_times_of_bad_answers_count_only_in_those_of_all_answers(
    here: Command, answered: Answered, tmp_path: Path
) -> None:
    answered.busy_every = 4
    url = f"http://127.0.0.1:{answered.server_port}/"
    limits = ("--fail-if", "errors > 20%", "--fail-if", "p50 > 100s", "--fail-if", "rps < 0.001")
    ended = here("load", *PATIENT, url, "-c", "1", "-n", "20", *limits)
    assert ended.code == 1, ended.err
    assert "errors is 25 %" in ended.err
    assert "25 % of the requests failed: 5 x status 503" in ended.out
    report = report_of(only_run(tmp_path))
    assert (report["requests"], report["failed_answers"]) == (20, 5)
    assert report["response_time"]["count"] == report["service_time"]["count"] == 15
    assert report["response_time_all"]["count"] == 20
    (row,) = json.loads(here("report", "--format", "json").out)
    assert (row["errors"], row["error_share"]) == (5, 0.25)
    assert here("report").out.count("of all answers") == 1


def test_a_limit_on_times_fails_without_a_good_answer(here: Command, answered: Answered) -> None:
    answered.busy_every = 1
    url = f"http://127.0.0.1:{answered.server_port}/"
    load = ("load", *PATIENT, url, "-c", "1", "-n", "5", "--no-store", "--fail-if", "p50 > 100s")
    ended = here(*load)
    assert (ended.code, "no answer was good" in ended.err) == (3, True)
    # A check decides instead of the status.
    assert here(*load, "--check", "status=503").code == 0


def test_sigkill_of_the_command_leaves_no_engine(start: Start, answered: Answered, nothing_left: NothingLeft) -> None:
    process = start("load", f"http://127.0.0.1:{answered.server_port}/", "-c", "2", "-d", "10m", "--no-store")
    assert answered.came.wait(PATIENCE_S)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    nothing_left()


def closed_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


def test_a_closed_port_gives_a_one_line_message_and_exit_code_3(here: Command, tmp_path: Path) -> None:
    ended = here("load", f"http://127.0.0.1:{closed_port()}/", "-n", "5")
    assert ended.code == 3
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert "no answer came" in line
    assert "ConnectionRefused" in line
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_load_of_a_silent_server_ends_in_time(here: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ended = here("load", f"http://127.0.0.1:{port}/", "-d", "1s", "-c", "3", "--timeout", "500ms")
    assert ended.code == 3, ended.out
    assert "no answer came" in ended.err


def test_malformed_answers_are_counted_by_the_name_of_the_error(here: Command) -> None:
    def answer(server: socket.socket) -> None:
        for number in range(1000):
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(4096)
                good = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
                connection.sendall(good if number % 2 else b"\x00\xff garbage\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, args=(server,))
        thread.start()
        port = server.getsockname()[1]
        ended = here("load", f"http://127.0.0.1:{port}/", "-n", "20", "-c", "1", "--format", "json", "--no-store")
        server.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=PATIENCE_S)
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert row["requests"] > 0
    assert row["errors"] > 0
    assert "MalformedHead" in row["failures"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["not a url"],
        ["ftp://a.example/"],
        ["http://"],
        ["http://a.example/", "--rate", "0"],
        ["http://a.example/", "--rate", "-5"],
        ["http://a.example/", "--rate", "5..x"],
        ["http://a.example/", "--rate", "nan"],
        ["http://a.example/", "-c", "0"],
        ["http://a.example/", "-c", "many"],
        ["http://a.example/", "-d", "soon"],
        ["http://a.example/", "-d", "-1s"],
        ["http://a.example/", "-n", "0"],
        ["http://a.example/", "--repeat", "0"],
        ["http://a.example/", "-H", "no colon"],
        ["http://a.example/", "-H", "A: b\r\nC: d"],
        ["http://a.example/", "-X", "GET /evil"],
        ["http://a.example/", "--check", "status=ok"],
        ["http://a.example/", "--arrivals", "never"],
        ["http://a.example/", "--arrivals", "poisson"],
        ["http://a.example/", "--rate", "5", "--seed", "1"],
        ["http://a.example/", "--rate", "5.."],
        ["http://a.example/", "--streams", "2"],
        ["http://a.example/", "--http2", "--streams", "1000000000"],
        ["http://a.example/", "--http2", "--no-keepalive"],
        ["http://a.example/", "-c", "1000000000"],
        ["http://a.example/", "-d", "0"],
        ["http://a.example/", "--samples", "missing/samples.csv"],
        ["http://a.example/", "--hdr-log", "missing/times.hdr"],
        ["http://a.example/", "--format", "xml"],
        ["http://a.example/", "--cpus", "9999"],
        ["http://a.example/", "--body-file", "missing"],
        ["https://a.example/", "--cacert", "missing"],
        ["http://a.example/", "--resolve", "nonsense"],
        ["http://a.example/", "--connect-to", "nonsense"],
        ["--urls", "missing"],
        ["--requests-file", "missing"],
        ["http://a.example/", "--unknown"],
    ],
    ids=" ".join,
)
def test_impossible_options_are_refused_before_the_first_request(
    here: Command, arguments: list[str], tmp_path: Path
) -> None:
    ended = here("load", *arguments)
    assert (ended.code, ended.out) == (2, ""), ended.err
    assert ended.err.strip()
    assert "Traceback" not in ended.err
    assert not list((tmp_path / "runs").glob("*"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "load: no URL given; write: httpdyno load http://localhost:8080/, or use --urls"),
        (["localhost:8080"], "load: 'localhost:8080' is not a URL; did you mean http://localhost:8080/?"),
        (["a.example/b"], "load: 'a.example/b' is not a URL; did you mean http://a.example/b?"),
        (["http://a/", "--cacert", "no"], "--cacert no: cannot be read: No such file or directory; name another file"),
        (["http://a/", "--body-file", "no"], "--body-file no: cannot be read: No such file or directory"),
        (["--requests-file", "no"], "--requests-file no: cannot be read: No such file or directory"),
        (
            ["http://a/", "--unix-socket", "no"],
            "--unix-socket no: No such file or directory; start the server, or name",
        ),
        (["http://a/", "--unix-socket", "."], "--unix-socket .: not a socket; name the one that the server made"),
        (
            ["http://a/", "--unix-socket", "/" + 120 * "a"],
            "has 121 bytes, and the address of a socket at most 108; use",
        ),
        (["http://a/", "--unix-socket", "@a", "--connect-to", "::b:"], "--unix-socket: conflicts with --connect-to"),
        (["http://a/", "--local-address", "192.0.2.1"], "--local-address 192.0.2.1: Cannot assign requested address;"),
        (["http://a/", "--cert", "no"], "--cert no: cannot be read: No such file or directory; name another file"),
        (["http://a/", "--cert", "/dev/null"], "--cert /dev/null: no certificate in it; name a PEM file with"),
        (["http://a/", "--key", "no"], "--cert is missing"),
        (["http://a/", "--tls-min", "1.3", "--tls-max", "1.2"], "--tls-min 1.3: newer than --tls-max 1.2; lower it"),
        (["http://a/", "--tls-resumption", "50"], '--tls-resumption: "50" is not a share of the handshakes: write on,'),
        (["http://a/", "--local-address", "lo"], '--local-address: "lo" is not an address: write 192.0.2.1 or'),
        (["http://a/", "--reconnect-after", "0"], '--reconnect-after: "0" is not a whole number of 1 or more'),
        (["http://a/", "--reconnect-after", "2", "--no-keepalive"], "--reconnect-after: conflicts with --no-keepalive"),
        (["http://a/", "--connections-rate", "5/m"], '--connections-rate: "5/m" is not a rate: write connections a'),
        (["http://a/", "http://b/", "--connections-rate", "5"], "--connections-rate requires URLs of one server"),
        (["http://a/", "-c", "0"], '--connections: "0" is not a whole number of 1 or more; see: httpdyno load -h'),
        (["http://a/", "--conections", "1"], "unknown option; did you mean --connections?"),
        (
            ["http://a/", "--format", "xml"],
            '--format: "xml" is unknown; choose from: csv, json, markdown, ndjson, plain, table',
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_gives_a_one_line_message_with_a_correction(here: Command, arguments: list[str], said: str) -> None:
    ended = here("load", *arguments)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith(f"httpdyno: {said}") or said in line


def test_an_environment_variable_sets_the_format(here: Command, origin: str) -> None:
    load = ("load", *PATIENT, f"{origin}/plain", "-n", "10", "--no-store")
    assert len(here(*load, FORMAT="json").rows) == 1
    assert here(*load, "--format", "csv", FORMAT="json").out.startswith("subject,trial,")
    refused = here(*load, FORMAT="xml")
    assert (refused.code, "FORMAT (environment)" in refused.err) == (2, True)


def test_the_engine_alone_prints_the_same_as_the_command(
    here: Command, engine: Engine, origin: str, tmp_path: Path
) -> None:
    options = [
        "load",
        *PATIENT,
        f"{origin}/plain",
        "-n",
        "40",
        "-c",
        "2",
        "--http2",
        "--out",
        "alone",
        "--format",
        "json",
    ]
    ran = subprocess.run(
        [engine.path, *options], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert ran.returncode == 0, ran.stderr
    reported = here("report", "latest", "--runs", "alone", "--format", "json")
    assert reported.rows == json.loads(ran.stdout)
    (folder,) = (tmp_path / "alone").iterdir()
    assert open_run(folder).manifest.engine == engine.identity()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--arrivals", "poisson"], "--rate"),
        (["--arrivals", "never"], "poisson"),
        (["--seed", "1"], "--arrivals poisson"),
        (["--rate", "5.."], "100..5000"),
        (["--samples", "missing/samples.csv"], "--samples missing/samples.csv: No such file"),
    ],
)
def test_a_refused_combination_gives_a_one_line_message_with_a_remedy(
    here: Command, arguments: list[str], named: str
) -> None:
    ended = here("load", "http://a.example/", *arguments)
    assert ended.err.count("\n") == 1
    assert ended.err.count(named) == 1


def test_the_message_about_an_empty_list_names_its_options(here: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    for options, named in (
        (["--urls", "-"], "--urls -"),
        (["--urls", "empty", "--requests-file", "empty"], "--urls empty, --requests-file empty"),
    ):
        ended = here("load", *options)
        said = f"httpdyno: {named}: no requests in the file; write a line for each request\n"
        assert (ended.code, ended.out, ended.err) == (2, "", said)


def test_the_message_about_a_list_of_requests_names_the_line(here: Command, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"url": "http://127.0.0.1:1/"}\n{"url": "http://127.0.0.1:1/", "verb": "GET"}\n')
    ended = here("load", "--requests-file", "r.jsonl")
    assert ended.code == 2
    assert "2" in ended.err
    assert "verb" in ended.err


def test_an_unwritable_folder_is_refused_before_the_first_request(here: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = here("load", "http://127.0.0.1:1/", "--out", "file/runs")
    assert ended.code == 3
    assert "results cannot be written" in ended.err
    assert os.fspath(tmp_path / "file") not in ended.out
