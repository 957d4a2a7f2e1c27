"""Plan the service experiment: its variants, the numbers of connections, and the search for the breaking point."""

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from resource import RLIMIT_NOFILE, getrlimit
from typing import Any, Final, NamedTuple, Self

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.experiment import Beginning, Begun, Setting
from httpdyno.experiments.option_fields import option_fields, stored_options
from httpdyno.experiments.options import parse_values
from httpdyno.experiments.plan import ListedPlan, NextTrial, Plan, SearchPlan, schedule
from httpdyno.experiments.restoring import reading_settings, restored, settings_of
from httpdyno.experiments.service.figures import (
    DEFAULT_WORKLOADS_MS,
    MOST_CONNECTIONS,
    Endpoint,
    ServicePoint,
    ServiceSummary,
)
from httpdyno.experiments.service.options import NAME, ServiceOptions
from httpdyno.experiments.service.steady import send_ns, unit_ns
from httpdyno.model import (
    WITHOUT_P99,
    Condition,
    Link,
    Loop,
    Outcome,
    Subject,
    SubjectKind,
    Trial,
    Validity,
    Workload,
    counted,
    parse_loop,
)
from httpdyno.published import PublishedTable, find_preset
from httpdyno.stats import Check
from httpdyno.stats.boundary import DoublingSearch
from httpdyno.store import WebIdentity
from httpdyno.subjects.catalogue import Catalogue

OWN_GENERATOR: Final = "httpdyno-load"
UNLIMITED: Final = "unlimited"
"""Value of ``--threads`` for the server's default."""
_ALL: Final = "all"
_PUBLISHED: Final = frozenset({"loop", "rate_per_s", "threads", "workers", "endpoint", "workloads_ms", "timeout_ms"})
"""Options that a published measurement fixes."""
_DIGITS: Final = 9
_LARGEST: Final = 10**_DIGITS - 1


class Variant(NamedTuple):
    """Settings of a server and its load, except the number of connections."""

    loop: Loop
    threads: int | None
    """None: the server's default."""
    cpus: int | None
    """None: the CPUs of all trials of the run."""

    @classmethod
    def of(cls, point: ServicePoint) -> Self:
        """Return the variant of a point."""
        return cls(point.loop, point.threads, point.cpus)


def _each(read: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return a parser of lists, which drops duplicates."""
    return lambda text: tuple(dict.fromkeys(read(part.strip()) for part in text.split(",")))


def _endpoint(text: str) -> Endpoint:
    try:
        return Endpoint(text.removeprefix("/"))
    except ValueError as error:
        raise InvalidValue(f"--endpoint: {text!r} is unknown; choose from: {', '.join(Endpoint)}") from error


def _count(option: str, text: str, like: str, least: int, most: int, fault: str = "is not understood") -> int:
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS and least <= int(text) <= most:
        return int(text)
    raise InvalidValue(f"{option}: {text[:60]!r} {fault}; write it like {like}")


def _connections(text: str) -> int:
    return _count("--connections", text, "20,100,250", 0, _LARGEST, "is not a number of connections")


def _server_cpus(text: str, available: int | None = None) -> int:
    """Parse a number of CPUs; the generator gets one of several, and shares the only one."""
    most = max(1, available - 1) if available else _LARGEST
    if available and text == _ALL:
        return most
    count = _count("--server-cpus", text, f"1, 2 or {_ALL}", 1, _LARGEST)
    if available and count > most:
        whose = f"of the {available} here the generator has one" if available > 1 else "there is one here"
        raise InvalidValue(f"--server-cpus: {count:,} are not available: {whose}; write {most} or {_ALL}")
    return count


def _threads(text: str) -> int | None:
    return None if text == UNLIMITED else _count("--threads", text, f"1, 4 or {UNLIMITED}", 1, 1024)


_LISTS: Final[Mapping[str, Callable[[str], tuple[Any, ...]]]] = {
    "connections": lambda text: parse_values(text, _connections, name="--connections"),
    "loop": _each(partial(parse_loop, name="--loop")),
    "threads": _each(_threads),
    "server_cpus": _each(_server_cpus),
}
"""The options that are lists, and how they are read."""


def _joined(values: Iterable[Any]) -> str:
    """Write the values of a list as they are typed."""
    return ",".join(UNLIMITED if value is None else str(value) for value in values)


def name_of(point: ServicePoint) -> str:
    """Name a point; unique within the run."""
    words = [counted(point.connections, "connection")]
    if point.loop is Loop.OPEN:
        words.append(f"open loop, {point.rate_per_s:g}/s")
    for noun, count in (("thread", point.threads), ("CPU", point.cpus)):
        if count is not None:
            words.append(f"{count} {noun}{'' if count == 1 else 's'}")
    if point.endpoint is not Endpoint.WORKLOADS:
        words.append(f"/{point.endpoint}")
    return ", ".join(words)


_TRIES: Final = 2
"""Most trials of a disturbed point: by then the disturbance may have ended."""
_WITHOUT_SERVER: Final = frozenset({Outcome.UNAVAILABLE, Outcome.NEVER_LISTENED, Outcome.CRASHED})
"""Outcomes of a server that do not depend on the number of connections."""
_NOT_ITS_OWN: Final = frozenset({Outcome.REFUSED, Outcome.INTERRUPTED})
_DISTURBED: Final = frozenset(
    {Validity.GENERATOR_LIMITED, Validity.DISTURBED, Validity.UNSTEADY, Validity.LINK_LIMITED}
)


def restored_search(settings: Mapping[str, Setting]) -> DoublingSearch | None:
    """Return the search of a server from the settings of a run; None if the run was not a search."""
    if not settings.get("search"):
        return None
    with reading_settings():
        low = min(int(count) for count in str(settings["connections"]).split(","))
        return search_between(low, int(str(settings["most_connections"])), quick=bool(settings["quick"]))


def search_between(low: int, high: int, *, quick: bool = False) -> DoublingSearch:
    """Return the search between two numbers of connections; a quick one is coarser."""
    return DoublingSearch(low, high, 4.0, 2.0) if quick else DoublingSearch(low, high, 2.0, 1.1)


def checks_of(trials: Sequence[Trial], *, tries: int = _TRIES) -> list[Check]:
    """Return the results of one server on which a search is based.

    A held point counts even if the machine or the generator disturbed the trial. A disturbed trial in which the point
    is not held counts only after ``tries`` of them.
    """
    found: list[Check] = []
    spoilt = Counter[int]()
    for trial in trials:
        point, summary = trial.get(ServicePoint), trial.get(ServiceSummary)
        if point is None or trial.outcome is Outcome.INTERRUPTED:
            continue
        held = trial.outcome is Outcome.OK and summary is not None and bool(summary.held)
        if not held and _spoilt(trial):
            spoilt[point.connections] += 1
        if held or not _spoilt(trial) or spoilt[point.connections] >= tries:
            found.append(Check(float(point.connections), held))
    return found


def _spoilt(trial: Trial) -> bool:
    return trial.outcome in _NOT_ITS_OWN or (trial.outcome is Outcome.OK and trial.validity in _DISTURBED)


def to_be_tried(search: DoublingSearch, trials: Sequence[Trial]) -> tuple[int, str] | None:
    """Return the next number of connections of a server, with the reason; None at the end of its search.

    ``trials`` are those of one server in one variant, in order; all servers have the same ``search``.
    """
    if any(trial.outcome in _WITHOUT_SERVER for trial in trials):
        return None
    checks = checks_of(trials)
    point = trials[-1].get(ServicePoint) if trials and _spoilt(trials[-1]) else None
    if point and not any(round(check.load) == point.connections for check in checks):
        return point.connections, "again, because something else disturbed the trial"
    if (connections := search.next(checks)) is None:
        return None
    if not checks:
        return connections, "to begin with"
    return connections, "more may hold" if search.conclude(checks).failed is None else "it breaks below"


ROUNDS: Final = 4.0
"""Default length of the steady stretch, in multiples of the ideal."""
QUICK_ROUNDS: Final = 2.0
_READY_S: Final = 30.0
_PROOF_IDEALS: Final = 6.0
_SLACK_S: Final = 60.0
_SHORTEST_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(ServiceOptions):
    """Experiment: the load that servers sustain when every request waits for parallel work."""

    connections: str = "20,100,250"
    loop: str = Loop.CLOSED.value
    threads: str = UNLIMITED
    endpoint: str = Endpoint.WORKLOADS.value
    workloads_ms: str = ",".join(map(str, DEFAULT_WORKLOADS_MS))
    generator: str = OWN_GENERATOR
    send_s: float | None = None
    """Duration of the whole load, instead of a steady stretch; None: it follows from the stretch."""
    repeat: int = 1
    most_connections: int = 10_000
    seed: int = 1
    generator_folder: str | None = None
    """Folder of another generator's ``subject.toml``; None: our own generator sends."""
    threads_of: str | None = None
    """Threads of single servers, in place of those of the grid: ``flask=10,node=1``; a preset has some."""
    name = NAME

    def __post_init__(self) -> None:
        """Refuse impossible options before anything is built."""
        if Loop.OPEN in self.axis("loop"):
            if self.rate_per_s is None and self.endpoint != Endpoint.WORKLOADS:
                raise InvalidValue(
                    f"--loop open: /{self.endpoint} has no ideal that a rate follows from; give a --rate"
                )
            if self.generator != OWN_GENERATOR:
                raise InvalidValue(f"--loop open: {self.generator} sends when an answer came; {OWN_GENERATOR} can")
        elif self.rate_per_s is not None:
            raise InvalidValue("--rate: a closed loop has none; give --loop open, too")
        if self.duration_s is not None and not self.duration_s >= _SHORTEST_S:
            raise InvalidValue(
                f"{self.duration_s:g} s are too short to tell anything; write 1s or more", option="--duration"
            )
        longest_s = max(point.ideal_ns for point in self.points()) / 1e9
        # A slow server answers in bursts at intervals of one or two ideals: a shorter stretch has one burst, or none.
        if self.duration_s is not None and self.duration_s < QUICK_ROUNDS * longest_s:
            raise InvalidValue(
                f"{self.duration_s:g} s are too short for requests that wait {longest_s:g} s;"
                f" write {math.ceil(QUICK_ROUNDS * longest_s)}s or more",
                option="--duration",
            )
        fewest = min(self.axis("connections"))
        if self.search and self.endpoint != Endpoint.WORKLOADS:
            raise InvalidValue("--search: only requests with waits have an ideal time; leave out --endpoint")
        if self.search and self.rate_per_s is not None:
            raise InvalidValue("--search: the rate follows from the number of connections; leave out --rate")
        if self.search and self.most_connections < fewest:
            raise InvalidValue(
                f"--most-connections: {self.most_connections:,} are fewer than the {fewest:,} "
                "that the search begins with; give more, or fewer --connections"
            )
        _ = self.conditions(), self.threads_by_server

    @property
    def threads_by_server(self) -> Mapping[str, int]:
        """Threads of single servers, by their ids."""
        pairs = (pair.split("=") for pair in (self.threads_of or "").split(",") if pair)
        return {name: int(count) for name, count in pairs}

    def axis(self, name: str) -> tuple[Any, ...]:
        """Return the values of a list option, such as ``connections``; None is the server's own."""
        text = getattr(self, name)
        return (None,) if text is None else _LISTS[name](text)

    def variants(self) -> tuple[Variant, ...]:
        """Return the variants in which each number of connections is measured."""
        return tuple(Variant(*one) for one in product(*map(self.axis, ("loop", "threads", "server_cpus"))))

    def points(self) -> Iterator[ServicePoint]:
        """Return the points of the grid, those of few connections first."""
        for connections, variant in product(self.axis("connections"), self.variants()):
            yield self.point(connections, variant)

    def point(self, connections: int, variant: Variant) -> ServicePoint:
        """Return one point."""
        point = ServicePoint(
            connections=connections,
            loop=Loop.CLOSED,
            rate_per_s=None,
            threads=variant.threads,
            workers=self.workers,
            endpoint=Endpoint(self.endpoint),
            workloads_ms=self.workloads_ms if self.endpoint == Endpoint.WORKLOADS else "",
            timeout_ms=self.timeout_ms,
            generator=self.generator,
            cpus=variant.cpus,
        )
        if variant.loop is Loop.CLOSED:
            return point
        rate = connections * 1e9 / point.ideal_ns if self.rate_per_s is None else self.rate_per_s
        return replace(point, loop=variant.loop, rate_per_s=rate)

    def condition(self, point: ServicePoint) -> Condition:
        """Return the condition of a point."""
        ideal_s, send_s = unit_ns(point) / 1e9, self.send_s
        if send_s is None:
            rounds_s = (QUICK_ROUNDS if self.quick else ROUNDS) * ideal_s
            measured_s = rounds_s if self.duration_s is None else self.duration_s
            send_s = send_ns(point, round(measured_s * 1e9)) / 1e9
            # Some tools accept only whole seconds.
            send_s = send_s if point.generator == OWN_GENERATOR else float(math.ceil(send_s))
        proof_s = _PROOF_IDEALS * ideal_s + (point.timeout_ms or 0) / 1e3
        return Condition(
            experiment=NAME,
            web="",
            workload=Workload((), timeout_s=send_s + ideal_s),
            seed=self.seed,
            concurrency=point.connections,
            link=Link.parse(self.link),
            link_seed=self.link_seed,
            deadline_s=_READY_S + proof_s + send_s + _SLACK_S,
            memory_bytes=self.memory_bytes,
            name=name_of(point),
            send_s=send_s,
            foreseen_s=send_s + _PROOF_IDEALS / 2 * ideal_s,
            point=point,
        )

    def conditions(self) -> Sequence[Condition]:
        """Return the points of the grid, as conditions."""
        return [self.condition(point) for point in self.points()]

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Interleave the trials of all servers: a block for each point, or a round of the search."""
        if self.search:
            return self._search_plan(subjects)
        plans, threads = [], self.threads_by_server
        for plan in schedule(subjects, self.conditions(), repeat=self.repeat, seed=self.seed):
            condition, own = plan.condition, threads.get(plan.subject.id)
            if own is not None:
                condition = replace(condition, point=replace(condition[ServicePoint], threads=own))
            plans.append(replace(plan, condition=condition))
        return ListedPlan(tuple(plans), {"repeat": self.repeat})

    def _search_plan(self, subjects: Sequence[Subject]) -> SearchPlan:
        """Plan the search for the breaking points of servers, one variant after another.

        An unavailable subject has one trial, with the reason.
        """
        variants = self.variants()
        search = search_between(min(self.axis("connections")), self.most_connections, quick=self.quick)

        def choose(_: Subject, seen: Sequence[Trial]) -> NextTrial | None:
            if any(trial.outcome in _WITHOUT_SERVER for trial in seen):
                return None
            for variant in variants:
                own = [t for t in seen if (point := t.get(ServicePoint)) and Variant.of(point) == variant]
                if (step := to_be_tried(search, own)) is not None:
                    connections, why = step
                    return NextTrial(self.condition(self.point(connections, variant)), why)
            return None

        first = self.condition(self.point(search.low, variants[0]))
        # A trial without a result may be repeated.
        most = _TRIES * search.most * len(variants) * len(subjects)
        return SearchPlan(tuple(subjects), first, max(most, 1), choose, self.seed)

    def webs(self) -> tuple[WebIdentity, ...]:
        """Return no web: servers answer themselves."""
        return ()

    def settings(self) -> Mapping[str, Setting]:
        """Return the options of the experiment."""
        return {**settings_of(self), "seed": self.seed}

    @classmethod
    def restore(cls, settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path | None = None) -> Self:
        """Rebuild the experiment from the settings of its manifest."""
        with reading_settings():
            seed = int(settings["seed"] or 0)
        return restored(cls, settings, webs, urls, seed=seed)


_OTHER_FILES: Final = 100
"""Open files of a generator or a server in addition to its connections."""


def begin_service(beginning: Beginning, names: Sequence[str], options: ServiceOptions) -> Begun:
    """Begin a run of the named servers with the options."""
    servers = choose_servers(beginning.catalogue, names, options)
    generator = choose_generator(beginning.catalogue, options)
    beginning.install([*servers, *([generator] if generator else [])])
    cpus, available = beginning.place.pinning.subject_cpus, len(os.sched_getaffinity(0))
    service = make_service(options, generator, cpus=cpus, available=available)
    require_possible(service, open_files=getrlimit(RLIMIT_NOFILE)[1])
    if merged := merged_words(options.server_cpus, service.server_cpus, available):
        beginning.tell(merged)
    return Begun(service, servers)


def merged_words(typed: str | None, cpus: str | None, available: int) -> str | None:
    """Describe the points if several of the typed numbers of CPUs are the same on this machine; else None."""
    if typed is None or cpus is None or cpus.count(",") == typed.count(","):
        return None
    return f"--server-cpus {typed}: with the {available} CPUs, that is {cpus.replace(',', ', ')}, measured once"


def choose_servers(catalogue: Catalogue, names: Sequence[str] | None, options: ServiceOptions) -> tuple[Subject, ...]:
    """Return the named servers; by default those of the preset, or all with the endpoint."""
    endpoint = Endpoint.WORKLOADS if options.endpoint is None else _endpoint(options.endpoint)
    if names:
        servers = catalogue.select(names, SubjectKind.SERVER)
    elif options.preset is not None:
        preset = find_preset(options.preset, NAME)
        servers = catalogue.select((*preset.subjects, *(absent["subject"] for absent in preset.unpublished)))
    else:
        every = catalogue.of_kind(SubjectKind.SERVER)
        servers = tuple(one for one in every if endpoint in one.capabilities.endpoints)
    if not servers:
        raise UsageError(f"there is no server with {endpoint} here; name a folder that has one with --subjects DIR")
    for server in servers:
        if server.kind is not SubjectKind.SERVER:
            raise UsageError(f"{server.id} is a {server.kind}: service measures servers, such as rust-axum")
        if not server.unavailable and endpoint not in server.capabilities.endpoints:
            others = " or ".join(server.capabilities.endpoints) or "nothing"
            raise UsageError(
                f"{server.id} has no {endpoint}, only {others}; choose another --endpoint, or leave it out"
            )
    return servers


def choose_generator(catalogue: Catalogue, options: ServiceOptions) -> Subject | None:
    """Return the tool that sends; None for our own generator."""
    name = options.generator
    if name is None or name == OWN_GENERATOR:
        return None
    (tool,) = catalogue.select([name], SubjectKind.TOOL)
    if tool.kind is not SubjectKind.TOOL:
        raise UsageError(f"--generator {name}: it is a {tool.kind}; name a load tool such as rewrk, or {OWN_GENERATOR}")
    able = [one for one in catalogue.of_kind(SubjectKind.TOOL) if one.content_argv]
    if (options.endpoint or Endpoint.WORKLOADS) == Endpoint.WORKLOADS and not tool.content_argv:
        can = ", ".join([OWN_GENERATOR, *(one.id for one in able)])
        raise UsageError(f"--generator {name}: it cannot send content, which requests need; use {can}")
    if options.search and tool.report_parser in WITHOUT_P99:
        do = ", ".join([OWN_GENERATOR, *(one.id for one in able if one.report_parser not in WITHOUT_P99)])
        raise UsageError(f"--generator {name}: it prints no p99, which a search requires; choose from: {do}")
    return tool


def make_service(options: ServiceOptions, generator: Subject | None, *, cpus: str | None, available: int) -> Service:
    """Build the experiment from the options."""
    preset = None if options.preset is None else find_preset(options.preset, NAME)
    if options.search and preset is not None:
        raise UsageError("--search: a preset has its own numbers of connections; leave one of the two out")
    if options.server_cpus is not None and cpus is not None:
        raise UsageError("--cpus: --server-cpus chooses the CPUs of each point; leave one of the two out")
    if options.most_connections is not None and not options.search:
        raise UsageError("--most-connections requires --search")
    endpoint = _endpoint(options.endpoint or Endpoint.WORKLOADS)
    if options.workloads_ms is not None and endpoint is not Endpoint.WORKLOADS:
        raise UsageError(f"--workloads-ms: /{endpoint} has no waits; leave out --workloads-ms or --endpoint")
    # Two trials show hardly any spread, and each lasts many times the longest wait.
    settings: dict[str, Any] = {"repeat": 1 if options.quick else 3, "connections": "20" if options.search else None}
    if options.rate_per_s is not None:
        settings["loop"] = Loop.OPEN.value
    if preset is not None:
        settings |= _preset_settings(options, preset)
    given = {**stored_options(options), "endpoint": endpoint.value, "seed": options.seed}
    settings |= {name: value for name, value in given.items() if value is not None}
    if options.server_cpus is not None:
        counts = _each(partial(_server_cpus, available=available))(options.server_cpus)
        if preset is not None and len(counts) > 1:
            raise UsageError(
                "--server-cpus: --preset allows one number only, since the published form has one row for each server"
            )
        settings["server_cpus"] = _joined(counts)
    settings = {name: value for name, value in settings.items() if value is not None}
    settings |= {name: _joined(read(settings[name])) for name, read in _LISTS.items() if name in settings}
    return Service(**settings, generator_folder=str(generator.folder) if generator else None)


def _preset_settings(options: ServiceOptions, preset: PublishedTable) -> dict[str, Any]:
    """Return the settings of a published measurement; refuse options that would make the run differ from it."""
    for option in option_fields(ServiceOptions):
        if option.name in _PUBLISHED and getattr(options, option.name) is not None:
            raise UsageError(f"{option.option.flag} conflicts with --preset, a published measurement; leave one out")
    whole = not options.quick and options.duration_s is None
    return {
        "connections": _joined(sorted({int(str(row["connections"])) for row in preset.rows})),
        "threads": _joined([preset.asked["threads"]]),
        "threads_of": ",".join(f"{name}={count}" for name, count in sorted(preset.asked["threads_of"].items())),
        "send_s": preset.asked["send_s"] if whole else None,
    }


def require_possible(service: Service, *, open_files: int) -> None:
    """Refuse more connections than the limit of open files, before anything is measured; -1: there is no limit."""
    option, most = "--connections", max(service.axis("connections"))
    if service.search:
        option, most = "--most-connections", service.most_connections
    if most > MOST_CONNECTIONS:
        raise InvalidValue(f"{option}: at most {MOST_CONNECTIONS:,}, not {most:,}")
    if 0 <= open_files < most + _OTHER_FILES:
        raise InvalidValue(
            f"{option}: {most:,} connections are more than a process may open here, {open_files:,} files; "
            f"raise that (ulimit -Hn {most + _OTHER_FILES}, as root), or use fewer"
        )
