"""Figures of a running `httpdyno load`: on the screen of a terminal, and for programs."""

import fcntl
import itertools
import json
import os
import re
import signal
import socket
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self
from urllib.request import Request, urlopen

import pytest
from jsonschema import Draft202012Validator

from httpdyno.lab.engine import Engine

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PATIENCE_S = 300
Argv = list[str | Path]


@pytest.fixture(scope="module")
def origin(engine: Engine) -> Iterator[str]:
    """A web on a port of its own; return its address."""
    argv: Argv = [engine.path, "origin", "--web", "plain", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()


def become_foreground() -> None:
    """Take the terminal at descriptor 0 as that of this session; receive its signals, which background jobs ignore."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """A load in a terminal of its own, whose standard output is a pipe."""

    def __init__(self, argv: Argv, folder: Path, *, columns: int = 80, term: str = "xterm") -> None:
        self._controller, self._terminal = os.openpty()
        fcntl.ioctl(self._controller, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.before = self.mode()
        self.process = subprocess.Popen(
            argv,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": term},
            stdin=self._terminal,
            stdout=subprocess.PIPE,
            stderr=self._terminal,
            text=True,
            start_new_session=True,
            preexec_fn=become_foreground,
        )
        self.shown = ""
        self._grown = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=PATIENCE_S)
        os.close(self._terminal)

    def _read(self) -> None:
        decoder = "utf-8"
        pending = b""
        while True:
            try:
                pending += os.read(self._controller, 65536)
            except OSError:
                os.close(self._controller)
                return
            with self._grown:
                self.shown = pending.decode(decoder, errors="ignore")
                self._grown.notify_all()

    def mode(self) -> int:
        """Return the local modes of the terminal: whether it prints keys, and collects them to lines."""
        modes = termios.tcgetattr(self._terminal)[3]
        assert isinstance(modes, int)
        return modes

    def wait_for(self, text: str, begin: int = 0) -> None:
        """Wait until the terminal has been sent this text, from a place in its text on."""
        with self._grown:
            assert self._grown.wait_for(lambda: text in self.shown[begin:], PATIENCE_S), self.shown

    def type(self, keys: bytes) -> None:
        os.write(self._controller, keys)

    def end(self) -> tuple[int, str]:
        """Wait for the end of the load; return its exit code and its standard output."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out


def load(engine: Engine, origin: str, *more: str) -> Argv:
    """Return the command of a load that is ended by the test."""
    return [engine.path, "load", origin, "-c", "2", "--rate", "50", "-d", "600s", "--format", "plain", *more]


def test_a_key_ends_a_load_and_its_results_are_printed(engine: Engine, origin: str, tmp_path: Path) -> None:
    with Terminal(load(engine, origin), tmp_path) as terminal:
        terminal.wait_for("p99 above")
        assert terminal.mode() & (termios.ICANON | termios.ECHO) == 0
        assert "q ends it" in terminal.shown
        terminal.type(b"xq")
        code, out = terminal.end()
        assert (code, "interrupted" in out, terminal.mode()) == (130, True, terminal.before)
        terminal.wait_for("(partial)")


def test_the_mode_of_the_terminal_is_restored_by_every_signal(engine: Engine, origin: str, tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        with Terminal(load(engine, origin), tmp_path) as terminal:
            terminal.wait_for("q ends it")
            terminal.process.send_signal(number)
            code, _ = terminal.end()
            assert (code, terminal.mode()) == (128 + number, terminal.before)


def test_a_load_draws_again_after_ctrl_z_and_fg(engine: Engine, origin: str, tmp_path: Path) -> None:
    with Terminal(load(engine, origin), tmp_path) as terminal:
        terminal.wait_for("q ends it")
        terminal.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
        assert (os.WIFSTOPPED(status), terminal.mode()) == (True, terminal.before)
        begin = len(terminal.shown)
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for("q ends it", begin)
        terminal.type(b"q")
        assert terminal.end()[0] == 130


def test_a_dumb_terminal_and_a_quiet_load_have_no_screen(engine: Engine, origin: str, tmp_path: Path) -> None:
    short: Argv = [engine.path, "load", origin, "-n", "300", "--rate", "300", "--no-store"]
    with Terminal(short, tmp_path, term="dumb") as terminal:
        assert (terminal.end()[0], terminal.shown) == (0, "")
    quiet: Argv = [engine.path, "load", origin, "-n", "300", "--rate", "300", "--quiet"]
    with Terminal(quiet, tmp_path) as terminal:
        code, out = terminal.end()
        assert (code, terminal.shown, "requests/s" in out) == (0, "", True)


def test_every_second_is_a_line_of_json_and_the_last_line_is_the_report(
    engine: Engine, origin: str, tmp_path: Path
) -> None:
    argv: Argv = [
        engine.path,
        "load",
        origin,
        "-c",
        "2",
        "-n",
        "250",
        "--rate",
        "100",
        "--warm-up",
        "1s",
        "--repeat",
        "2",
    ]
    out = subprocess.check_output([*argv, "--format", "ndjson"], cwd=tmp_path, text=True, timeout=PATIENCE_S)
    lines = [json.loads(line) for line in out.splitlines()]
    schema = json.loads((REFERENCE / "load-interval.schema.json").read_text(encoding="utf-8"))
    reports = [line for line in lines if line["type"] == "report"]
    assert lines[-2:] == reports
    rows = json.loads((REFERENCE / "load.schema.json").read_text(encoding="utf-8"))
    for report in reports:
        Draft202012Validator(rows).validate([{name: report[name] for name in report if name != "type"}])
        intervals = [line for line in lines[:-2] if line["trial"] == report["trial"]]
        for line in intervals:
            Draft202012Validator(schema).validate(line)
        measured = [line for line in intervals if line["phase"] == "load"]
        assert intervals[0]["phase"] == "warm-up"
        for before, after in itertools.pairwise(measured):
            assert before["end_s"] == after["start_s"]
        assert measured[-1]["end_s"] == pytest.approx(report["elapsed_s"], abs=1e-6)
        for name in ("sent", "requests", "errors", "content_bytes"):
            assert sum(line[name] for line in measured) == report[name]


def test_each_second_of_a_search_has_the_number_of_its_step(engine: Engine, origin: str, tmp_path: Path) -> None:
    argv: Argv = [engine.path, "load", origin, "--find", "p99 < 2s", "--find-for", "10s", "--find-from", "20"]
    out = subprocess.check_output([*argv, "--format", "ndjson"], cwd=tmp_path, text=True, timeout=PATIENCE_S)
    lines = [json.loads(line) for line in out.splitlines()]
    schema = json.loads((REFERENCE / "load-interval.schema.json").read_text(encoding="utf-8"))
    intervals = [line for line in lines if line["type"] == "interval"]
    for line in intervals:
        Draft202012Validator(schema).validate(line)
    steps = [line["step"] for line in intervals if line["step"] is not None]
    assert (steps[0], steps) == (1, sorted(steps))
    rates = {(line["step"], line["target_rps"]) for line in intervals if line["step"] is not None}
    assert len(rates) == len(set(steps)) > 1
    times = [line["since_start_s"] for line in intervals]
    assert times == sorted(times)


def test_a_load_ends_when_the_reader_of_its_lines_closes(engine: Engine, origin: str, tmp_path: Path) -> None:
    argv: Argv = [engine.path, "load", origin, "-c", "1", "-d", "600s", "--rate", "20", "--format", "ndjson", "--quiet"]
    with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        assert json.loads(process.stdout.readline())["type"] == "interval"
        process.stdout.close()
        assert (process.wait(PATIENCE_S), process.stderr.read()) == (0, "")


METRIC_LINE = re.compile(
    r"# (HELP httpdyno_[a-z_]+ [A-Z].*\.|TYPE httpdyno_[a-z_]+ (counter|gauge|histogram))"
    r"|httpdyno_[a-z_]+(\{[a-z]+=\"[^\"]+\"\})? [0-9.e+-]+"
)


def scrape(port: int, accept: str = "*/*") -> tuple[str, dict[str, float]]:
    """Return the type of the metrics, and their values by name and label; fail if a line is malformed."""
    request = Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept})
    with urlopen(request, timeout=PATIENCE_S) as answer:
        lines = answer.read().decode().splitlines()
        kind = answer.headers["Content-Type"]
    if kind.startswith("application/openmetrics-text"):
        assert lines.pop() == "# EOF"
    values = {}
    for line in lines:
        assert METRIC_LINE.fullmatch(line), line
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            assert name not in values, line
            values[name] = float(value)
    return kind, values


def test_prometheus_reads_the_counters_of_a_running_load(engine: Engine, origin: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    argv: Argv = [engine.path, "load", origin, "-c", "2", "-d", "600s", "--rate", "50", "--format", "ndjson"]
    argv += ["--prometheus", f"127.0.0.1:{port}"]
    with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        second = json.loads(process.stdout.readline())
        # The line is written before the counters are.
        json.loads(process.stdout.readline())
        kind, values = scrape(port)
        assert kind == "text/plain; version=0.0.4; charset=utf-8"
        count = values['httpdyno_requests_total{status="200"}']
        assert count >= second["requests"] > 0
        assert values["httpdyno_response_time_seconds_count"] == count
        buckets = [value for name, value in values.items() if name.startswith("httpdyno_response_time_seconds_bucket")]
        assert (len(buckets), buckets) == (62, sorted(buckets))
        assert values["httpdyno_target_requests_per_second"] == 50
        kind, later = scrape(port, "application/openmetrics-text;version=1.0.0")
        assert kind.startswith("application/openmetrics-text")
        assert later["httpdyno_requests_sent_total"] >= values["httpdyno_requests_sent_total"]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130
