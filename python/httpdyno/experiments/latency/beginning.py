"""Begins a latency question: who is asked, who answers, and what was not said made definite."""

from collections.abc import Sequence
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.able import require_able
from httpdyno.experiments.against import refuse_beside, settled
from httpdyno.experiments.beginning import Beginning, Begun, Tell
from httpdyno.experiments.companion import ORIGIN, find_peer
from httpdyno.experiments.latency.latency import DURATION_S, QUICK_DURATION_S, Latency, able_to
from httpdyno.experiments.latency.options import NAME, LatencyOptions
from httpdyno.experiments.latency.points import grid, points_text
from httpdyno.experiments.latency.published_blocks import published_points
from httpdyno.experiments.options import stored_options
from httpdyno.lab.engine import Engine
from httpdyno.model import Subject, SubjectKind
from httpdyno.published import find_preset
from httpdyno.subjects.catalogue import Catalogue

__all__ = ["begin_latency", "choose_subjects", "make_latency", "peer_of"]

_WEB: Final = "plain"
_WORKLOADS: Final = "plain,json"
_PARALLELS: Final = "1,20"


def begin_latency(beginning: Beginning, names: Sequence[str], options: LatencyOptions) -> Begun:
    """Begin the question that is asked."""
    server = peer_of(beginning.catalogue, options)
    chosen = choose_subjects(beginning.catalogue, names, options.preset)
    beginning.install([*chosen, *([server] if server else [])])
    return Begun(make_latency(options, chosen, server, beginning.place.engine, beginning.tell), chosen)


def peer_of(catalogue: Catalogue, options: LatencyOptions) -> Subject | None:
    """Find the server that is to answer: the one that was named, else the preset's; None when it is our origin.

    Beside another machine's origin a preset has no server of its own.
    """
    name = options.peer
    if options.preset is not None:
        asked = find_preset(options.preset, NAME).asked
        name = asked["peer"] if name is None and options.against is None else name
    return None if name == ORIGIN else find_peer(catalogue, name, "json")


def choose_subjects(catalogue: Catalogue, names: Sequence[str] | None, preset: str | None) -> tuple[Subject, ...]:
    """Return the clients that are named; else the preset's; else those of the published figures and added ones."""
    if names:
        return catalogue.select_of_kind(names, SubjectKind.CLIENT)
    published = find_preset("published" if preset is None else preset, NAME).subjects
    if preset is None:
        return catalogue.usual(published)
    return catalogue.select_of_kind([name for name in published if name in catalogue.subjects], SubjectKind.CLIENT)


def make_latency(
    options: LatencyOptions, subjects: Sequence[Subject], peer: Subject | None, engine: Engine, tell: Tell
) -> Latency:
    """Make the experiment that is asked for; the engine says which seed its web has of its own."""
    if options.preset is not None and options.keepalive not in {None, "on"}:
        raise UsageError(
            f"--keepalive {options.keepalive[:60]}: what was published kept its connections; leave it out, or --preset"
        )
    there = None
    if options.against is not None:
        refuse_beside(link=options.link, peer=peer.id if peer else None)
        there = settled(options.against, engine, tell, web=_WEB, seed=options.seed)
    web = engine.web(_WEB, seed=there.seed if there else options.seed)
    usual_s = QUICK_DURATION_S if options.quick else DURATION_S
    latency = Latency(
        points=_points(options),
        **(
            stored_options(options)
            | {
                "keepalive": options.keepalive or ("both" if options.preset is None else "on"),
                "duration_s": usual_s if options.duration_s is None else options.duration_s,
                "against": there.url if there else None,
                "peer": peer.id if peer else None,
                "seed": web.seed,
            }
        ),
        peer_folder=str(peer.folder) if peer else None,
        web=_WEB,
        web_digest=web.digest,
    )
    asked = f"--keepalive {latency.keepalive} --mode {latency.mode}"
    require_able(subjects, latency.conditions(), able_to, asked)
    return latency


def _points(options: LatencyOptions) -> str:
    given = options.workload is not None or options.parallel is not None
    if options.preset is not None and not given:
        return points_text(published_points(find_preset(options.preset, NAME)))
    return points_text(grid(options.workload or _WORKLOADS, options.parallel or _PARALLELS))
