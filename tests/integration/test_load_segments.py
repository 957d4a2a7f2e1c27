"""One load from several generators: `load --segment`, `--start-at`, `clock` and `load-merge` with the real engine."""

import csv
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from jsonschema import Draft202012Validator

import httpdyno
from doubles.command_line import Command
from doubles.in_process import in_process
from httpdyno.lab.engine import Engine

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PATIENCE_S = 300
LEADS_S = (6, 20, 60)
"""Times until the start: on a busy machine, generators may be ready only after a short one."""
RATE_PER_S, DURATION_S = 60, 3
PLANNED = RATE_PER_S * DURATION_S
NODES = (1, 2, 3)

Serve = Callable[..., str]
Generators = Callable[..., list["subprocess.Popen[str]"]]


@pytest.fixture(scope="module")
def serve(engine: Engine) -> Iterator[Serve]:
    """Start a verb of the engine that serves; return its address."""
    started = []

    def begin(*words: str) -> str:
        process = subprocess.Popen(
            [str(engine.path), *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stderr
        return process.stderr.readline().split()[-1]

    yield begin
    for process in started:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def origin(serve: Serve) -> str:
    return serve("origin", "--web", "plain", "--listen", "127.0.0.1:0")


@pytest.fixture(scope="module")
def clock(serve: Serve) -> str:
    return serve("clock", "--listen", "127.0.0.1:0")


@pytest.fixture(scope="module")
def generators(engine: Engine) -> Iterator[Generators]:
    """Start the three generators of a load, each in a folder of its own."""
    started: list[subprocess.Popen[str]] = []

    def begin(folder: Path, lead_s: float, *words: str) -> list["subprocess.Popen[str]"]:
        start = f"{time.time() + lead_s:.6f}"
        processes = []
        for number in NODES:
            (node := folder / f"node-{number}").mkdir(parents=True)
            argv = [
                str(engine.path),
                "load",
                *words,
                "--segment",
                f"{number}/3",
                "--start-at",
                start,
                "--out",
                str(node),
            ]
            process = subprocess.Popen(
                argv, cwd=node, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            processes.append(process)
        started.extend(processes)
        return processes

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process."""
    return in_process(environment, tmp_path, monkeypatch, capfd)


def load(generators: Generators, folder: Path, *words: str) -> list[Path]:
    """Send one load from three generators; return their runs."""
    errors = []
    for lead_s in LEADS_S:
        place = folder / f"lead-{lead_s}"
        ended = [
            (process.communicate(timeout=PATIENCE_S), process.returncode)
            for process in generators(place, lead_s, *words)
        ]
        errors = [err for (_, err), code in ended if code]
        if not errors:
            for number, ((out, _), _) in zip(NODES, ended, strict=True):
                (place / f"node-{number}" / "out").write_text(out, encoding="utf-8")
            return [run for number in NODES for run in (place / f"node-{number}").glob("*-load")]
        assert all("--start-at" in err for err in errors), errors
    pytest.fail(f"no start in time: {errors}")


def words_of(origin: str, *more: str) -> tuple[str, ...]:
    words = ("--rate", str(RATE_PER_S), "-d", str(DURATION_S), "-c", "6", "--timeout", "60s", "-q")
    return (f"{origin}/plain?{{{{seq}}}}", *words, *more)


def report_of(run: Path) -> dict[str, Any]:
    return dict(json.loads((run / "load-000000.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def runs(generators: Generators, origin: str, clock: str, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs of the segments of one load, with samples."""
    folder = tmp_path_factory.mktemp("segments")
    return load(
        generators, folder, *words_of(origin, "--clock", clock, "--samples", "samples.csv", "--format", "ndjson")
    )


def samples(runs: Sequence[Path]) -> list[dict[str, str]]:
    files = (run.parent / "samples.csv" for run in runs)
    return [row for file in files for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())]


def merged_report(here: Command, runs: Sequence[Path], *words: str) -> dict[str, Any]:
    ended = here("load-merge", *map(str, runs), "--report", "-", *words)
    assert ended.code in {0, 3}, ended.err
    return dict(json.loads(ended.out))


def test_the_generators_send_the_schedule_of_one(here: Command, runs: list[Path]) -> None:
    merged = merged_report(here, runs)
    own = [report_of(run) for run in runs]
    assert merged["sent"] + merged["unsent"] == PLANNED
    assert merged["sent"] == sum(one["sent"] for one in own)
    assert [one["segment"]["segment"] for one in own] == ["1/3", "2/3", "3/3"]
    assert merged["plan"]["connections"] == 6
    intended = sorted(int(row["intended_ns"]) for row in samples(runs))
    assert len(set(intended)) == len(intended)
    schedule = {number * 1_000_000_000 // RATE_PER_S for number in range(PLANNED)}
    assert set(intended) <= schedule
    assert len(intended) == merged["requests"] + merged["errors_total"]
    (node,) = {node["clock"]["reference"] for node in merged["nodes"]}
    assert node.startswith("http://127.0.0.1:")
    for node in merged["nodes"]:
        # One machine has one clock: the offset is within the error of its measurement.
        assert abs(node["clock"]["ahead_ns"]) <= node["clock"]["bound_ns"] <= 1_000_000


def test_percentiles_of_the_merge_are_those_of_all_samples(here: Command, runs: list[Path]) -> None:
    merged = merged_report(here, runs)
    times = sorted(
        int(row["end_ns"]) - int(row["intended_ns"]) for row in samples(runs) if row["status_or_error"] == "200"
    )
    assert merged["response_time"]["count"] == len(times)
    for name, share in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("max_ns", 1.0)):
        exact = times[max(0, -int(-len(times) * share // 1) - 1)]
        # A histogram of three digits names the upper end of a value's bucket.
        assert exact <= merged["response_time"][name] <= exact * 1.002 + 1


def test_seconds_are_merged_second_by_second(here: Command, runs: list[Path]) -> None:
    merged = merged_report(here, runs)
    own = [report_of(run)["series"] for run in runs]
    for second in merged["series"]:
        same = [row for series in own for row in series if row["at_s"] == second["at_s"]]
        for name in ("sent", "requests", "errors", "content_bytes", "open"):
            assert second[name] == sum(row[name] for row in same)
        longest = [row["response_max_ns"] for row in same if row["response_max_ns"] is not None]
        assert second["response_max_ns"] == max(longest, default=None)
    assert sum(second["requests"] for second in merged["series"]) == merged["requests"]


def test_seconds_are_merged_while_they_come(here: Command, engine: Engine, runs: list[Path], tmp_path: Path) -> None:
    """Read a pipe of each generator; the first second is printed before any generator has its second one."""
    outs = [(run.parent / "out").read_text(encoding="utf-8").splitlines(keepends=True) for run in runs]
    pipes = [tmp_path / f"pipe-{number}" for number in NODES]
    for pipe in pipes:
        os.mkfifo(pipe)
    argv = [str(engine.path), "load-merge", "--seconds", *map(str, pipes)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process, ExitStack() as opened:
        assert process.stdout
        writers = [opened.enter_context(pipe.open("w", encoding="utf-8")) for pipe in pipes]
        for writer, lines in zip(writers, outs, strict=True):
            writer.write(lines[0])
            writer.flush()
        merged = [json.loads(process.stdout.readline())]
        for writer, lines in zip(writers, outs, strict=True):
            writer.writelines(lines[1:])
            writer.close()
        merged += map(json.loads, process.stdout)
    assert process.returncode == 0
    schema = json.loads((REFERENCE / "load-interval.schema.json").read_text(encoding="utf-8"))
    for line in merged:
        Draft202012Validator(schema).validate(line)
    series = merged_report(here, runs)["series"]
    assert [(line["start_s"], line["sent"], line["requests"]) for line in merged] == [
        (second["at_s"], second["sent"], second["requests"]) for second in series
    ]
    for line, second in zip(merged, series, strict=True):
        if second["response_p99_ns"] is not None:
            assert line["p99"] == pytest.approx(second["response_p99_ns"] / 1e6, rel=1e-12)
    assert {line["generators"] for line in merged[:DURATION_S]} == {len(NODES)}


def test_reports_have_their_schema(here: Command, runs: list[Path]) -> None:
    schema = json.loads((REFERENCE / "load-report.schema.json").read_text(encoding="utf-8"))
    for report in (*map(report_of, runs), merged_report(here, runs)):
        Draft202012Validator(schema).validate(report)
    ended = here("load-merge", *map(str, runs), "--format", "json")
    (row,) = ended.rows
    Draft202012Validator(json.loads((REFERENCE / "load.schema.json").read_text(encoding="utf-8"))).validate([row])
    assert [node["segment"] for node in json.loads(row["nodes"])] == ["1/3", "2/3", "3/3"]


def test_the_tables_are_those_of_a_load_and_limits_hold_for_all(here: Command, runs: list[Path]) -> None:
    ended = here("load-merge", *map(str, reversed(runs)))
    assert ended.code == 0, ended.err
    rows = re.findall(r"^(\d/3) +\S+ +(\d+) +(\d+) ", ended.out, re.MULTILINE)
    assert [segment for segment, _, _ in rows] == ["1/3", "2/3", "3/3"]
    assert sum(int(requests) for _, _, requests in rows) == merged_report(here, runs)["requests"]
    assert "from 3 generators" in ended.out
    assert "clocks: within" in ended.out
    broken = here("load-merge", *map(str, runs), "--fail-if", "errors < 1", "--fail-if", "not_2xx > 0")
    assert broken.code == 1
    assert [line.partition("'")[2].partition("'")[0] for line in broken.err.splitlines()] == ["errors < 1"]


def test_reports_that_do_not_belong_together_are_refused(here: Command, runs: list[Path], tmp_path: Path) -> None:
    first, second, third = map(str, runs)
    (tmp_path / "garbage.json").write_text("{", encoding="utf-8")
    (tmp_path / "whole.json").write_text(json.dumps({**report_of(runs[0]), "segment": None}), encoding="utf-8")
    old = report_of(runs[0])
    old["segment"]["version"] = "0.0.1"
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    other = report_of(runs[0])
    other["segment"]["plan_sha256"] = "0" * 64
    (tmp_path / "other.json").write_text(json.dumps(other), encoding="utf-8")
    torn = report_of(runs[0])
    torn["segment"]["sums"]["total"]["response"] = "!"
    (tmp_path / "torn.json").write_text(json.dumps(torn), encoding="utf-8")
    (tmp_path / "killed").mkdir()
    for names, expected in [
        ((first, third), "segment 2/3 is missing"),
        ((first,), "segments 2/3, 3/3 are missing"),
        ((first, second, third, first), "segment 1/3 is in"),
        (("none.json", second, third), "none.json: cannot be read: No such file or directory"),
        (("garbage.json", second, third), "garbage.json: is no report of load, or damaged"),
        (("whole.json", second, third), "whole.json: is not the report of a segment"),
        (("old.json", second, third), "old.json: was written by httpdyno 0.0.1"),
        (("other.json", second, third), "of different loads (other requests, rates or options)"),
        (("torn.json", second, third), "torn.json: is no report of load, or damaged: a histogram"),
        (("killed", second, third), "killed: has no report of a load that ended"),
    ]:
        ended = here("load-merge", *names)
        assert (ended.code, ended.out) == (2, ""), ended.err
        (line,) = ended.err.splitlines()
        assert expected in line
    refused = here("load-merge", first, second, third, "--clock-bound", "1ns")
    assert refused.code == 2
    assert "its clock is known within" in refused.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--segment", "4/3"), "is not a segment: write i/N with i from 1 to N"),
        (("--segment", "1/3"), "--segment 1/3: all generators start at one moment; add --start-at"),
        (("--start-at", "noon"), "is not a moment: write 2030-01-01T12:00:00Z"),
        (("--clock", "http://127.0.0.1:1"), "--clock: compares the clock for a start together"),
        (("--segment", "1/3", "--start-at", "9e9"), "is not a moment"),
        (("--segment", "1/9", "-c", "8", "--start-at", "2100-01-01T00:00:00Z"), "must be at least 9"),
        (
            ("--segment", "1/3", "--start-at", "2100-01-01T00:00:00Z", "--until", "ci(p50) < 5%"),
            "conflicts with --until",
        ),
        (("--segment", "3/3", "--start-at", "4102444800", "-n", "2"), "the load has 2 requests only"),
        (("--start-at", "2100-01-01T00:00:00Z", "--repeat", "2"), "--start-at conflicts with --repeat"),
        (("--start-at", "2100-01-01T00:00:00Z", "--find", "p99 < 1s"), "--start-at conflicts with --find"),
        (("--segment", "1/3", "--find", "p99 < 1s", "--dry-run"), "--segment conflicts with --find"),
        (("--segment", "1/3", "--repeat", "2", "--dry-run"), "--segment conflicts with --repeat"),
    ],
)
def test_options_that_several_generators_cannot_have_are_refused(
    here: Command, words: tuple[str, ...], expected: str
) -> None:
    ended = here("load", "http://127.0.0.1:1/", *words)
    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err


def test_a_late_start_and_an_unknown_clock_send_nothing(here: Command, origin: str, clock: str) -> None:
    at = ("--segment", "1/3", "--no-store", "-q", "--start-at")
    for words, expected in [
        ((*at, "2020-01-01T00:00:00Z"), "--start-at: that moment was"),
        ((*at, "2100-01-01T00:00:00Z", "--clock", clock, "--clock-bound", "1ns"), "the clocks are known within"),
        ((*at, "2100-01-01T00:00:00Z", "--clock", "http://127.0.0.1:1"), "refuses connections"),
        ((*at, "2020-01-01T00:00:00Z", "--clock", origin), "--start-at: that moment was"),
    ]:
        ended = here("load", origin, *words)
        assert (ended.code, ended.out) == (3, ""), ended.err
        (line,) = ended.err.splitlines()
        assert expected in line


def test_a_dry_run_prints_the_requests_of_a_segment(here: Command) -> None:
    words = ("load", "http://127.0.0.1:1/", "--rate", "10", "-n", "8", "--dry-run", "--format", "json")
    assert [row["time_s"] for row in here(*words, "--segment", "2/3").rows] == [0.1, 0.4, 0.7]
    closed = here("load", *("http://127.0.0.1:1/" + name for name in "abc"), "-n", "9", *words[6:], "--segment", "2/3")
    assert {row["url"] for row in closed.rows} == {"http://127.0.0.1:1/b"}


def test_a_generator_without_an_answer_is_named(here: Command, generators: Generators, tmp_path: Path) -> None:
    # The port of a socket that does not listen stays closed.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        for lead_s in LEADS_S:
            processes = generators(tmp_path / str(lead_s), lead_s, url, "--rate", "60", "-d", "2", "-c", "6", "-q")
            errors = [process.communicate(timeout=PATIENCE_S)[1] for process in processes]
            if not any("--start-at" in err for err in errors):
                break
    assert [process.returncode for process in processes] == [3, 3, 3]
    assert all("no answer came" in err for err in errors)
    runs = [str(run) for number in NODES for run in (tmp_path / str(lead_s) / f"node-{number}").glob("*-load")]
    ended = here("load-merge", *runs)
    assert (ended.code, ended.out) == (3, "")
    assert re.fullmatch(r"httpdyno: no answer came: \d+ x ConnectionRefused\n", ended.err)


def test_the_clock_refuses_a_port_in_use_and_other_paths(here: Command, clock: str) -> None:
    taken = here("clock", "--listen", clock.removeprefix("http://"))
    assert taken.code == 2
    assert "Address already in use; choose another address or port" in taken.err
    for path in ("/", "/.well-known/httpdyno/begin"):
        with pytest.raises(HTTPError) as refused:
            urlopen(clock + path, timeout=PATIENCE_S)
        assert refused.value.code == 404
        refused.value.close()
    with urlopen(clock + "/.well-known/httpdyno/clock", timeout=PATIENCE_S) as answer:
        assert set(json.load(answer)) == {"unix_ns", "setting"}


class Reference(ThreadingHTTPServer):
    """A clock that is ahead of this machine's, and can be set."""

    daemon_threads = True
    ahead_ns = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Clock(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Reference

    def do_GET(self) -> None:
        ahead_ns = self.server.ahead_ns
        unix_ns = time.time_ns() + ahead_ns
        setting = {"ns": unix_ns - time.monotonic_ns(), "bound_ns": 200_000}
        answers = {
            "identity": {"protocol": 1, "version": httpdyno.__version__},
            "clock": {"unix_ns": unix_ns, "setting": setting},
        }
        content = json.dumps(answers[self.path.rpartition("/")[2]]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def reference() -> Iterator[Reference]:
    with Reference(("127.0.0.1", 0), _Clock) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_clock_that_is_behind_is_corrected_and_one_that_is_set_is_refused(
    engine: Engine, here: Command, origin: str, reference: Reference, tmp_path: Path
) -> None:
    ahead_s, step_ns = 1000, 900_000_000
    words = (origin, "--rate", "20", "-d", "3", "-c", "2", "--timeout", "60s", "--segment", "1/2", "--format", "ndjson")
    words = (*words, "-q", "--clock", reference.url, "--clock-bound", "500ms")
    for is_set in (False, True):
        for lead_s in LEADS_S:
            reference.ahead_ns = ahead_s * 1_000_000_000
            (folder := tmp_path / f"{is_set}-{lead_s}").mkdir()
            start_s = time.time() + lead_s + ahead_s
            argv = [str(engine.path), "load", *words, "--start-at", f"{start_s:.3f}", "--out", str(folder)]
            with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                assert process.stdout
                has_begun = bool(process.stdout.readline())
                reference.ahead_ns += step_ns if is_set else 0
                _, err = process.communicate(timeout=PATIENCE_S)
            if has_begun:
                break
        (run,) = folder.glob("*-load")
        record = report_of(run)["segment"]
        assert record["start_unix_ns"] == pytest.approx(start_s * 1e9, abs=1e6)
        started_s = datetime.fromisoformat(report_of(run)["started"]).timestamp()
        # It starts by the reference, whose clock is far ahead of this one.
        assert started_s - (start_s - ahead_s) >= -0.5
        assert started_s < start_s - ahead_s / 2
        assert record["clock"]["ahead_ns"] == pytest.approx(ahead_s * 1e9, abs=5e8)
        if not is_set:
            assert process.returncode == 0, err
            assert record["clock"]["stepped_ns"] == 0
            continue
        assert process.returncode == 3
        assert "--clock: a clock was set by 900 ms during the load, here or at http://127.0.0.1:" in err
        refused = here("load-merge", str(run))
        assert "segment 2/2 is missing" in refused.err
        assert record["clock"]["stepped_ns"] == pytest.approx(step_ns, abs=1e6)


def test_a_wait_for_the_start_ends_with_a_signal(generators: Generators, origin: str, tmp_path: Path) -> None:
    processes = generators(tmp_path, 3600, *words_of(origin)[:-1])
    for process in processes:
        assert process.stderr
        assert "starts in" in process.stderr.readline()
        process.terminate()
    assert [process.wait(PATIENCE_S) for process in processes] == [143, 143, 143]


def test_a_stopped_generator_is_named(here: Command, generators: Generators, origin: str, tmp_path: Path) -> None:
    words = (origin, "--rate", "60", "-d", "600", "-c", "6", "--format", "ndjson", "-q")
    for lead_s in LEADS_S:
        place = tmp_path / str(lead_s)
        processes = generators(place, lead_s, *words)
        lines = [process.stdout.readline() for process in processes if process.stdout]
        for process in processes:
            process.send_signal(signal.SIGINT)
        codes = [(process.communicate(timeout=PATIENCE_S), process.returncode)[1] for process in processes]
        if all(lines):
            break
    assert codes == [130, 130, 130]
    assert [json.loads(line)["target_rps"] for line in lines] == [20.0, 20.0, 20.0]
    runs = [str(run) for number in NODES for run in (place / f"node-{number}").glob("*-load")]
    ended = here("load-merge", *runs, "--format", "json")
    assert ended.code == 3
    assert [line.partition(" on ")[0].split(": ")[-1] for line in ended.err.splitlines()] == [
        f"segment {number}/3" for number in NODES
    ]
    assert ended.err.count("was stopped after") == len(NODES)


def test_a_paused_generator_limits_the_load_by_name(
    here: Command, generators: Generators, origin: str, tmp_path: Path
) -> None:
    words = (origin, "--rate", "300", "-d", "8", "-c", "12", "--timeout", "60s", "--format", "ndjson", "-q")
    for lead_s in LEADS_S:
        place = tmp_path / str(lead_s)
        one, paused, _ = processes = generators(place, lead_s, *words)
        assert one.stdout
        assert paused.stdout
        if paused.stdout.readline():
            paused.send_signal(signal.SIGSTOP)
            # Three more seconds of another generator.
            for _ in range(4):
                one.stdout.readline()
            paused.send_signal(signal.SIGCONT)
        codes = [(process.communicate(timeout=PATIENCE_S), process.returncode)[1] for process in processes]
        if codes == [0, 0, 0]:
            break
    assert codes == [0, 0, 0]
    runs = [str(run) for number in NODES for run in (place / f"node-{number}").glob("*-load")]
    ended = here("load-merge", *runs, "--format", "json", "--fail-if", "p99 > 10m")
    (row,) = ended.rows
    assert (ended.code, row["verdict"]) == (3, "GENERATOR_LIMITED"), ended.err
    assert "the server was not measured" in ended.err
    assert f"segment 2/3 on {os.uname().nodename}" in ended.err
    node = json.loads(row["nodes"])[1]
    assert (node["segment"], node["verdict"]) == ("2/3", "GENERATOR_LIMITED")
    assert "generator" in node["reason"]


@pytest.mark.parametrize("pick", ["sequence", "unique"])
def test_each_row_and_number_is_sent_by_one_generator(
    here: Command, generators: Generators, origin: str, tmp_path: Path, pick: str
) -> None:
    (tmp_path / "rows.csv").write_text("\n".join(["row", *map(str, range(50))]), encoding="utf-8")
    url = f"{origin}/status/{{{{random 200 200}}}}?{{{{row}}}}&{{{{seq}}}}"
    words = (url, "--data", str(tmp_path / "rows.csv"), "--pick", pick, "-c", "3", "--timeout", "60s", "-n", "80", "-q")
    runs = load(generators, tmp_path, *words)
    merged = merged_report(here, runs)
    # A closed loop divides the requests in the same way: 80 numbers, or 50 rows that are sent once.
    assert merged["requests"] == (50 if pick == "unique" else 80)
    assert [node["requests"] for node in merged["nodes"]] == ([17, 17, 16] if pick == "unique" else [27, 27, 26])
    assert merged["data"]["used_up"] is (pick == "unique")


@pytest.mark.measured
def test_the_merge_measures_what_one_generator_measures(
    here: Command, generators: Generators, origin: str, tmp_path: Path
) -> None:
    """Three generators and one at the same total rate, in turn, find the same percentiles within their spread."""
    words = (origin + "/plain", "--rate", "600", "-d", "5", "-c", "12", "--arrivals", "poisson", "-q")
    found: dict[str, list[dict[str, float]]] = {"one": [], "three": []}
    for turn in range(5):
        (row,) = here("load", *words, "--format", "json", "--no-store").rows
        found["one"].append(row)
        runs = load(generators, tmp_path / str(turn), *words)
        (row,) = here("load-merge", *map(str, runs), "--format", "json").rows
        found["three"].append(row)
    for name in ("p50", "p99", "p99.9"):
        key = name.replace(".", "_")
        one, three = (sorted(float(row[key]) for row in found[of]) for of in ("one", "three"))
        # The ranges of five loads each overlap.
        assert one[0] <= three[-1], (name, one, three)
        assert three[0] <= one[-1], (name, one, three)
