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
from httpdyno.experiments.option_fields import stored_options
from httpdyno.experiments.participants import ON_OFF_BOTH, chosen, find_peer, keeps_or_closes, require_able
from httpdyno.experiments.restoring import OfOneWeb
from httpdyno.lab.engine import Engine
from httpdyno.lab.web_answers import PEER_URL
from httpdyno.model import Condition, Subject, SubjectKind, UrlSeries, Workload
from httpdyno.published import find_preset, parse_scale
from httpdyno.subjects.catalogue import Catalogue

_DOCUMENTS: Final = 10_000
"""As published."""
_WEB: Final = "plain"
_TOOLS: Final = ("ab", "httperf")
"""Tools of the publication, shown with the clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(CostOptions, OfOneWeb):
    """Experiment: the cost of JSON documents that a subject fetches, parses and checks one after another."""

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
        if self.peer is not None and self.gzip != "off":
            raise InvalidValue(
                f"--gzip {self.gzip} conflicts with --peer {self.peer}, which chooses the coding; leave one out"
            )
        _ = self.conditions()

    def conditions(self) -> Sequence[Condition]:
        """Return a condition for each setting of connections and coding; named if there are several."""
        keeps, zips = (chosen(name, getattr(self, name), ON_OFF_BOTH) for name in ("keepalive", "gzip"))
        conditions = []
        for keepalive, zipped in product(keeps, reversed(zips)):
            coding = Coding.GZIP if zipped else Coding.IDENTITY
            words = ["keep-alive" if keepalive else "no keep-alive"] * (len(keeps) > 1)
            words += [coding.value] * (len(zips) > 1)
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

    @staticmethod
    def able_to(subject: Subject, condition: Condition) -> bool:
        """Return whether a subject supports a condition; a tool decodes nothing."""
        if subject.kind is not SubjectKind.TOOL:
            return keeps_or_closes(subject, condition)
        point = condition.get(CostPoint)
        template = subject.sequence_argv if condition.workload.keepalive else subject.sequence_close_argv
        return bool(template) and (point is None or point.coding is Coding.IDENTITY)


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
    """Return the named clients and tools; else those of the preset; else the default clients, ab and httperf.

    The second value lists default subjects that cannot take part, with the reasons.
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
    server = server_settings(options, engine, tell, peer=peer, default=_WEB)
    amount = {"documents": _documents(options), "scale": options.scale if options.preset else None}
    cost = Cost(**(stored_options(options) | amount | server))
    require_able(subjects, cost, f"--keepalive {options.keepalive} --gzip {options.gzip}")
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
    return 2_000 if options.quick else _DOCUMENTS
