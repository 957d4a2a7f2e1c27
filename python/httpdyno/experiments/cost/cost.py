"""The cost question as an experiment: the same documents, one after another, for each subject and each setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.cost.figures import Coding, CostPoint
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.plan import ListedPlan
from httpdyno.experiments.restoring import only_web, reading_settings
from httpdyno.experiments.schedule import renumbered, schedule, usual_repeat
from httpdyno.lab.peer import PEER_URL
from httpdyno.model import Condition, Link, Subject, SubjectKind, UrlSeries, Workload
from httpdyno.store import WebIdentity

__all__ = ["DOCUMENTS", "NAME", "QUICK_DOCUMENTS", "Cost", "able_to", "restore_cost"]

NAME: Final = "cost"
DOCUMENTS: Final = 10_000
"""As published."""
QUICK_DOCUMENTS: Final = 2_000
_CHECK: Final = "json"
_HOST: Final = "http://cost.example"
_OWN: Final = (
    "documents",
    "keepalive",
    "gzip",
    "timeout_s",
    "deadline_s",
    "memory_bytes",
    "link",
    "link_seed",
    "against",
    "peer",
    "peer_folder",
    "repeat",
    "quick",
    "preset",
    "scale",
)
"""The fields that are settings under their own names."""
_LATER: Final = frozenset({"link_seed", "against"})
"""Settings that runs of an older version do not have: they were made without."""
_BOTH: Final = "both"
_CHOICES: Final[Mapping[str, tuple[bool, ...]]] = {"on": (True,), "off": (False,), _BOTH: (True, False)}


@dataclass(frozen=True, slots=True)
class Cost:
    """How much does a subject spend on documents that it fetches, parses and checks one after another.

    Raises
    ------
    InvalidValue
        If there are no documents, or an axis has another value than ``on``, ``off`` and ``both``.
    """

    documents: int = DOCUMENTS
    keepalive: str = "on"
    """``on``, ``off`` or ``both``."""
    gzip: str = "off"
    """Likewise."""
    timeout_s: float = 5.0
    deadline_s: float = 600.0
    memory_bytes: int | None = None
    link: str = "direct"
    link_seed: int = 1
    """Which packets are lost follows from it."""
    against: str | None = None
    """The origin of another machine that has the documents; None: it is in the room."""
    peer: str | None = None
    """The server that has the documents; None: our origin."""
    peer_folder: str | None = None
    """Where its ``subject.toml`` lies."""
    web: str = "plain"
    seed: int = 1
    web_digest: str | None = None
    """What the engine says of web and seed."""
    repeat: int | None = None
    """How often each subject runs; None: as many times as is usual."""
    quick: bool = False
    preset: str | None = None
    """The publication whose subjects and documents it has; None: chosen otherwise."""
    scale: str | None = None
    """The share of the preset's documents."""

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
        """Interleave the trials of all subjects in blocks; a subject is left out where it cannot do what is asked.

        Raises
        ------
        InvalidValue
            If the repeat is below 1, or nobody can do any of it.
        """
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
        return {name: getattr(self, name) for name in _OWN}


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


def restore_cost(settings: Mapping[str, Setting], webs: Sequence[WebIdentity]) -> Cost:
    """Make the experiment again from what its manifest says.

    Parameters
    ----------
    settings : mapping
        As ``Cost.settings`` gives them; others are left alone.
    webs : sequence of WebIdentity
        As ``Cost.webs`` gives them.

    Raises
    ------
    UnreadableRun
        If a setting is missing or cannot be.
    """
    with reading_settings():
        web = only_web(webs)
        own: dict[str, Any] = {name: settings[name] for name in _OWN if name in settings or name not in _LATER}
        return Cost(web=web.name, seed=web.seed, web_digest=web.digest, **own)
