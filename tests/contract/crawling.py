"""One crawl of a client in a room: how it is run, and what can be read from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from httpdyno.judge import Expectations, JudgedTrial
from httpdyno.judge.saturation import TIMED_OUT_SATURATED
from httpdyno.lab.client_trial import run_client_trial
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.lab import Lab
from httpdyno.lab.progress import Progress
from httpdyno.lab.room import Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.silence import Silence
from httpdyno.model import Condition, Outcome, TrialPlan, Workload
from httpdyno.subjects.build import Build
from httpdyno.subjects.builder import BuildOutcome

__all__ = ["HANG_S", "HONEST_S", "Crawled", "Listener", "crawl_in_room", "urls_of"]

HONEST_S = 60.0
"""A request timeout where every answer is honest: nothing but a hang takes as long."""
HANG_S = 300.0
"""Patience with a client, beyond what its stalls take."""


@dataclass
class Listener:
    """Keeps what a client prints."""

    printed: bytearray = field(default_factory=bytearray)
    wants_output: bool = True

    def expected(self, expectations: Expectations) -> None:
        """Take no interest."""

    def progress(self, progress: Progress) -> None:
        """Take no interest."""

    def output(self, piece: bytes) -> None:
        """Keep it."""
        self.printed += piece

    def silent(self, silence: Silence) -> None:
        """Take no interest."""


@dataclass(frozen=True)
class Crawled:
    """One crawl of a client: what it printed, and what was seen of it."""

    output: str
    judged: JudgedTrial

    @cached_property
    def lines(self) -> list[str]:
        """The lines as printed."""
        return self.output.splitlines()

    @cached_property
    def codes(self) -> dict[str, str]:
        """The code of each URL, without the blanks around it."""
        rows = (line.rsplit(",", 4) for line in self.lines)
        return {row[0].strip(): row[1] for row in rows}

    @cached_property
    def wrong(self) -> list[tuple[Any, ...]]:
        """The samples at fault that no known failure explains."""
        samples = self.judged.samples
        if samples.is_empty():
            return []
        fault = (samples["verdict"].cast(pl.String) != "right") & ~samples["explained"]
        return samples.filter(fault).select("url", "code", "body_length", "cause", "verdict").rows()

    @property
    def is_right(self) -> bool:
        """Whether nothing is at fault, and nothing was given up that more time would have shown to be right."""
        if self.judged.trial.outcome is not Outcome.OK or self.wrong:
            return False
        samples = self.judged.samples
        return not (samples["explained"] & (samples["cause"] == TIMED_OUT_SATURATED)).any()

    @property
    def versions(self) -> dict[str, int]:
        """How many requests came in each version of HTTP."""
        return {count.name: count.count for count in self.judged.trial.counters.http_versions or () if count.count}


def crawl_in_room(
    engine: Engine,
    build: Build,
    lines: list[str],
    *,
    web: str = "plain",
    concurrency: int = 10,
    timeout_s: float = HONEST_S,
    deadline_s: float | None = None,
    batch: int | None = None,
    environment: Mapping[str, str] | None = None,
    **settings: Any,
) -> Crawled:
    """Run a client in a room of its own.

    Parameters
    ----------
    engine, build
        The room's, and the client's.
    lines
        What it is given to read.
    deadline_s
        When it is ended; None: later than any list of these tests can take that does not hang.
    batch
        It gets so many lines, and as many again whenever it has answered those; None: all at once.
    environment
        Variables as they are set by nobody who measures.
    settings
        Of the workload: ``keepalive``, ``check``, ``user_agent``, ``http_version``.
    """
    listener = Listener()
    with ScratchFile() as urls:
        urls.file.write("".join(f"{line}\n" for line in lines).encode())
        urls.file.flush()
        workload = Workload(urls.path, timeout_s=timeout_s, **settings)
        if deadline_s is None:
            deadline_s = HANG_S + 15 * timeout_s  # the contract's web has a dozen stalls: one after the other
        condition = Condition("contract", web, workload, concurrency=concurrency, deadline_s=deadline_s, batch=batch)
        subject = replace(build.subject, environment={**build.subject.environment, **(environment or {})})
        plan = TrialPlan(0, 0, 0, subject, condition)
        builds = {subject.id: BuildOutcome(subject, replace(build, subject=subject))}
        judged = Lab(engine, Pinning(), Interruption(), listener, builds, urls=urls).run(plan, run_client_trial)
    return Crawled(listener.printed.decode(), judged)


def urls_of(engine: Engine, web: str, limit: int) -> list[str]:
    """Return the first URLs of a web."""
    with ScratchFile() as file:
        engine.urls(web=web, seed=1, limit=limit, into=file.file)
        return file.read_text().split()
