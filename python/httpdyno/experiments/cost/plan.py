"""Plan the cost experiment: its documents, clients, tools and server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, Final

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.against import server_settings
from httpdyno.experiments.cost.judge import Coding, CostPoint
from httpdyno.experiments.cost.options import NAME, CostOptions
from httpdyno.experiments.crawl.plan import HEADLINE
from httpdyno.experiments.experiment import Beginning, Begun, Tell
from httpdyno.experiments.options import stored_options
from httpdyno.experiments.participants import find_peer, require_able
from httpdyno.experiments.plan import ListedPlan, listed_blocks
from httpdyno.experiments.restoring import OfOneWeb
from httpdyno.lab.engine import Engine
from httpdyno.lab.web_answers import PEER_URL
from httpdyno.model import Condition, Subject, SubjectKind, UrlSeries, Workload
from httpdyno.published import find_preset, parse_scale
from httpdyno.subjects.catalogue import Catalogue

_DOCUMENTS: Final = 10_000
"""As published."""
_QUICK_DOCUMENTS: Final = 2_000
_WEB: Final = "plain"
_TOOLS: Final = ("ab", "httperf")
"""Tools of the publication, shown with the clients."""
_BOTH: Final = "both"
_CHOICES: Final[Mapping[str, tuple[bool, ...]]] = {"on": (True,), "off": (False,), _BOTH: (True, False)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(CostOptions, OfOneWeb):
    """Experiment: the cost of documents that a subject fetches, parses and checks one after another."""

    name: ClassVar[str] = NAME
    documents: int = _DOCUMENTS
    seed: int = 1
    web: str = _WEB
    web_digest: str | None = None
    """The engine's default web and seed."""
    peer_folder: str | None = None
    """Folder of the server's ``subject.toml``; None: the engine's origin serves the documents."""

    def __post_init__(self) -> None:
        """Refuse impossible runs before anything is built."""
        for option in ("keepalive", "gzip"):
            if (value := getattr(self, option)) not in _CHOICES:
                raise InvalidValue(f"--{option}: {value[:60]!r} is not supported; write on, off or both")
        if self.peer is not None and self.gzip != "off":
            raise InvalidValue(
                f"--gzip {self.gzip} conflicts with --peer {self.peer}, which chooses the coding; leave one out"
            )
        _ = self.conditions()

    def conditions(self) -> Sequence[Condition]:
        """Return a condition for each setting of the connections and of the coding, named where there are several."""
        codings = [Coding.GZIP if zipped else Coding.IDENTITY for zipped in reversed(_CHOICES[self.gzip])]
        conditions = []
        for keepalive, coding in product(_CHOICES[self.keepalive], codings):
            words = ["keep-alive" if keepalive else "no keep-alive"] * (self.keepalive == _BOTH)
            words += [coding.value] * (self.gzip == _BOTH)
            host = self.against or "http://cost.example"
            urls = f"{PEER_URL}/json?n=" if self.peer else f"{host}/json?coding={coding.value}&n="
            series = UrlSeries(urls, self.documents)
            workload = Workload(series, timeout_s=self.timeout_s, keepalive=keepalive, check="json")
            condition = replace(
                self.base_condition(NAME, workload, self.link, 1),
                deadline_s=self.deadline_s,
                name=", ".join(words),
                peer=self.peer,
                receive_steering=self.against is None,
                point=CostPoint(self.documents, coding),
            )
            conditions.append(condition)
        return conditions

    def plan(self, subjects: Sequence[Subject]) -> ListedPlan:
        """Interleave the trials of all subjects in blocks; subjects skip unsupported conditions."""
        repeat, quick = self.repeat, self.quick
        return listed_blocks(subjects, self.conditions(), repeat=repeat, quick=quick, seed=self.seed, able_to=able_to)


def able_to(subject: Subject, condition: Condition) -> bool:
    """Return whether a subject supports a condition.

    A client that cannot close its connections is not asked to; one that cannot keep them is measured as it is where
    they may be kept, as a session is used where a library has one. A tool decodes nothing.
    """
    point = condition.get(CostPoint)
    if subject.kind is SubjectKind.TOOL:
        template = subject.sequence_argv if condition.workload.keepalive else subject.sequence_close_argv
        return bool(template) and (point is None or point.coding is Coding.IDENTITY)
    claims = subject.capabilities.keepalive
    return condition.workload.keepalive or not claims or False in claims


def begin_cost(beginning: Beginning, names: Sequence[str], options: CostOptions) -> Begun:
    """Build the experiment from the options."""
    server = find_peer(beginning.catalogue, options.peer, "json")
    subjects, left_out = choose_subjects(beginning.catalogue, names, options.preset)
    beginning.install([*subjects, *([server] if server else [])])
    experiment = make_cost(options, subjects, server, beginning.place.engine, beginning.tell)
    for subject, reason in left_out.items():
        beginning.tell(f"{subject} is left out: it {reason}")
    return Begun(experiment, subjects)


def choose_subjects(
    catalogue: Catalogue, names: Sequence[str] | None, preset: str | None
) -> tuple[tuple[Subject, ...], Mapping[str, str]]:
    """Return the clients and tools that are named; else those of the preset; else the usual clients, ab and httperf.

    The second value has the default subjects that cannot take part, with the reasons.
    """
    if names:
        subjects = catalogue.select(names)
        for subject, reason in zip(subjects, map(_unfit, subjects), strict=True):
            if reason:
                raise UsageError(f"{subject.id}: {reason}; leave it out")
        return subjects, {}
    if preset is not None:
        published = find_preset(preset, NAME).subjects
        return catalogue.select([name for name in published if name in catalogue.subjects]), {}
    usual = catalogue.usual(HEADLINE)
    tools = [catalogue.subjects[name] for name in _TOOLS if name in catalogue.subjects]
    reasons = {subject.id: reason for subject in usual if (reason := _unfit(subject))}
    return (*(subject for subject in usual if subject.id not in reasons), *tools), reasons


def _unfit(subject: Subject) -> str:
    """Return why a subject cannot take part; empty if it can."""
    if subject.kind is SubjectKind.SERVER:
        return "is a server: cost measures clients and load tools; to choose the server, use --peer"
    if subject.kind is SubjectKind.TOOL and not subject.sequence_argv and not subject.unavailable:
        return "cannot send a number of requests one after another; its subject.toml has no [sequence]"
    if subject.kind is SubjectKind.CLIENT and "json" not in subject.capabilities.check and not subject.unavailable:
        return 'does not check documents: its subject.toml does not claim check = ["json"]'
    return ""


def make_cost(
    options: CostOptions, subjects: Sequence[Subject], peer: Subject | None, engine: Engine, tell: Tell
) -> Cost:
    """Build the experiment; the engine gives the default seed of its web."""
    if peer is not None and options.web not in {None, _WEB}:
        raise UsageError(f"--web {options.web} conflicts with --peer {peer.id}: both set the server; give one of them")
    against, link, web, seed = options.against, options.link, options.web, options.seed
    server = server_settings(engine, tell, against=against, link=link, peer=peer, web=web, seed=seed, default=_WEB)
    amount = {"documents": _documents(options), "scale": options.scale if options.preset else None}
    cost = Cost(**(stored_options(options) | amount | server))
    require_able(subjects, cost.conditions(), able_to, f"--keepalive {options.keepalive} --gzip {options.gzip}")
    return cost


def _documents(options: CostOptions) -> int:
    if options.scale is not None and options.preset is None:
        raise UsageError("--scale requires --preset; give one, or --documents instead")
    if options.scale is not None and options.documents is not None:
        raise UsageError("--documents conflicts with --scale: both set the number of documents; leave one out")
    if options.documents is not None:
        return options.documents
    if options.preset is not None and not (options.quick and options.scale is None):
        return find_preset(options.preset, NAME).scaled_urls(parse_scale(options.scale or "1")) or _DOCUMENTS
    return _QUICK_DOCUMENTS if options.quick else _DOCUMENTS
