"""One trial, with a stand-in for the engine: its collected files, and engines that misbehave."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from doubles.given_clock import GivenClock
from doubles.meanwhile import as_soon_as
from httpdyno.errors import EngineFailed, Interrupted, InvalidValue
from httpdyno.judge import Expectations
from httpdyno.lab.engine import Engine, engine_refusal
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Progress, Silence
from httpdyno.lab.room import Command, RoomSpec
from httpdyno.lab.run_room import run_room
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import TrialFiles
from httpdyno.model import Condition, Fitness, Workload
from httpdyno.subjects.engine_program import find_engine

UPPER_CASE = ("tr", "a-z", "A-Z")


class Witness:
    def __init__(self, *, wants_output: bool = True) -> None:
        self.wants_output = wants_output
        self.seen: list[Progress] = []
        self.silences: list[Silence] = []
        self.printed = b""

    def expected(self, expectations: Expectations) -> None:
        raise AssertionError(expectations)

    def progress(self, progress: Progress) -> None:
        self.seen.append(progress)

    def output(self, piece: bytes) -> None:
        self.printed += piece

    def silent(self, silence: Silence) -> None:
        self.silences.append(silence)


@pytest.fixture
def urls() -> Iterator[ScratchFile]:
    with ScratchFile() as file:
        file.file.write(b"https://a.example/\n")
        file.file.flush()
        yield file


def run(
    engine: Path,
    urls: ScratchFile,
    argv: tuple[str, ...] = UPPER_CASE,
    witness: Witness | None = None,
    interruption: Interruption | None = None,
    *,
    answers_lines: bool = False,
) -> TrialFiles:
    command = Command(argv, Path("/"), {"GREETING": "hello"})
    spec = RoomSpec(command, Condition("bench", "plain", Workload(()), deadline_s=1))
    return run_room(engine, spec, urls, interruption or Interruption(), witness, answers_lines=answers_lines)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_report_streams_and_progress_are_gathered(stand_in_engine: Path, urls: ScratchFile) -> None:
    before = open_descriptors()
    witness = Witness()
    shell = ("sh", "-c", "tr a-z A-Z; echo $GREETING >&2; exit 125")
    with run(stand_in_engine, urls, shell, witness) as evidence:
        # A failed engine exits with 125: a subject may do so, too.
        assert evidence.report["subject"]["exit_code"] == 125
        assert evidence.stdout.read_text() == "HTTPS://A.EXAMPLE/\n"
        assert evidence.stderr.read_text() == "hello\n"
        assert evidence.arrivals.read_text().startswith("at_ns,")
    assert witness.printed == b"HTTPS://A.EXAMPLE/\n"
    assert [(progress.phase, progress.requests) for progress in witness.seen] == [
        ("preparing", 0),
        ("running", 0),
        ("done", 10),
    ]
    assert open_descriptors() == before


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("refuse", "the engine failed: no user namespaces here; run as root"),
        ("no-report", "the engine failed: ended with exit status 0: it printed nothing"),
        ("garbage-report", "the engine failed: ended with exit status 0"),
    ],
)
def test_an_engine_that_fails_is_one_line(
    stand_in_engine: Path, urls: ScratchFile, monkeypatch: pytest.MonkeyPatch, wrong: str, said: str
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", wrong)
    before = open_descriptors()
    with pytest.raises(EngineFailed) as caught:
        run(stand_in_engine, urls)
    assert str(caught.value).startswith(said)
    assert open_descriptors() == before


def test_an_engine_that_is_no_program_is_one_line(urls: ScratchFile, tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="cannot be started: No such file or directory; renew the engine with: "):
        run(tmp_path / "absent", urls)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> GivenClock:
    """The clock of the wait for the engine; it stands still unless a test moves it."""
    given = GivenClock()
    monkeypatch.setattr("httpdyno.lab.run_room.time", given)
    for name, seconds in {"_PREPARING_S": 60, "_PREPARING_S_PER_MIB": 60, "_GRACE_S": 30, "_STOP_S": 10}.items():
        monkeypatch.setattr(f"httpdyno.lab.run_room.{name}", seconds)
    return given


class ClockMover(Witness):
    """Lets time pass when the engine reports a phase: at once, or with each later reading of the clock."""

    def __init__(self, clock: GivenClock, *, at_once: dict[str, float] | None = None, from_then_on: str = "") -> None:
        super().__init__()
        self._clock = clock
        self._at_once = at_once or {}
        self._from_then_on = from_then_on

    def progress(self, progress: Progress) -> None:
        super().progress(progress)
        self._clock.now_s += self._at_once.get(progress.phase, 0.0)
        if progress.phase == self._from_then_on:
            self._clock.step_s = 10.0


@pytest.mark.parametrize(("answers_lines", "silences"), [(True, [(0, 1)]), (False, [])])
def test_a_silent_client_is_reported_where_lines_are_due(
    stand_in_engine: Path,
    urls: ScratchFile,
    monkeypatch: pytest.MonkeyPatch,
    clock: GivenClock,
    *,
    answers_lines: bool,
    silences: list[tuple[int, int]],
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "hang")
    witness = ClockMover(clock, from_then_on="running")
    with pytest.raises(EngineFailed, match="did not end within 41 s"):
        run(stand_in_engine, urls, witness=witness, answers_lines=answers_lines)
    assert [(silence.printed, silence.given) for silence in witness.silences] == silences


@pytest.mark.parametrize("wrong", ["hang", "deaf"])
def test_an_engine_that_does_not_end_is_killed(
    stand_in_engine: Path, urls: ScratchFile, monkeypatch: pytest.MonkeyPatch, clock: GivenClock, wrong: str
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", wrong)
    # A deadline of 1 s, 30 s to clear the room, 10 s to stop.
    with pytest.raises(EngineFailed, match=r"did not end within 41 s of the subject's start and was killed; try"):
        run(stand_in_engine, urls, witness=ClockMover(clock, from_then_on="running"))


def test_an_engine_that_does_not_start_the_subject_is_killed(
    stand_in_engine: Path, urls: ScratchFile, monkeypatch: pytest.MonkeyPatch, clock: GivenClock
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "prepare")
    with pytest.raises(EngineFailed, match="did not start the subject within 60 s and was killed; try again"):
        run(stand_in_engine, urls, witness=ClockMover(clock, from_then_on="preparing"))


def test_the_time_of_a_trial_counts_from_the_start_of_the_subject(
    stand_in_engine: Path, urls: ScratchFile, clock: GivenClock
) -> None:
    # Both together are more than either may take.
    with run(stand_in_engine, urls, witness=ClockMover(clock, at_once={"preparing": 50, "running": 39})) as evidence:
        assert evidence.report["outcome"] == "exited"


def test_a_long_list_may_take_longer_to_prepare(
    stand_in_engine: Path, urls: ScratchFile, monkeypatch: pytest.MonkeyPatch, clock: GivenClock
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("FAKE_ENGINE", "prepare")
        with pytest.raises(EngineFailed, match="did not start the subject within 60 s"):
            run(stand_in_engine, urls, witness=ClockMover(clock, at_once={"preparing": 100}))
    urls.file.write(b"https://a.example/\n" * 60_000)
    urls.file.flush()
    clock.now_s = 0.0
    with run(stand_in_engine, urls, witness=ClockMover(clock, at_once={"preparing": 100})) as evidence:
        assert evidence.report["outcome"] == "exited"


def test_output_without_an_observer_is_not_read(stand_in_engine: Path, urls: ScratchFile) -> None:
    witness = Witness(wants_output=False)
    with run(stand_in_engine, urls, witness=witness) as evidence:
        assert evidence.stdout.read_text() == "HTTPS://A.EXAMPLE/\n"
    assert witness.printed == b""
    assert witness.seen


@pytest.mark.parametrize(
    ("wrong", "seconds_at_each_look"),
    # The deaf one is killed at its deadline; the other one ends by itself, however long that takes.
    [("hang", 0.0), ("deaf", 5.0)],
)
def test_a_signal_ends_the_trial(
    stand_in_engine: Path,
    urls: ScratchFile,
    monkeypatch: pytest.MonkeyPatch,
    clock: GivenClock,
    wrong: str,
    seconds_at_each_look: float,
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", wrong)
    witness = Witness()

    def stop() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        clock.step_s = seconds_at_each_look

    # While the signal may come it is caught: it would end all tests.
    with (
        Interruption() as interruption,
        as_soon_as(lambda: [news for news in witness.seen if news.phase == "running"], stop),
    ):
        with pytest.raises(Interrupted):
            run(stand_in_engine, urls, witness=witness, interruption=interruption)
        assert interruption.requested


@pytest.mark.usefixtures("clock")
def test_a_second_signal_does_not_wait(
    stand_in_engine: Path, urls: ScratchFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "deaf")
    interruption = Interruption()
    interruption.request()
    interruption.request()
    # The clock stands still: a wait for the engine would last for ever.
    with pytest.raises(Interrupted):
        run(stand_in_engine, urls, interruption=interruption)


def test_signals_are_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption() as interruption:
        assert signal.getsignal(signal.SIGTERM) != before
        signal.raise_signal(signal.SIGINT)
        assert (interruption.requested, interruption.urgent) == (True, False)
        signal.raise_signal(signal.SIGHUP)
        assert interruption.urgent
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_engine_answers_questions(stand_in_engine: Path) -> None:
    engine = Engine(stand_in_engine)
    assert engine.version() == "0.0.0"
    assert [(fact.name, fact.ok) for fact in engine.doctor()] == [
        ("cpus", Fitness.YES),
        ("perf", Fitness.LIMITED),
        ("tun", Fitness.NO),
    ]
    with ScratchFile() as file, ScratchFile() as expected:
        engine.urls(web="plain", seed=1, limit=2, into=file.file)
        assert file.read_text() == "https://host0.example/\nhttps://host1.example/\n"
        engine.expect(Condition("bench", "plain", Workload(())), file.path, expected.file)
        assert len(expected.read_text().splitlines()) == 3
    with ScratchFile() as file, pytest.raises(InvalidValue, match="there is no web 'nowhere'"):
        engine.urls(web="nowhere", seed=1, limit=2, into=file.file)


@pytest.mark.parametrize(
    "answer",
    [
        "nonsense",
        "{}",
        "[1]",
        '[{"name": "cpus"}]',
        '[{"name": "cpus", "value": 2, "ok": true, "consequence": null, "cure": null}]',
        '[{"name": "cpus", "value": 2, "ok": "yes", "mood": "good"}]',
        '[{"name": "cpus", "value": 1, "ok": "no", "consequence": null, "cure": null}]',
    ],
)
def test_facts_of_another_form_are_refused(tmp_path: Path, answer: str) -> None:
    program = tmp_path / "engine"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(EngineFailed, match=r"engine doctor: .*"):
        Engine(program).doctor()


def test_the_variable_names_the_place_of_the_engine(
    stand_in_engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPDYNO_ENGINE", str(stand_in_engine))
    assert find_engine() == stand_in_engine
    monkeypatch.setenv("HTTPDYNO_ENGINE", str(tmp_path))
    with pytest.raises(EngineFailed, match="HTTPDYNO_ENGINE=.* is not an executable program"):
        find_engine()


def test_a_refusal_of_the_engine_has_its_reason() -> None:
    assert engine_refusal("noise\nhttpdyno-engine: no room: out of space\n", 125) == "no room: out of space"
    assert engine_refusal("thread panicked\n", 101) == "ended with exit status 101: thread panicked"
    assert engine_refusal("", -9) == "ended with exit status -9: it printed nothing"
    said = "httpdyno-engine: compressing the pages of the web\n"
    assert engine_refusal(said, -9) == "ended with exit status -9: it printed nothing"
