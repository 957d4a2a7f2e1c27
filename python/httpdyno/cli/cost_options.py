"""From the options of ``cost`` as they are typed to the experiment that they describe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from httpdyno.cli.against import agreed, refuse_beside
from httpdyno.cli.preset import require_able
from httpdyno.errors import UsageError
from httpdyno.experiments.cost.cost import DOCUMENTS, QUICK_DOCUMENTS, Cost, able_to
from httpdyno.experiments.crawl.crawl import HEADLINE
from httpdyno.lab.engine import Engine
from httpdyno.model import Link, Subject, SubjectKind, optional_size_bytes, parse_duration_ns
from httpdyno.published import Preset, find_preset, parse_scale
from httpdyno.subjects.catalogue import Catalogue

__all__ = ["CostOptions", "Selected", "choose_subjects", "make_cost"]

_NAME: Final = "cost"
_TOOLS: Final = ("ab", "httperf")
"""They stand beside the clients, as in the publication."""
_WEB: Final = "plain"


@dataclass(frozen=True, slots=True)
class CostOptions:
    """The options as they were typed; None: not given."""

    documents: int | None
    keepalive: str
    gzip: str
    web: str
    link: str
    timeout: str
    duration: str
    memory: str | None
    peer: Subject | None
    seed: int | None
    repeat: int | None
    quick: bool
    preset: str | None
    scale: str | None
    link_seed: int = 1
    against: str | None = None
    web_given: bool = True
    """Whether the web was named, or is only the usual one: then another machine's is taken."""


@dataclass(frozen=True, slots=True)
class Selected:
    """Who is measured."""

    subjects: tuple[Subject, ...]
    preset: Preset | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Who was not named and cannot take part, and why."""


def choose_subjects(catalogue: Catalogue, names: Sequence[str] | None, preset: str | None) -> Selected:
    """Return the clients and tools that are named; else those of the preset; else the usual clients, ab and httperf.

    Raises
    ------
    UsageError
        If a server is named, or who does not check JSON documents.
    UnknownName
        If there is no such subject or preset.
    InvalidSubject
        If one of them could not be read.
    """
    found = None if preset is None else find_preset(preset, _NAME)
    if names:
        subjects = catalogue.select(names)
        for subject in subjects:
            if reason := _unfit(subject):
                raise UsageError(f"{subject.id}: {reason}; leave it out")
        return Selected(subjects, found)
    if found is not None:
        there = [name for name in found.subjects if name in catalogue.subjects]
        return Selected(catalogue.select(there), found)
    usual = catalogue.usual(HEADLINE)
    tools = [catalogue.subjects[name] for name in _TOOLS if name in catalogue.subjects]
    reasons = {subject.id: reason for subject in usual if (reason := _unfit(subject))}
    return Selected((*(subject for subject in usual if subject.id not in reasons), *tools), None, reasons)


def _unfit(subject: Subject) -> str:
    """Describe why a subject cannot be asked at all; empty when it can."""
    if subject.kind is SubjectKind.SERVER:
        return "is a server: cost asks clients and load tools; --peer has a server play the other side"
    if subject.kind is SubjectKind.TOOL and not subject.sequence_argv and not subject.unavailable:
        return "cannot send a number of requests one after another; its subject.toml has no [sequence]"
    if subject.kind is SubjectKind.CLIENT and "json" not in subject.capabilities.check and not subject.unavailable:
        return 'does not check documents: its subject.toml does not claim check = ["json"]'
    return ""


def make_cost(options: CostOptions, selected: Selected, engine: Engine) -> Cost:
    """Make the experiment that the options describe; the engine says which seed its web has of its own.

    Raises
    ------
    InvalidValue
        If one of them cannot be read; the message names it.
    UsageError
        If two of them contradict each other, a subject can do nothing of what is asked, or another machine plays
        another web.
    """
    if options.peer is not None and options.web != _WEB:
        raise UsageError(f"--web {options.web}: {options.peer.id} has the documents (--peer); give one of them")
    options = _at_origin(options, engine)
    web = engine.web(options.web, seed=options.seed)
    cost = Cost(
        documents=_documents(options, selected.preset),
        keepalive=options.keepalive,
        gzip=options.gzip,
        timeout_s=parse_duration_ns(options.timeout, name="--timeout") / 1e9,
        deadline_s=parse_duration_ns(options.duration, name="--duration") / 1e9,
        memory_bytes=optional_size_bytes(options.memory, name="--memory"),
        link=str(Link.parse(options.link)),
        link_seed=options.link_seed,
        against=options.against,
        peer=options.peer.id if options.peer else None,
        peer_folder=str(options.peer.folder) if options.peer else None,
        web=options.web,
        seed=web.seed,
        web_digest=web.digest,
        repeat=options.repeat,
        quick=options.quick,
        preset=options.preset,
        scale=options.scale if options.preset else None,
    )
    asked = f"--keepalive {options.keepalive} --gzip {options.gzip}"
    require_able(selected.subjects, cost.conditions(), able_to, asked)
    return cost


def _at_origin(options: CostOptions, engine: Engine) -> CostOptions:
    """Ask another machine's origin who it is, and take its web where none was named; without one nothing changes."""
    if options.against is None:
        return options
    refuse_beside(link=options.link, peer=options.peer.id if options.peer else None)
    named = options.web if options.web_given else None
    against, web, seed = agreed(options.against, engine, web=named, seed=options.seed)
    return replace(options, against=against, web=web, seed=seed)


def _documents(options: CostOptions, preset: Preset | None) -> int:
    if options.scale is not None and preset is None:
        raise UsageError("--scale: there is nothing to take a share of; give a --preset, too, or --documents instead")
    if options.documents is not None:
        if options.scale is not None:
            raise UsageError("--documents: --scale says how many documents, too; leave one of the two out")
        return options.documents
    if preset is not None and not (options.quick and options.scale is None):
        return preset.urls(parse_scale(options.scale or "1")) or DOCUMENTS
    return QUICK_DOCUMENTS if options.quick else DOCUMENTS
