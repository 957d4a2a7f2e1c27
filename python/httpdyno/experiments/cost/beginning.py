"""Begins a cost question: who is asked, how many documents, and what was not said made definite."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.able import require_able
from httpdyno.experiments.against import agreed, refuse_beside
from httpdyno.experiments.beginning import Beginning, Begun, Tell
from httpdyno.experiments.companion import find_peer
from httpdyno.experiments.cost.cost import DOCUMENTS, QUICK_DOCUMENTS, Cost, able_to
from httpdyno.experiments.cost.options import NAME, CostOptions
from httpdyno.experiments.crawl.crawl import HEADLINE
from httpdyno.experiments.options import stored_options
from httpdyno.lab.engine import Engine
from httpdyno.model import Subject, SubjectKind
from httpdyno.published import PublishedTable, find_preset, parse_scale
from httpdyno.subjects.catalogue import Catalogue

__all__ = ["Selected", "begin_cost", "choose_subjects", "make_cost"]

_TOOLS: Final = ("ab", "httperf")
"""They stand beside the clients, as in the publication."""
_WEB: Final = "plain"


def begin_cost(beginning: Beginning, names: Sequence[str], options: CostOptions) -> Begun:
    """Begin the question that is asked."""
    server = find_peer(beginning.catalogue, options.peer, "json")
    chosen = choose_subjects(beginning.catalogue, names, options.preset)
    beginning.install([*chosen.subjects, *([server] if server else [])])
    experiment = make_cost(options, chosen, server, beginning.place.engine, beginning.tell)
    for subject, reason in chosen.left_out.items():
        beginning.tell(f"{subject} is left out: it {reason}")
    return Begun(experiment, chosen.subjects)


@dataclass(frozen=True, slots=True)
class Selected:
    """Who is measured."""

    subjects: tuple[Subject, ...]
    preset: PublishedTable | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Who was not named and cannot take part, and why."""


def choose_subjects(catalogue: Catalogue, names: Sequence[str] | None, preset: str | None) -> Selected:
    """Return the clients and tools that are named; else those of the preset; else the usual clients, ab and httperf."""
    found = None if preset is None else find_preset(preset, NAME)
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


def make_cost(options: CostOptions, selected: Selected, peer: Subject | None, engine: Engine, tell: Tell) -> Cost:
    """Make the experiment that is asked for; the engine says which seed its web has of its own."""
    if peer is not None and options.web not in {None, _WEB}:
        raise UsageError(f"--web {options.web}: {peer.id} has the documents (--peer); give one of them")
    against, name, seed = options.against, options.web, options.seed
    if against is not None:
        refuse_beside(link=options.link, peer=peer.id if peer else None)
        against, name, seed = agreed(against, engine, tell, web=name, seed=seed)
    web = engine.web(name or _WEB, seed=seed)
    found = {
        "documents": _documents(options, selected.preset),
        "against": against,
        "peer": peer.id if peer else None,
        "web": name or _WEB,
        "seed": web.seed,
        "scale": options.scale if options.preset else None,
    }
    cost = Cost(
        **(stored_options(options) | found), web_digest=web.digest, peer_folder=str(peer.folder) if peer else None
    )
    asked = f"--keepalive {options.keepalive} --gzip {options.gzip}"
    require_able(selected.subjects, cost.conditions(), able_to, asked)
    return cost


def _documents(options: CostOptions, preset: PublishedTable | None) -> int:
    if options.scale is not None and preset is None:
        raise UsageError("--scale: there is nothing to take a share of; give a --preset, too, or --documents instead")
    if options.documents is not None:
        if options.scale is not None:
            raise UsageError("--documents: --scale says how many documents, too; leave one of the two out")
        return options.documents
    if preset is not None and not (options.quick and options.scale is None):
        return preset.scaled_urls(parse_scale(options.scale or "1")) or DOCUMENTS
    return QUICK_DOCUMENTS if options.quick else DOCUMENTS
