"""One crawl of a client in a room of its own: how it is run, and what can be read from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import polars as pl

from httpdyno.judge import JudgedTrial
from httpdyno.judge.verdict import TIMED_OUT_SATURATED
from httpdyno.lab.client_trial import CRAWL
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import LocalExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.kept_output import KeptOutput
from httpdyno.lab.room import Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, Outcome, TrialPlan, Verdict, Workload
from httpdyno.subjects.build import Build, BuildOutcome

__all__ = ["CONTRACT_WEB", "HONEST", "Crawled", "Room", "urls_of"]

CONTRACT_WEB: Final = "contract"
"""Every fault once, and every honest oddity."""
HONEST: Final = Workload((), timeout_s=60)
"""What a client is told where every answer is honest: nothing but a hang takes as long."""
_STALLS: Final = 15
"""It has a dozen: a client may meet one after the other."""
_OF_TIME: Final = frozenset({Verdict.LATE, Verdict.FALSE_ERROR, Verdict.WRONG_TIME, Verdict.NOT_REACHED})


@dataclass(frozen=True)
class Crawled:
    """One crawl of a client: what it printed, and what was seen of it."""

    output: str
    judged: JudgedTrial
    told: Workload = HONEST
    given: Sequence[str] = ()
    """The lines that it was given to read."""

    @cached_property
    def lines(self) -> list[str]:
        """The lines as printed."""
        return self.output.splitlines()

    @cached_property
    def rows(self) -> list[tuple[str, str]]:
        """URL and code of each line that has them."""
        return [(row[0], row[1]) for row in (line.rsplit(",", 4) for line in self.lines) if len(row) > 1]

    @cached_property
    def codes(self) -> dict[str, str]:
        """The code of each URL, without the blanks around it."""
        return {url.strip(): code for url, code in self.rows}

    @property
    def unanswered(self) -> list[str]:
        """The lines that say something and have no row."""
        return [line for line in map(str.strip, self.given) if line and line not in self.codes]

    @cached_property
    def wrong(self) -> list[dict[str, Any]]:
        """The samples at fault that no known failure explains, with the columns of ``model.Sample``."""
        samples = self.judged.samples
        if samples.is_empty():
            return []
        fault = (samples["verdict"].cast(pl.String) != Verdict.RIGHT.value) & ~samples["explained"]
        return samples.filter(fault).rows(named=True)

    @property
    def wants_time(self) -> bool:
        """Whether what is at fault may be right with more time."""
        samples = self.judged.samples
        if self.judged.trial.outcome is not Outcome.OK or samples.is_empty():
            return False
        given_up = samples["explained"] & (samples["cause"] == TIMED_OUT_SATURATED)
        return given_up.any() or any(Verdict(sample["verdict"]) in _OF_TIME for sample in self.wrong)

    @property
    def peak(self) -> int | None:
        """The most requests that the origin had in flight together."""
        return self.judged.trial.counters.peak_concurrency

    @property
    def versions(self) -> dict[str, int]:
        """How many requests came in each version of HTTP."""
        return {count.name: count.count for count in self.judged.trial.counters.http_versions or () if count.count}


@dataclass(frozen=True, slots=True)
class Room:
    """Where a built client crawls."""

    engine: Engine
    build: Build
    pinning: Pinning
    interruption: Interruption
    hang_s: float
    """Patience with the client, beyond what its stalls take."""

    def crawl(
        self,
        lines: Sequence[str],
        *,
        web: str = "plain",
        concurrency: int = 10,
        told: Workload = HONEST,
        deadline_s: float | None = None,
        batch: int | None = None,
    ) -> Crawled:
        """Give the client these lines to read.

        ``told``: its settings; the lines take the place of its URLs. ``deadline_s``: when it is ended; None: later than
        any of these lists can take that does not hang. ``batch``: it gets so many lines, and as many again whenever it
        has answered those; None: all at once.
        """
        output, subject = KeptOutput(), self.build.subject
        if deadline_s is None:
            deadline_s = self.hang_s + (_STALLS * told.timeout_s if web == CONTRACT_WEB else 0)
        with ScratchFile() as urls:
            urls.file.write("".join(f"{line}\n" for line in lines).encode())
            urls.file.flush()
            workload = replace(told, urls=urls.path)
            condition = Condition(
                "contract", web, workload, concurrency=concurrency, deadline_s=deadline_s, batch=batch
            )
            builds = {subject.id: BuildOutcome(subject, self.build)}
            executor = LocalExecutor(self.engine, self.pinning, self.interruption, output, builds, urls=urls)
            judged = executor.run(TrialPlan(0, 0, 0, subject, condition), CRAWL)
        return Crawled(output.text, judged, told, lines)


def urls_of(engine: Engine, web: str, limit: int) -> list[str]:
    """Return the first URLs of a web."""
    with ScratchFile() as file:
        engine.urls(web=web, seed=1, limit=limit, into=file.file)
        return file.read_text().split()
