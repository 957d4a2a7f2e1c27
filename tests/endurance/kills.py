"""Kills processes of every verb at random moments, and looks for leftovers and torn files."""

import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from doubles.traces import Traces, describe
from endurance.lane import CRASHED, PATIENCE_S, REFUSED, Lane
from endurance.verbs import VERBS, Verb
from endurance.victims import PARTS, Part, kill_one, parts_of
from httpdyno.lab.engine import Engine
from httpdyno.subjects.engine_program import find_engine

NO_VICTIM = "none"
UNENDING_S = 1.5
TRIES = 4
"""An attempt whose process ended before the kill is repeated, each time earlier by this factor."""
EARLIER = 0.4


@dataclass(frozen=True, slots=True)
class Attempt:
    """The process to kill, and when."""

    verb: Verb
    part: Part
    share: float
    """Of the time between the first sight of the part and the usual end of the command."""
    goes_on: bool
    """Whether the run is resumed afterwards."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result."""

    verb: str
    part: str
    at_ms: int
    found: tuple[str, ...]


def plan(count: int, seed: int, verbs: Sequence[Verb]) -> list[Attempt]:
    """Draw the attempts: every part equally often, and for each part every verb that has it."""
    chance = random.Random(seed)
    played = {part: [verb for verb in verbs if part in verb.parts] for part in PARTS}
    parts = [part for part in PARTS if played[part]]
    waiting: dict[Part, list[Verb]] = {part: [] for part in parts}
    attempts = []
    while len(attempts) < count:
        part = parts[len(attempts) % len(parts)]
        waiting[part] = waiting[part] or chance.sample(played[part], len(played[part]))
        attempts.append(Attempt(waiting[part].pop(), part, chance.random(), goes_on=chance.random() < 0.5))
    return attempts


class Pace:
    """How long each verb takes here without a kill: as given, or measured at first use."""

    def __init__(self, told_s: float | None = None) -> None:
        self._told_s = told_s
        self._lasts_s: dict[tuple[str, Part], float] = {}

    def of(self, verb: Verb, part: Part, lane: Lane) -> float:
        """Return seconds, from the first sight of a part."""
        if self._told_s is not None:
            return self._told_s
        if not verb.ends:
            return UNENDING_S
        if (verb.name, part) not in self._lasts_s:
            # The first time it may have to build, or to probe.
            lane.begin(verb).wait(PATIENCE_S)
            command = lane.begin(verb)
            began = {seen: time.monotonic() for seen in _sights(command, verb)}
            command.wait(PATIENCE_S)
            self._lasts_s |= {(verb.name, seen): time.monotonic() - at for seen, at in began.items()}
        return self._lasts_s.get((verb.name, part), 0.0)


def _sights(command: "subprocess.Popen[str]", verb: Verb) -> Iterator[Part]:
    """Return when each part of a verb is first seen, and the end of the command."""
    unseen = set(verb.parts)
    while unseen and command.poll() is None:
        seen = unseen.intersection(parts_of(command.pid))
        unseen -= seen
        yield from seen
        time.sleep(0.01)


def attempt(wanted: Attempt, lane: Lane, pace: Pace, chance: random.Random) -> Outcome:
    """Start the verb, kill, check; repeat if all processes had ended before."""
    for again in range(TRIES):
        sooner = replace(wanted, share=wanted.share * EARLIER**again)
        outcome = _attempt(sooner, lane, pace, chance)
        if outcome.part == wanted.part or outcome.found:
            break
    return outcome


def _attempt(wanted: Attempt, lane: Lane, pace: Pace, chance: random.Random) -> Outcome:
    after_s = wanted.share * pace.of(wanted.verb, wanted.part, lane)
    began = time.monotonic()
    command = lane.begin(wanted.verb)
    killed = _kill(command, wanted, after_s, chance)
    at_ms = round((time.monotonic() - began) * 1000)
    found = list(_ended(command, wanted.part if killed else None, wanted.verb, lane))
    left = lane.left()
    if left != Traces():
        found.append(f"left: {left}")
    found += [f"left: device {device}" for device in sorted(lane.new_devices())]
    for process in lane.processes():
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    found += lane.torn(wanted.verb, goes_on=wanted.goes_on)
    part = wanted.part if killed else f"{NO_VICTIM}: no {wanted.part}"
    return Outcome(wanted.verb.name, part, at_ms, tuple(found))


def _kill(command: "subprocess.Popen[str]", wanted: Attempt, after_s: float, chance: random.Random) -> bool:
    """Wait for a process of the part, then for the moment, then for a process again; kill."""
    deadline = time.monotonic() + PATIENCE_S
    due: float | None = None
    while command.poll() is None and time.monotonic() < deadline:
        if due is None:
            due = time.monotonic() + after_s if wanted.part in parts_of(command.pid) else None
        elif time.monotonic() >= due and kill_one(command.pid, wanted.part, chance):
            return True
        time.sleep(0.01 if due is None else max(0.01, min(0.1, due - time.monotonic())))
    return False


def _ended(command: "subprocess.Popen[str]", part: Part | None, verb: Verb, lane: Lane) -> Iterator[str]:
    """Wait for the command, whichever of its processes was killed."""
    if part not in ("command", None) and not verb.ends:
        command.terminate()
    try:
        command.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        yield f"does not end within {PATIENCE_S:.0f} s: {[describe(process) for process in lane.processes()]}"
        command.kill()
        command.wait()
    if part is None and command.returncode == REFUSED:
        yield f"refused: {lane.said().strip()[-400:]}"
    if CRASHED.search(lane.said()):
        yield f"crashed: {lane.said().strip()[-400:]}"


def run(count: int, seed: int, lanes: int, only: Sequence[str] = (), *, told_s: float | None = None) -> int:
    """Make a number of kills; print a line for each, and a table. The status is 1 if a defect was found."""
    verbs = [verb for verb in VERBS if not only or verb.name in only]
    if not verbs or count < 1 or lanes < 1:
        raise SystemExit(f"endure: nothing to kill; there are {', '.join(verb.name for verb in VERBS)}")
    waiting = deque(enumerate(plan(count, seed, verbs)))
    outcomes: list[Outcome] = []
    engine = Engine(find_engine())
    with origin(engine) as address, tempfile.TemporaryDirectory(prefix="endure-kills-") as name:
        pace, failures, begun = Pace(told_s), list[BaseException](), list[Lane]()

        def work(number: int) -> None:
            try:
                lane = Lane(Path(name, f"lane-{number}"), engine, address, verbs)
                begun.append(lane)
                while waiting and not failures:
                    index, wanted = waiting.popleft()
                    outcome = attempt(wanted, lane, pace, random.Random(f"{seed}-{index}"))
                    outcomes.append(outcome)
                    print(f"{index:4} {line(outcome)}", flush=True)
                    if outcome.found:
                        _keep_evidence(lane, Path(tempfile.gettempdir(), f"endure-found-{os.getpid()}-{index}"))
            except BaseException as failure:
                failures.append(failure)
                raise

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(lanes)]
        _run(threads, waiting, begun)
    print(table(outcomes))
    if failures:
        print(f"ended early: {failures[0]}")
    missed = sum(outcome.part.startswith(NO_VICTIM) for outcome in outcomes)
    if 2 * missed > count:
        print(f"{missed} of {count} attempts killed no process: the parts of a run have changed")
    return 1 if failures or 2 * missed > count or any(outcome.found for outcome in outcomes) else 0


def _run(threads: Sequence[threading.Thread], waiting: deque[tuple[int, Attempt]], lanes: Sequence[Lane]) -> None:
    """Run the threads to their end; an exception, as a signal raises it, ends the commands of all lanes first."""
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        waiting.clear()
        while any(thread.is_alive() for thread in threads):
            for lane in tuple(lanes):
                lane.close()
            time.sleep(0.05)


def _keep_evidence(lane: Lane, folder: Path) -> None:
    for name in ("runs", "err", "out"):
        source = lane.folder / name
        if source.is_dir():
            shutil.copytree(source, folder / name, dirs_exist_ok=True)
        elif source.exists():
            folder.mkdir(exist_ok=True)
            shutil.copy(source, folder / name)


@contextmanager
def origin(engine: Engine) -> Iterator[str]:
    """Serve a web that is not killed; return its address."""
    argv = [str(engine.path), "origin", "--web", "plain", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()


def line(outcome: Outcome) -> str:
    """Write one outcome."""
    verb, part, at_ms, found = astuple(outcome)
    return f"{verb:17} {part:20} {at_ms:6} ms  {'; '.join(found) or 'nothing left, nothing torn'}"


def table(outcomes: Sequence[Outcome]) -> str:
    """Count kills by verb and part, and defects."""
    parts = (*PARTS, NO_VICTIM)
    counts = Counter((outcome.verb, outcome.part.partition(":")[0]) for outcome in outcomes)
    rows = [f"{'killed':17} " + " ".join(f"{part:>8}" for part in parts) + f" {'found':>8}"]
    for verb in dict.fromkeys(outcome.verb for outcome in outcomes):
        found = sum(bool(outcome.found) for outcome in outcomes if outcome.verb == verb)
        rows.append(f"{verb:17} " + " ".join(f"{counts[verb, part]:8}" for part in parts) + f" {found:8}")
    found = sum(bool(outcome.found) for outcome in outcomes)
    killed = sum(outcome.part in PARTS for outcome in outcomes)
    return "\n".join([*rows, f"{killed} kills, {found} with something found"])
