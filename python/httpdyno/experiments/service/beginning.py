"""Begins a service question: who serves, who sends, the grid, and what was not said made definite."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from resource import RLIMIT_NOFILE, getrlimit
from typing import Any, Final

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.beginning import Beginning, Begun
from httpdyno.experiments.capacity.value_list import parse_values
from httpdyno.experiments.options import stored_options
from httpdyno.experiments.service.axes import OWN_GENERATOR, UNLIMITED, Axes
from httpdyno.experiments.service.figures import MOST_CONNECTIONS, Endpoint
from httpdyno.experiments.service.options import NAME, ServiceOptions
from httpdyno.experiments.service.service import USUAL_REPEAT, Service
from httpdyno.model import WITHOUT_P99, Loop, Subject, SubjectKind, parse_loop
from httpdyno.published import PublishedTable, find_preset
from httpdyno.subjects.catalogue import Catalogue

__all__ = ["Selected", "begin_service", "choose_servers", "make_service", "merged_words", "require_possible"]

_MOST: Final = 10_000
_ALL: Final = "all"
_SEARCH_FROM: Final = 20
_DIGITS: Final = 9
_OTHER_FILES: Final = 100
"""What a generator or a server has open beside its connections."""


def begin_service(beginning: Beginning, names: Sequence[str], options: ServiceOptions) -> Begun:
    """Begin the question that is asked."""
    chosen = choose_servers(beginning.catalogue, names, options)
    beginning.install([*chosen.servers, *([chosen.generator] if chosen.generator else [])])
    cpus, available = beginning.place.pinning.subject_cpus, len(os.sched_getaffinity(0))
    service = make_service(options, chosen, cpus=cpus, available=available)
    require_possible(service, open_files=getrlimit(RLIMIT_NOFILE)[1])
    if merged := merged_words(options.server_cpus, service.axes.cpus, available):
        beginning.tell(merged)
    return Begun(service, chosen.servers)


def merged_words(server_cpus: str | None, cpus: Sequence[int | None], available: int) -> str | None:
    """Say which points there are, where several numbers of CPUs that were typed are one on this machine."""
    if server_cpus is None or len(cpus) == len(server_cpus.split(",")):
        return None
    return f"--server-cpus {server_cpus}: of the {available} CPUs here that is {', '.join(map(str, cpus))}, once"


@dataclass(frozen=True, slots=True)
class Selected:
    """Who serves, and who sends."""

    servers: tuple[Subject, ...]
    generator: Subject | None = None
    """Another tool than our own."""


def choose_servers(catalogue: Catalogue, names: Sequence[str] | None, options: ServiceOptions) -> Selected:
    """Return the servers that are named; else those of the preset, else all that have the endpoint."""
    endpoint = _endpoint(options.endpoint)
    if names:
        servers = catalogue.select(names, SubjectKind.SERVER)
    elif options.preset is not None:
        preset = find_preset(options.preset, NAME)
        servers = catalogue.select((*preset.subjects, *(absent["subject"] for absent in preset.unpublished)))
    else:
        servers = tuple(one for one in catalogue.of_kind(SubjectKind.SERVER) if _has(one, endpoint))
    if not servers:
        raise UsageError(f"there is no server with {endpoint} here; name a folder that has one with --subjects DIR")
    for server in servers:
        if server.kind is not SubjectKind.SERVER:
            raise UsageError(f"{server.id} is a {server.kind}: service asks servers, such as rust-axum")
        if not server.unavailable and not _has(server, endpoint):
            others = " or ".join(server.capabilities.endpoints) or "nothing"
            raise UsageError(
                f"{server.id} has no {endpoint}, only {others}; choose another --endpoint, or leave it out"
            )
    return Selected(servers, _generator(catalogue, options.generator, endpoint, search=options.search))


def _has(server: Subject, endpoint: Endpoint) -> bool:
    return endpoint.value in server.capabilities.endpoints


def _generator(catalogue: Catalogue, name: str | None, endpoint: Endpoint, *, search: bool) -> Subject | None:
    if name is None or name == OWN_GENERATOR:
        return None
    (tool,) = catalogue.select([name], SubjectKind.TOOL)
    if tool.kind is not SubjectKind.TOOL:
        raise UsageError(f"--generator {name}: it is a {tool.kind}; name a load tool such as rewrk, or {OWN_GENERATOR}")
    able = [one for one in catalogue.of_kind(SubjectKind.TOOL) if one.content_argv]
    if endpoint is Endpoint.WORKLOADS and not tool.content_argv:
        can = ", ".join([OWN_GENERATOR, *(one.id for one in able)])
        raise UsageError(f"--generator {name}: it cannot send content, which a request needs; {can} can")
    if search and tool.report_parser in WITHOUT_P99:
        do = ", ".join([OWN_GENERATOR, *(one.id for one in able if one.report_parser not in WITHOUT_P99)])
        raise UsageError(f"--generator {name}: it prints no p99, which a search goes by; {do} do")
    return tool


def make_service(options: ServiceOptions, selected: Selected, *, cpus: str | None, available: int) -> Service:
    """Make the experiment that the options describe."""
    preset = None if options.preset is None else find_preset(options.preset, NAME)
    if options.search and preset is not None:
        raise UsageError("--search: a preset has its own numbers of connections; leave one of the two out")
    if options.server_cpus is not None and cpus is not None:
        raise UsageError("--cpus: --server-cpus chooses the CPUs of each point; leave one of the two out")
    if options.most_connections is not None and not options.search:
        raise UsageError("--most-connections: only a search goes on until a server breaks; give --search, too")
    axes = _axes(options, Axes() if preset is None else _published_axes(preset), selected.generator, available)
    if options.workloads_ms is not None and axes.endpoint is not Endpoint.WORKLOADS:
        raise UsageError(f"--workloads-ms: /{axes.endpoint} waits for nothing; leave it out, or --endpoint")
    if preset is not None:
        _check_beside_preset(options, axes)
    whole = preset is not None and not options.quick and options.duration_s is None
    found = {
        "repeat": options.repeat or (1 if options.quick else USUAL_REPEAT),
        "most_connections": _MOST if options.most_connections is None else options.most_connections,
        "seed": 1 if options.seed is None else options.seed,
    }
    return Service(
        **(stored_options(options) | found),
        axes=axes,
        send_s=preset.asked["send_s"] if preset is not None and whole else None,
        generator_folder=str(selected.generator.folder) if selected.generator else None,
        threads_of=None if preset is None else preset.asked["threads_of"],
    )


def _check_beside_preset(options: ServiceOptions, axes: Axes) -> None:
    """Refuse what would put another question, or several, into the row that stands above a published one."""
    if len(axes.cpus) > 1:
        raise UsageError("--server-cpus: the published form has a row for each server; give one number beside --preset")
    for name in ("loop", "rate", "threads", "workers", "endpoint", "workloads_ms", "timeout_ms"):
        if getattr(options, name) is not None:
            raise UsageError(
                f"--{name.replace('_', '-')}: beside published figures is asked what was asked there; leave it out,"
                " or --preset"
            )


def require_possible(service: Service, *, open_files: int) -> None:
    """Refuse more connections than a process may have open files, before anything is measured; -1: it may have any."""
    searched = service.search
    option = "--most-connections" if searched else "--connections"
    most = service.most_connections if searched else max(service.axes.connections)
    if most > MOST_CONNECTIONS:
        raise InvalidValue(f"{option}: at most {MOST_CONNECTIONS:,}, not {most:,}")
    if 0 <= open_files < most + _OTHER_FILES:
        raise InvalidValue(
            f"{option}: {most:,} connections are more than a process may open here, {open_files:,} files; "
            f"raise that (ulimit -Hn {most + _OTHER_FILES}, as root), or ask for fewer"
        )


def _published_axes(preset: PublishedTable) -> Axes:
    counts = sorted({int(str(row["connections"])) for row in preset.rows})
    return Axes(connections=tuple(counts), threads=(preset.asked["threads"],))


def _axes(options: ServiceOptions, axes: Axes, generator: Subject | None, available: int) -> Axes:
    given: dict[str, Any] = {}
    if options.connections is not None:
        given["connections"] = tuple(parse_values(options.connections, _count, name="--connections"))
    elif options.search:
        given["connections"] = (_SEARCH_FROM,)
    if options.loop is not None:
        given["loops"] = tuple(
            dict.fromkeys(parse_loop(part.strip(), name="--loop") for part in options.loop.split(","))
        )
    elif options.rate is not None:
        given["loops"] = (Loop.OPEN,)
    if options.threads is not None:
        given["threads"] = tuple(dict.fromkeys(_threads(part.strip()) for part in options.threads.split(",")))
    if options.server_cpus is not None:
        parts = options.server_cpus.split(",")
        given["cpus"] = tuple(dict.fromkeys(_server_cpus(part.strip(), available) for part in parts))
    for name, value in (
        ("rate_per_s", options.rate),
        ("workers", options.workers),
        ("workloads_ms", options.workloads_ms),
        ("timeout_ms", options.timeout_ms),
    ):
        if value is not None:
            given[name] = value
    if generator is not None:
        given["generator"] = generator.id
    return replace(axes, endpoint=_endpoint(options.endpoint), **given)


def _endpoint(text: str | None) -> Endpoint:
    try:
        return Endpoint.WORKLOADS if text is None else Endpoint(text.removeprefix("/"))
    except ValueError as error:
        known = ", ".join(Endpoint)
        raise InvalidValue(f"--endpoint: {text!r} is not known; known are: {known}") from error


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
        raise InvalidValue(f"--connections: {text[:60]!r} is no number of connections; write it like 20,100,250")
    return int(text)


def _server_cpus(text: str, available: int) -> int:
    """Read a number of CPUs; where there is but one the generator shares it."""
    most = max(1, available - 1)
    if text == _ALL:
        return most
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS or int(text) < 1:
        raise InvalidValue(f"--server-cpus: {text[:60]!r} is not understood; write it like 1, 2 or {_ALL}")
    if int(text) > most:
        whose = f"of the {available} here the generator has one" if available > 1 else "there is one here"
        raise InvalidValue(f"--server-cpus: {int(text):,} are more than can be had: {whose}; write {most} or {_ALL}")
    return int(text)


def _threads(text: str) -> int | None:
    if text == UNLIMITED:
        return None
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise InvalidValue(f"--threads: {text[:60]!r} is not understood; write it like 1, 4 or {UNLIMITED}")
    return int(text)
