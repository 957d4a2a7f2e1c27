"""Every verdict on a trial, provoked for real: starved, throttled, lying, drifting, overloaded, and honest.

Tables in tests/unit/judge check the verdicts for given counters: here the counters are those of a machine.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

import pytest

from conftest import MakeSubject
from doubles.command_line import Command, Ended
from doubles.honest_trial import judge_validity
from doubles.load import hogs, quota
from doubles.origin import Origin
from httpdyno.judge.validity import RULES, Rule, findings
from httpdyno.lab.engine import Engine
from httpdyno.model import Counters, Outcome, Trial, Validity
from httpdyno.store import open_run

CPUS: Final = sorted(os.sched_getaffinity(0))
ENGINE_CPU, SUBJECT_CPU = CPUS[0], CPUS[-1]
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="engine and subject need a CPU each")

CLIENT = """
import datetime, sys, threading, time, urllib.request

def burn():
    while True:
        pass

{begin}
for number, line in enumerate(sys.stdin):
    start = datetime.datetime.now(datetime.timezone.utc)
    began = time.monotonic()
    {each}
    with urllib.request.urlopen(line.strip(), timeout=60) as answer:
        code, length = answer.status, len(answer.read())
    {then}
    took = (time.monotonic() - began) * 1000
    print(f"{{line.strip()}},{{code}},{{start.isoformat()}},{{took}},{{length}}", flush=True)
"""


def broken_rules(trial: Trial, rules: Sequence[Rule] = RULES) -> set[str]:
    """Name the rules that a trial does not meet."""
    return {finding.rule.name for finding in findings(trial, rules) if finding.passed is False}


def must_be(trial: Trial, validity: Validity, *, for_breaking: str | None = None) -> None:
    """Assert the validity of a trial, and its reason."""
    assert trial.outcome is Outcome.OK, trial.reason
    said = {finding.rule.name: finding.text for finding in findings(trial, RULES)}
    broken = broken_rules(trial)
    assert for_breaking is None or for_breaking in broken, (broken, said[for_breaking])
    assert trial.validity is validity, (broken, trial.validity_reason)


class Try(Protocol):
    """Crawls a list of URLs with a client whose program is modified."""

    def __call__(self, urls: int, *options: str, begin: str = "", each: str = "", then: str = "") -> Trial: ...


@pytest.fixture
def crawl(httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, tmp_path: Path) -> Try:
    def run(urls: int, *options: str, begin: str = "", each: str = "", then: str = "") -> Trial:
        prepare(make_subject, tmp_path, urls, CLIENT.format(begin=begin, each=each, then=then))
        return trial_of(httpdyno(*arguments(subject_folders), *options), tmp_path)

    return run


def prepare(make_subject: MakeSubject, folder: Path, urls: int, program: str) -> None:
    make_subject("client", program)
    listed = "".join(f"http://host{number}.example/bytes/100\n" for number in range(urls))
    (folder / "list").write_text(listed, encoding="utf-8")


def arguments(subject_folders: Path) -> list[str]:
    given = ["bench", "client", "--subjects", str(subject_folders), "--web", "plain", "--urls", "list"]
    return [*given, "--repeat", "1", "--timeout", "60", "--cpus", f"{SUBJECT_CPU}:{ENGINE_CPU}"]


def trial_of(ended: Ended, folder: Path) -> Trial:
    assert ended.code == 0, ended.err
    (run,) = (folder / "runs").iterdir()
    (trial,) = open_run(run).records()
    return trial


def test_a_lying_subject_is_incorrect(crawl: Try) -> None:
    # Longer than the second that a share needs to be judged.
    trial = crawl(150, each="time.sleep(0.01)", then="code = 404")
    assert trial.outcome is Outcome.OK, trial.reason
    found = {finding.rule.name: finding for finding in findings(trial, RULES)}
    assert found["wrong_answers"].passed is False
    assert "150 of 150, most of them wrong_status" in found["wrong_answers"].text
    judged = {name for name, finding in found.items() if finding.passed is not None}
    assert judged >= {"origin_cpu", "origin_lateness", "foreign_cpu", "wrong_answers"}
    # Other effects of a busy machine would come first: the machine's counters are removed.
    assert judge_validity(replace(trial, counters=Counters()), RULES)[0] is Validity.INCORRECT


@pytest.mark.measured
@two_cpus
def test_an_honest_trial_is_valid(crawl: Try) -> None:
    trial = crawl(900, each="time.sleep(0.008)")
    must_be(trial, Validity.VALID)
    judged = {finding.rule.name for finding in findings(trial, RULES) if finding.passed}
    assert judged >= {"origin_cpu", "origin_lateness", "foreign_cpu", "wrong_answers", "drift"}


@pytest.mark.measured
@two_cpus
def test_an_origin_whose_cpu_is_hogged_is_disturbed(crawl: Try) -> None:
    with hogs(ENGINE_CPU, 3):
        # Several times the second that a share needs, however quickly this kernel wakes sleepers.
        trial = crawl(5000)
    assert trial.validity is Validity.DISTURBED, trial.validity_reason
    waiting = {finding.rule.name: finding for finding in findings(trial, RULES)}["origin_waiting"]
    # If the kernel does not count it, the busy CPU shows.
    assert waiting.passed is (None if trial.counters.origin_waiting_ns is None else False), waiting.text


@pytest.mark.measured
def test_an_origin_that_shares_its_cpu_with_a_busy_subject_is_disturbed(crawl: Try) -> None:
    # Several times the second that a share needs, on a quick machine too.
    trial = crawl(
        4000, "--cpus", f"{ENGINE_CPU}:{ENGINE_CPU}", begin="threading.Thread(target=burn, daemon=True).start()"
    )
    assert trial.validity in {Validity.DISTURBED, Validity.ORIGIN_LIMITED}, trial.validity_reason


@pytest.mark.measured
@two_cpus
def test_a_subject_whose_cpu_is_hogged_is_disturbed(crawl: Try) -> None:
    with hogs(SUBJECT_CPU, 1):
        # Longer than the second that a share needs, on a quick machine too.
        trial = crawl(8000)
    must_be(trial, Validity.DISTURBED, for_breaking="foreign_cpu")
    # Of several broken rules the trial names the first, and steal comes before.
    said = {finding.rule.name: finding.text for finding in findings(trial, RULES)}
    assert "of the subject's CPU time" in said["foreign_cpu"]


@pytest.mark.measured
def test_programs_that_a_quota_stops_are_no_measure(
    start: Callable[..., "subprocess.Popen[str]"],
    wait_for_end: Callable[[object], Ended],
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
) -> None:
    prepare(make_subject, tmp_path, 200, CLIENT.format(begin="", each="", then=""))
    with quota(0.2) as group:
        if group is None:
            pytest.skip("no control group with a CPU quota can be made here")
        process = start(*arguments(subject_folders))
        (group / "cgroup.procs").write_text(str(process.pid))
        trial = trial_of(wait_for_end(process), tmp_path)
    assert trial.outcome is Outcome.OK, trial.reason
    found = {finding.rule.name: finding for finding in findings(trial, RULES)}["throttling"]
    assert found.passed is False, found.text
    # Both suffer from it: the one that was stopped longer is named first.
    assert trial.validity is Validity.DISTURBED


@pytest.mark.measured
@two_cpus
def test_a_subject_that_slows_down_is_unsteady(crawl: Try) -> None:
    # In the middle of the steady state, whether or not a quarter of it is taken for a warm-up.
    trial = crawl(915, each="time.sleep(0.006 if number < 700 else 0.016)")
    must_be(trial, Validity.UNSTEADY, for_breaking="drift")


@pytest.mark.measured
@two_cpus
@pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="links need /dev/net/tun: modprobe tun")
def test_a_link_that_is_full_is_the_limit(httpdyno: Command, make_subject: MakeSubject, tmp_path: Path) -> None:
    # Answers of 0.8 s each, with next to nothing between them.
    folder = make_subject("client", CLIENT.format(begin="", each="", then="")).parent
    listed = "".join(f"http://host{number}.example/bytes/100000\n" for number in range(3))
    (tmp_path / "list").write_text(listed, encoding="utf-8")
    ended = httpdyno(*arguments(folder), "--link", "down.rate=1mbit,queue=1s", "--format", "json")
    (run,) = (tmp_path / "runs").iterdir()
    (trial,) = open_run(run).records()
    if trial.outcome is Outcome.REFUSED and "the link is not as requested" in (trial.reason or ""):
        pytest.skip(f"this machine is too busy for a link: {trial.reason}")
    assert (ended.code, trial.outcome) == (0, Outcome.OK), ended.err
    said = {finding.rule.name: finding for finding in findings(trial, RULES)}
    assert said["link_rate"].passed is False, said["link_rate"].text
    assert "to the subject" in said["link_rate"].text
    # Rules of the origin come before it: a machine that is busy may break those, too.
    assert trial.validity in {Validity.LINK_LIMITED, Validity.ORIGIN_LIMITED}, trial.validity_reason


@pytest.mark.measured
def test_a_generator_whose_cpu_is_hogged_is_the_limit(httpdyno: Command, engine: Engine, tmp_path: Path) -> None:
    origin = Origin(engine, tmp_path)
    try:
        with hogs(SUBJECT_CPU, 3):
            load = ("load", f"http://localhost:{origin.ports['http']}/plain", "--rate", "60000", "-d", "2s")
            # So many requests that all connections are in flight, and there is no send lag.
            ended = httpdyno(*load, "-c", "500", "--cpus", str(SUBJECT_CPU), "--format", "json")
    finally:
        origin.kill()
    assert ended.code == 0, ended.err
    (trial,) = open_run(next((tmp_path / "runs").iterdir())).records()
    assert "waited for its CPU" in (trial.validity_reason or "")
    assert trial.validity is Validity.GENERATOR_LIMITED, trial.validity_reason
    assert [row["verdict"] for row in ended.rows] == [Validity.GENERATOR_LIMITED]
