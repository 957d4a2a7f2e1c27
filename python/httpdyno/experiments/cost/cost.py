"""The cost question as an experiment: the same documents, one after another, for each subject and each setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.cost.figures import Coding, CostPoint
from httpdyno.experiments.cost.options import NAME, CostOptions
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.plan import ListedPlan
from httpdyno.experiments.restoring import settings_of
from httpdyno.experiments.schedule import renumbered, schedule, usual_repeat
from httpdyno.lab.peer import PEER_URL
from httpdyno.model import Condition, Link, Subject, SubjectKind, UrlSeries, Workload
from httpdyno.store import WebIdentity

__all__ = ["DOCUMENTS", "QUICK_DOCUMENTS", "Cost", "able_to"]

DOCUMENTS: Final = 10_000
"""As published."""
QUICK_DOCUMENTS: Final = 2_000
_CHECK: Final = "json"
_HOST: Final = "http://cost.example"
_BOTH: Final = "both"
_CHOICES: Final[Mapping[str, tuple[bool, ...]]] = {"on": (True,), "off": (False,), _BOTH: (True, False)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(CostOptions):
    """How much does a subject spend on documents that it fetches, parses and checks one after another."""

    documents: int = DOCUMENTS
    seed: int = 1
    web: str = "plain"
    web_digest: str | None = None
    """What the engine says of web and seed."""
    peer_folder: str | None = None
    """Where the ``subject.toml`` of the server lies that has the documents; None: our origin has."""

    def __post_init__(self) -> None:
        """Refuse what no trial can be before anything is built."""
        for option in ("keepalive", "gzip"):
            if (value := getattr(self, option)) not in _CHOICES:
                raise InvalidValue(f"--{option}: {value[:60]!r} is not known; write on, off or both")
        if self.peer is not None and self.gzip != "off":
            raise InvalidValue(
                f"--gzip {self.gzip}: {self.peer} sends documents as it is set up to; leave out --gzip, or --peer"
            )
        _ = self.conditions()

    @property
    def name(self) -> str:
        """The verb."""
        return NAME

    def conditions(self) -> Sequence[Condition]:
        """Return a condition for each setting of the connections and of the coding."""
        codings = [Coding.GZIP if zipped else Coding.IDENTITY for zipped in reversed(_CHOICES[self.gzip])]
        grid = [(keepalive, coding) for keepalive in _CHOICES[self.keepalive] for coding in codings]
        return [self._condition(keepalive, coding, alone=len(grid) == 1) for keepalive, coding in grid]

    def _condition(self, keepalive: bool, coding: Coding, *, alone: bool) -> Condition:
        words = ["keep-alive" if keepalive else "no keep-alive"] * (self.keepalive == _BOTH)
        words += [coding.value] * (self.gzip == _BOTH)
        urls = f"{PEER_URL}/json?n=" if self.peer else f"{self.against or _HOST}/json?coding={coding.value}&n="
        return Condition(
            experiment=NAME,
            web=self.web,
            workload=Workload(
                UrlSeries(urls, self.documents), timeout_s=self.timeout_s, keepalive=keepalive, check=_CHECK
            ),
            seed=self.seed,
            concurrency=1,
            link=Link.parse(self.link),
            link_seed=self.link_seed,
            against=self.against,
            deadline_s=self.deadline_s,
            memory_bytes=self.memory_bytes,
            name="" if alone else ", ".join(words),
            peer=self.peer,
            receive_steering=self.against is None,
            point=CostPoint(self.documents, coding),
        )

    def plan(self, subjects: Sequence[Subject]) -> ListedPlan:
        """Interleave the trials of all subjects in blocks; a subject is left out where it cannot do what is asked."""
        repeat = usual_repeat(len(subjects), quick=self.quick) if self.repeat is None else self.repeat
        planned = schedule(subjects, self.conditions(), repeat=repeat, seed=self.seed)
        able = [plan for plan in planned if able_to(plan.subject, plan.condition)]
        if not able:
            raise InvalidValue("cost: none of these subjects can do what is asked; choose others, or other settings")
        return ListedPlan(renumbered(able), {"repeat": repeat})

    def webs(self) -> tuple[WebIdentity]:
        """Return the web that has the documents."""
        return (WebIdentity(self.web, self.seed, self.web_digest),)

    def settings(self) -> Mapping[str, Setting]:
        """Return the options that it was made with."""
        return settings_of(self)


def able_to(subject: Subject, condition: Condition) -> bool:
    """Return whether a subject can do what a condition asks.

    A client that cannot close its connections is not asked to; one that cannot keep them is measured as it is where
    they may be kept, as a session is used where a library has one. A tool decodes nothing.
    """
    point = condition.get(CostPoint)
    if subject.kind is SubjectKind.TOOL:
        template = subject.sequence_argv if condition.workload.keepalive else subject.sequence_close_argv
        return bool(template) and (point is None or point.coding is Coding.IDENTITY)
    claims = subject.capabilities.keepalive
    return condition.workload.keepalive or not claims or False in claims
