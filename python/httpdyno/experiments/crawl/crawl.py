"""The crawl (``bench``): the question which client fetches a list of URLs fastest, and how many it gets right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from httpdyno.experiments.crawl.deadline import USUAL_DEADLINE_S
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS, RANKED_BY
from httpdyno.experiments.crawl.options import NAME, WEB, BenchOptions
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.plan import ListedPlan, Plan, RepeatingPlan, TimeBudget
from httpdyno.experiments.restoring import settings_of
from httpdyno.experiments.schedule import schedule, usual_repeat
from httpdyno.judge.rankable import disturbed
from httpdyno.lab.planned_time import OVERHEAD_S
from httpdyno.model import Condition, Link, Subject, Trial
from httpdyno.store import WebIdentity

__all__ = ["HEADLINE", "Crawl"]

HEADLINE: Final = (
    "bun-fetch",
    "deno-fetch",
    "dotnet-httpclient",
    "go-net-http",
    "java-httpclient",
    "node-fetch",
    "node-reqwest",
    "node-undici-request",
    "python-aiohttp",
    "ruby-async-http-rb",
    "rust-reqwest",
)
"""The clients of the table that the published crawl leads with: what is measured when nobody says whom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl(BenchOptions):
    """What a crawl consists of: one condition, the same list of URLs for every subject."""

    file: Path
    """The list of URLs that every subject is given."""
    web: str = WEB
    seed: int = 1
    web_digest: str | None = None
    """What the engine says of web and seed; None on the real internet."""
    concurrency: int | None = None
    deadline_s: float = USUAL_DEADLINE_S
    per_host: int = 1
    per_host_interval_s: float = 0.0
    time_budget_s: float | None = None
    """How long its blocks may take together; None: as long as they do."""

    def __post_init__(self) -> None:
        """Refuse what no trial can be before anything is built."""
        _ = self.condition

    @property
    def condition(self) -> Condition:
        """The single point of the grid."""
        return Condition(
            experiment=NAME,
            web=self.web,
            workload=self.workload(self.file),
            seed=self.seed,
            concurrency=self.concurrency,
            deadline_s=self.deadline_s,
            memory_bytes=self.memory_bytes,
            link=Link.parse(self.link),
            link_seed=self.link_seed,
            against=self.against,
            per_host=self.per_host,
            per_host_interval_s=self.per_host_interval_s,
        )

    @property
    def name(self) -> str:
        """The verb."""
        return NAME

    def conditions(self) -> tuple[Condition]:
        """Return the grid: a single point."""
        return (self.condition,)

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Interleave the trials of all subjects in blocks, and repeat those that other programs disturb.

        The live internet gets no repeats: it is asked no more often than the user has agreed to.
        """
        repeat = usual_repeat(len(subjects), quick=self.quick) if self.repeat is None else self.repeat
        plans = schedule(subjects, self.conditions(), repeat=repeat, seed=self.seed)
        listed = ListedPlan(plans, {"repeat": repeat})
        if self.no_again or self.on_live_web:
            return listed
        (ranked_by,) = (metric for metric in CRAWL_METRICS if metric.name == RANKED_BY)
        budget = None if self.time_budget_s is None else TimeBudget(self.time_budget_s, _took_s)
        return RepeatingPlan(listed, disturbed, ranked_by.figure, self.seed, budget)

    def webs(self) -> tuple[WebIdentity]:
        """Return the web that is crawled."""
        return (WebIdentity(self.web, self.seed, self.web_digest),)

    def settings(self) -> Mapping[str, Setting]:
        """Return the options that it was made with."""
        return settings_of(self)


def _took_s(trial: Trial) -> float:
    """Return how long a trial took in all, in seconds: the wait before it, the client's time, and the rest."""
    own_ns = (trial.summary.time_ns if trial.summary else None) or 0
    return ((trial.cool_down_ns or 0) + own_ns) / 1e9 + OVERHEAD_S
