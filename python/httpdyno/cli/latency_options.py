"""From the options of ``latency`` as they are typed to the experiment that they describe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from httpdyno.cli.against import refuse_beside, settled
from httpdyno.cli.preset import require_able
from httpdyno.experiments.latency.latency import DURATION_S, NAME, QUICK_DURATION_S, Latency, able_to
from httpdyno.experiments.latency.points import grid, points_text
from httpdyno.experiments.latency.presets import HEADLINE, PUBLISHED_PEER, published_points
from httpdyno.lab.engine import Engine
from httpdyno.model import Link, Subject, SubjectKind, optional_size_bytes, parse_duration_ns
from httpdyno.published import find_preset
from httpdyno.runs.companion import ORIGIN, find_peer
from httpdyno.subjects.catalogue import Catalogue

__all__ = ["LatencyOptions", "choose_subjects", "make_latency", "peer_of"]

_WEB: Final = "plain"
_WORKLOADS: Final = "plain,json"
_PARALLELS: Final = "1,20"


@dataclass(frozen=True, slots=True)
class LatencyOptions:
    """The options as they were typed; None: not given."""

    workload: str | None
    parallel: str | None
    keepalive: str | None
    mode: str
    peer: Subject | None
    seed: int | None
    link: str
    timeout: str
    duration: str | None
    memory: str | None
    repeat: int | None
    quick: bool
    preset: str | None
    link_seed: int = 1
    against: str | None = None


def peer_of(
    catalogue: Catalogue, name: str | None, preset: str | None, *, against: str | None = None
) -> Subject | None:
    """Find the server that is to answer: the one that was named, else the preset's; None when it is our origin.

    Beside another machine's origin a preset has no server of its own.

    Raises
    ------
    UnknownName
        If there is no such subject or preset.
    UsageError
        If it is no server, or does not answer what is asked.
    """
    if preset is not None:
        find_preset(preset, NAME)
        name = PUBLISHED_PEER if name is None and against is None else name
    return None if name == ORIGIN else find_peer(catalogue, name, "json")


def choose_subjects(catalogue: Catalogue, names: Sequence[str] | None, preset: str | None) -> tuple[Subject, ...]:
    """Return the clients that are named; else those of the preset; else those of the published figures and added ones.

    Raises
    ------
    UsageError
        If one that is named is no client.
    UnknownName
        If there is no such subject or preset.
    InvalidSubject
        If one of them could not be read.
    """
    if names:
        return catalogue.select_of_kind(names, SubjectKind.CLIENT)
    if preset is not None:
        there = [name for name in find_preset(preset, NAME).subjects if name in catalogue.subjects]
        return catalogue.select_of_kind(there, SubjectKind.CLIENT)
    return catalogue.usual(HEADLINE)


def make_latency(options: LatencyOptions, subjects: Sequence[Subject], engine: Engine) -> Latency:
    """Make the experiment that the options describe; the engine says which seed its web has of its own.

    Raises
    ------
    InvalidValue
        If one of them cannot be read; the message names it.
    UsageError
        If a subject can do nothing of what is asked, two options contradict each other, or another machine plays
        another web.
    """
    there = None
    if options.against is not None:
        refuse_beside(link=options.link, peer=options.peer.id if options.peer else None)
        there = settled(options.against, engine, web=_WEB, seed=options.seed)
    web = engine.web(_WEB, seed=there.seed if there else options.seed)
    duration_s = QUICK_DURATION_S if options.quick else DURATION_S
    if options.duration is not None:
        duration_s = parse_duration_ns(options.duration, name="--duration") / 1e9
    latency = Latency(
        points=_points(options),
        keepalive=options.keepalive or ("both" if options.preset is None else "on"),
        mode=options.mode,
        duration_s=duration_s,
        timeout_s=parse_duration_ns(options.timeout, name="--timeout") / 1e9,
        memory_bytes=optional_size_bytes(options.memory, name="--memory"),
        link=str(Link.parse(options.link)),
        link_seed=options.link_seed,
        against=there.url if there else None,
        peer=options.peer.id if options.peer else None,
        peer_folder=str(options.peer.folder) if options.peer else None,
        web=_WEB,
        seed=web.seed,
        web_digest=web.digest,
        repeat=options.repeat,
        quick=options.quick,
        preset=options.preset,
    )
    asked = f"--keepalive {latency.keepalive} --mode {latency.mode}"
    require_able(subjects, latency.conditions(), able_to, asked)
    return latency


def _points(options: LatencyOptions) -> str:
    given = options.workload is not None or options.parallel is not None
    if options.preset is not None and not given:
        return points_text(published_points())
    return points_text(grid(options.workload or _WORKLOADS, options.parallel or _PARALLELS))
