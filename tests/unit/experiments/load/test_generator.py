"""The load generator's process: what it is given, how it ends, what becomes of its report."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from doubles.given_clock import GivenClock
from httpdyno.errors import EngineFailed, Interrupted, InvalidValue, NothingMeasured
from httpdyno.experiments.load import generator
from httpdyno.experiments.load.generator import run_load
from httpdyno.experiments.load.options import LoadOptions
from httpdyno.experiments.load.progress import LoadProgress, parse_load_progress
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.progress import ProgressReader

REPORTS = Path(__file__).parents[3] / "fixtures" / "load-reports"
LINE = (
    b'{"phase":"load","elapsed_s":1.5,"sent":9,"requests":8,"errors":1,"rps":5.5,"open":1,'
    b'"response_p50_ns":7,"response_p99_ns":9}\n'
)

Program = Callable[[str], Path]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Write a program that stands in for the engine; `report` and `progress` are what it was given for these."""

    def make(body: str) -> Path:
        path = tmp_path / "engine"
        preamble = (
            f"#!{sys.executable}\nimport os, signal, sys, time\n"
            "given = dict(word.split('=', 1) for word in sys.argv[2:] if '=' in word and word.startswith('--'))\n"
            "report, progress = given['--report'], int(given['--progress'])\n"
        )
        path.write_text(preamble + body, encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


def leaves(name: str, status: int = 0) -> str:
    return f"open(report, 'w').write(open({str(REPORTS / f'{name}.json')!r}).read())\nsys.exit({status})\n"


class Seen:
    def __init__(self) -> None:
        self.progress: list[LoadProgress] = []

    def load_progress(self, progress: LoadProgress) -> None:
        self.progress.append(progress)


def test_what_is_not_chosen_is_left_to_the_engine() -> None:
    assert LoadOptions(urls=("http://a/",)).arguments() == ["--", "http://a/"]


def test_every_option_reaches_the_engine() -> None:
    options = LoadOptions(
        urls=("http://a/", "-x"),
        urls_file="urls",
        requests_file="jsonl",
        connections=3,
        duration="1s",
        requests=5,
        rate="1..2",
        arrivals="poisson",
        seed=7,
        method="PUT",
        headers=("A: b", "-C: d"),
        body="--body",
        body_file="body",
        keepalive=False,
        http2=True,
        streams=9,
        insecure=True,
        cacert="ca.pem",
        resolve=("a:80:127.0.0.1",),
        connect_to=("a:80:b:81",),
        timeout="2s",
        cpus="0-1",
        checks=("status=200",),
        samples="s.csv",
        hdr_log="h.log",
    )
    words = options.arguments()
    assert words[-3:] == ["--", "http://a/", "-x"]
    # One word an option, so that no value can be taken for an option; one more for each value that is one of several.
    assert len(words) == len(fields(LoadOptions)) + 1 + 2
    assert {"--body=--body", "--header=-C: d", "--keepalive=false", "--http-version=2", "--insecure"} <= set(words)


def test_the_report_is_given_and_progress_is_passed_on(program: Program) -> None:
    seen = Seen()
    engine = program(f"os.write(progress, {LINE!r} + b'garbage\\n' + {LINE!r})\n" + leaves("closed"))
    report = run_load(engine, LoadOptions(urls=("http://a/",)), Interruption(), seen)
    assert report == json.loads((REPORTS / "closed.json").read_text(encoding="utf-8"))
    assert [one.requests for one in seen.progress] == [8, 8]


def test_an_option_that_the_engine_refuses_is_a_mistake_of_usage(program: Program) -> None:
    engine = program("sys.stderr.write('httpdyno-engine: --rate: \"x\" is no rate\\n')\nsys.exit(2)\n")
    with pytest.raises(InvalidValue, match='^--rate: "x" is no rate$'):
        run_load(engine, LoadOptions(), Interruption())


@pytest.mark.parametrize("status", [0, 3])
def test_a_load_without_an_answer_names_what_went_wrong(program: Program, status: int) -> None:
    with pytest.raises(NothingMeasured, match=r"^http://a/: no answer came: [0-9,]+ x ConnectionRefused"):
        run_load(program(leaves("refused", status)), LoadOptions(urls=("http://a/",)), Interruption())


def test_a_load_without_an_answer_says_what_had_not_ended(program: Program) -> None:
    left = '{"version": 1, "requests": 0, "errors": {}, "censored": {"count": 2}, "unsent": 1000}'
    words = "no answer came: 2 still open at the end, 1,000 due and never sent$"
    with pytest.raises(NothingMeasured, match=words):
        run_load(program(f"open(report, 'w').write({left!r})\n"), LoadOptions(urls=("http://a/",)), Interruption())


@pytest.mark.parametrize(("name", "ending"), [("CertificateUntrusted", "--insecure any"), ("TlsAlert", "2 x TlsAlert")])
def test_whoever_trusts_too_little_is_told_how_to_trust_more(program: Program, name: str, ending: str) -> None:
    body = f'open(report, \'w\').write(\'{{"version": 1, "requests": 0, "errors": {{"{name}": 2}}}}\')\nsys.exit(3)\n'
    with pytest.raises(NothingMeasured, match=rf"no answer came: .*{ending}$"):
        run_load(program(body), LoadOptions(urls=("https://a/",)), Interruption())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit(0)\n", "ended with exit status 0"),
        ("open(report, 'w').write('[1]')\n", "not of version 1"),
        ("open(report, 'w').write('{\"version\": 2}')\n", "not of version 1"),
        ("open(report, 'w').write('{\"version\": 1')\n", "ended with exit status 0"),
        ("os.kill(os.getpid(), signal.SIGKILL)\n", "ended with exit status -9"),
        ("sys.stderr.write('httpdyno-engine: no more memory\\n')\nsys.exit(1)\n", "no more memory"),
    ],
)
def test_an_engine_that_leaves_no_report_has_failed(program: Program, body: str, words: str) -> None:
    with pytest.raises(EngineFailed, match=words):
        run_load(program(body), LoadOptions(), Interruption())


class Stopping(Seen):
    """Wishes to stop as soon as the load has begun."""

    def __init__(self, interruption: Interruption) -> None:
        super().__init__()
        self.interruption = interruption

    def load_progress(self, progress: LoadProgress) -> None:
        super().load_progress(progress)
        self.interruption.request()


def test_a_wish_to_stop_ends_it_in_order(program: Program) -> None:
    wait = f"signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\nos.write(progress, {LINE!r})\n"
    interruption = Interruption()
    engine = program(wait + "signal.sigwait([signal.SIGTERM])\n" + leaves("open"))
    report = run_load(engine, LoadOptions(), interruption, Stopping(interruption))
    assert report["requests"] == 874


def test_a_wish_to_stop_before_it_began_is_an_interruption(program: Program) -> None:
    interruption = Interruption()
    engine = program(f"os.write(progress, {LINE!r})\ntime.sleep(600)\n")
    with pytest.raises(Interrupted):
        run_load(engine, LoadOptions(), interruption, Stopping(interruption))


def test_a_second_wish_kills_it(program: Program) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('%s', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    engine = program("")
    note = engine.with_name("pid")
    engine = program(body % note)
    interruption = Interruption()
    interruption.request()
    interruption.request()
    with pytest.raises(EngineFailed, match="did not stop when it was told to and was killed; try again"):
        run_load(engine, LoadOptions(), interruption)
    if note.exists() and note.read_text():
        assert not Path(f"/proc/{note.read_text()}").exists()


def test_one_that_says_nothing_is_killed(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = GivenClock()
    clock.step_s = 20.0
    monkeypatch.setattr(generator, "time", clock)
    with pytest.raises(EngineFailed, match="said nothing for 60 s and was killed; try again"):
        run_load(program("time.sleep(6000)\n"), LoadOptions(), Interruption())


def test_an_engine_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="cannot be started"):
        run_load(tmp_path / "missing", LoadOptions(), Interruption())


def test_nothing_is_left_open(program: Program) -> None:
    engine = program(leaves("closed"))
    run_load(engine, LoadOptions(), Interruption())
    before = os.listdir("/proc/self/fd")  # noqa: PTH208
    run_load(engine, LoadOptions(), Interruption())
    assert len(os.listdir("/proc/self/fd")) == len(before)  # noqa: PTH208


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"null", b'{"elapsed_s":"x"}', b"\xff", b'"text"'])
def test_what_is_no_progress_is_passed_over(line: bytes) -> None:
    assert parse_load_progress(line) is None


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_progress_comes_in_any_pieces(size: int) -> None:
    reader = ProgressReader(parse_load_progress)
    text = LINE * 3
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert [one for piece in pieces for one in reader.feed(piece)] == [parse_load_progress(LINE)] * 3
