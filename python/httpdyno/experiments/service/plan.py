"""Plans the service question: its variants, the numbers of connections, and the search for where a server breaks."""

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from resource import RLIMIT_NOFILE, getrlimit
from typing import Any, Final, NamedTuple, Self

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.experiment import Beginning, Begun, Setting
from httpdyno.experiments.options import option_fields, parse_values, stored_options
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
    TrialPlan,
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
"""Value of ``--threads`` for the server's own number."""
_ALL: Final = "all"
_SINGLE: Final = ("rate_per_s", "workers", "workloads_ms", "timeout_ms", "generator")
_DIGITS: Final = 9
_LARGEST: Final = 10**_DIGITS - 1
_MOST_THREADS: Final = 1024


class Variant(NamedTuple):
    """Settings of a server and its load, except the number of connections."""

    loop: Loop
    threads: int | None
    """None: the server's own number."""
    cpus: int | None
    """None: those that all trials of the run have."""

    @classmethod
    def of(cls, point: ServicePoint) -> Self:
        """Return the variant of a point."""
        return cls(point.loop, point.threads, point.cpus)


@dataclass(frozen=True, slots=True)
class Axes:
    """The points of a grid."""

    connections: tuple[int, ...] = (20, 100, 250)
    loops: tuple[Loop, ...] = (Loop.CLOSED,)
    threads: tuple[int | None, ...] = (None,)
    """None: as many as the server takes by itself."""
    cpus: tuple[int | None, ...] = (None,)
    """Of the server; None: those that all trials of the run have."""
    workers: int | None = None
    rate_per_s: float | None = None
    """Of open loops; None: as much as keeps an ideal server at the number of connections."""
    endpoint: Endpoint = Endpoint.WORKLOADS
    workloads_ms: str = ",".join(map(str, DEFAULT_WORKLOADS_MS))
    timeout_ms: int | None = None
    generator: str = OWN_GENERATOR

    def __post_init__(self) -> None:
        """Refuse a grid without points."""
        if not (self.connections and self.loops and self.threads and self.cpus):
            raise InvalidValue("service: a grid needs connections, a loop, threads and CPUs")
        if self.rate_per_s is not None and Loop.OPEN not in self.loops:
            raise InvalidValue("--rate: a closed loop has none; give --loop open, too")
        if Loop.OPEN in self.loops and self.rate_per_s is None and self.endpoint is not Endpoint.WORKLOADS:
            raise InvalidValue(f"--loop open: /{self.endpoint} has no ideal that a rate follows from; give a --rate")
        if self.generator != OWN_GENERATOR and Loop.OPEN in self.loops:
            raise InvalidValue(f"--loop open: {self.generator} sends when an answer came; {OWN_GENERATOR} can")
        _ = list(self.points())

    def points(self) -> Iterator[ServicePoint]:
        """Return the points, those of few connections first."""
        for connections, variant in product(self.connections, self.variants()):
            yield self.point(connections, variant)

    def variants(self) -> tuple[Variant, ...]:
        """Return the variants in which each number of connections is measured."""
        return tuple(Variant(*one) for one in product(self.loops, self.threads, self.cpus))

    def point(self, connections: int, variant: Variant) -> ServicePoint:
        """Return one point."""
        waits = self.workloads_ms if self.endpoint is Endpoint.WORKLOADS else ""
        point = ServicePoint(
            connections=connections,
            loop=Loop.CLOSED,
            rate_per_s=None,
            threads=variant.threads,
            workers=self.workers,
            endpoint=self.endpoint,
            workloads_ms=waits,
            timeout_ms=self.timeout_ms,
            generator=self.generator,
            cpus=variant.cpus,
        )
        if variant.loop is Loop.CLOSED:
            return point
        rate = connections * 1e9 / point.ideal_ns if self.rate_per_s is None else self.rate_per_s
        return replace(point, loop=variant.loop, rate_per_s=rate)

    def settings(self) -> Mapping[str, Setting]:
        """Return the axes as settings of a manifest, written like options."""
        return {
            "connections": ",".join(map(str, self.connections)),
            "loop": ",".join(self.loops),
            "threads": ",".join(UNLIMITED if count is None else str(count) for count in self.threads),
            "server_cpus": None if self.cpus == (None,) else ",".join(map(str, self.cpus)),
            "endpoint": self.endpoint.value,
            **{name: getattr(self, name) for name in _SINGLE},
        }

    def changed(self, texts: Mapping[str, Any], *, available: int | None = None) -> Self:
        """Return the axes with those of ``texts``, which are as in ``settings``; None: unchanged.

        ``available`` is how many CPUs the server and the generator have; None: numbers of CPUs are not checked.
        """
        read: dict[str, tuple[str, Callable[[str], Any]]] = {
            "connections": ("connections", lambda text: parse_values(text, _connections, name="--connections")),
            "loops": ("loop", _each(partial(parse_loop, name="--loop"))),
            "threads": ("threads", _each(_threads)),
            "cpus": ("server_cpus", _each(partial(_server_cpus, available=available))),
            "endpoint": ("endpoint", _endpoint),
        }
        lists = {field: parse(str(texts[name])) for field, (name, parse) in read.items() if texts[name] is not None}
        return replace(self, **lists, **{name: texts[name] for name in _SINGLE if texts[name] is not None})


def _each(read: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return a reader of lists, which drops duplicates."""
    return lambda text: tuple(dict.fromkeys(read(part.strip()) for part in text.split(",")))


def _endpoint(text: str) -> Endpoint:
    try:
        return Endpoint(text.removeprefix("/"))
    except ValueError as error:
        raise InvalidValue(f"--endpoint: {text!r} is unknown; choose from: {', '.join(Endpoint)}") from error


def _count(option: str, text: str, like: str, least: int, most: int, fault: str = "is not understood") -> int:
    """Read a number from ``least`` to ``most``; ``like`` is an example for the message."""
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS and least <= int(text) <= most:
        return int(text)
    raise InvalidValue(f"{option}: {text[:60]!r} {fault}; write it like {like}")


def _connections(text: str) -> int:
    return _count("--connections", text, "20,100,250", 0, _LARGEST, "is not a number of connections")


def _server_cpus(text: str, available: int | None) -> int:
    """Read a number of CPUs; the generator has one of several, and shares the only one."""
    most = max(1, available - 1) if available else _LARGEST
    if available and text == _ALL:
        return most
    count = _count("--server-cpus", text, f"1, 2 or {_ALL}", 1, _LARGEST)
    if available and count > most:
        whose = f"of the {available} here the generator has one" if available > 1 else "there is one here"
        raise InvalidValue(f"--server-cpus: {count:,} are more than can be had: {whose}; write {most} or {_ALL}")
    return count


def _threads(text: str) -> int | None:
    return None if text == UNLIMITED else _count("--threads", text, f"1, 4 or {UNLIMITED}", 1, _MOST_THREADS)


def name_of(point: ServicePoint) -> str:
    """Name a point among those of any grid of the same run."""
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
"""Most trials of a point that was disturbed: the disturbance may have ended."""
_WITHOUT_SERVER: Final = frozenset({Outcome.UNAVAILABLE, Outcome.NEVER_LISTENED, Outcome.CRASHED})
"""Outcomes of a server that would be the same with any number of connections."""
_NOT_ITS_OWN: Final = frozenset({Outcome.REFUSED, Outcome.INTERRUPTED})
_DISTURBED: Final = frozenset(
    {Validity.GENERATOR_LIMITED, Validity.DISTURBED, Validity.UNSTEADY, Validity.LINK_LIMITED}
)


def restored_search(settings: Mapping[str, Setting]) -> DoublingSearch | None:
    """Return the search of a server from the settings of a run; None where nothing was searched."""
    if not settings.get("search"):
        return None
    with reading_settings():
        low = min(int(count) for count in str(settings["connections"]).split(","))
        return search_between(low, int(str(settings["most_connections"])), quick=bool(settings["quick"]))


def search_between(low: int, high: int, *, quick: bool = False) -> DoublingSearch:
    """Return the search between two numbers of connections; a quick one is coarser."""
    return DoublingSearch(low, high, 4.0, 2.0) if quick else DoublingSearch(low, high, 2.0, 1.1)


def checks_of(trials: Sequence[Trial], *, tries: int = _TRIES) -> list[Check]:
    """Return the results of one server that a search rests on.

    A point that is held counts, even if the machine or the generator disturbed the trial. A disturbed trial in which
    it is not held counts after ``tries`` of them.
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
    """Return the next number of connections of a server, and the reason for it; None at the end of its search.

    ``trials`` are those of one server in one variant, in their order; all servers have the same ``search``.
    """
    if any(trial.outcome in _WITHOUT_SERVER for trial in trials):
        return None
    checks = checks_of(trials)
    point = trials[-1].get(ServicePoint) if trials and _spoilt(trials[-1]) else None
    if point and not any(round(check.load) == point.connections for check in checks):
        return point.connections, "again, as something else disturbed the trial"
    if (connections := search.next(checks)) is None:
        return None
    if not checks:
        return connections, "to begin with"
    return connections, "more may hold" if search.conclude(checks).failed is None else "it breaks below"


USUAL_REPEAT: Final = 3
"""Two trials show hardly any spread, and each lasts many times the longest wait."""
ROUNDS: Final = 4.0
"""Default length of the steady stretch, in ideals."""
QUICK_ROUNDS: Final = 2.0
_READY_S: Final = 30.0
_PROOF_IDEALS: Final = 6.0
_SLACK_S: Final = 60.0
_SHORTEST_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(ServiceOptions):
    """How do servers hold up when every request waits for parallel work."""

    axes: Axes
    """The grid that the options of its axes span."""
    send_s: float | None = None
    """Duration of the whole load, in place of a steady stretch; None: it follows from the stretch."""
    repeat: int = 1
    most_connections: int = 10_000
    seed: int = 1
    generator_folder: str | None = None
    """Folder of another generator's ``subject.toml``; None: our own generator sends."""
    threads_of: Mapping[str, int] | None = None
    """Threads of single servers, by their ids, in place of those of the grid: a preset has some."""
    name = NAME

    def __post_init__(self) -> None:
        """Refuse impossible options before anything is built."""
        if self.duration_s is not None and not self.duration_s >= _SHORTEST_S:
            raise InvalidValue(f"--duration: {self.duration_s:g} s are too short to tell anything; write 1s or more")
        longest_s = max(point.ideal_ns for point in self.axes.points()) / 1e9
        # A slow server answers in bursts an ideal or two apart: a shorter stretch has one of them, or none.
        if self.duration_s is not None and self.duration_s < QUICK_ROUNDS * longest_s:
            raise InvalidValue(
                f"--duration: {self.duration_s:g} s are too short for requests that wait {longest_s:g} s;"
                f" write {math.ceil(QUICK_ROUNDS * longest_s)}s or more"
            )
        if self.search and self.axes.endpoint is not Endpoint.WORKLOADS:
            raise InvalidValue("--search: only requests that wait have an ideal to hold; leave out --endpoint")
        if self.search and self.axes.rate_per_s is not None:
            raise InvalidValue("--search: the rate follows from the number of connections; leave out --rate")
        if self.search and self.most_connections < min(self.axes.connections):
            raise InvalidValue(
                f"--most-connections: {self.most_connections:,} are fewer than the {min(self.axes.connections):,} "
                "that the search begins with; give more, or fewer --connections"
            )
        _ = self.conditions()

    def condition(self, point: ServicePoint) -> Condition:
        """Return the condition of a point."""
        ideal_s, send_s = unit_ns(point) / 1e9, self.send_s
        if send_s is None:
            rounds_s = (QUICK_ROUNDS if self.quick else ROUNDS) * ideal_s
            measured_s = rounds_s if self.duration_s is None else self.duration_s
            send_s = send_ns(point, round(measured_s * 1e9)) / 1e9
            # Some tools accept whole seconds only.
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
        return [self.condition(point) for point in self.axes.points()]

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Interleave the trials of all servers: a block for each point, or a round of the search."""
        if self.search:
            return self._search_plan(subjects)
        plans = schedule(subjects, self.conditions(), repeat=self.repeat, seed=self.seed)
        return ListedPlan(tuple(map(self._with_own_threads, plans)), {"repeat": self.repeat})

    def _with_own_threads(self, plan: TrialPlan) -> TrialPlan:
        threads, point = (self.threads_of or {}).get(plan.subject.id), plan.condition[ServicePoint]
        if threads is None:
            return plan
        return replace(plan, condition=replace(plan.condition, point=replace(point, threads=threads)))

    def _search_plan(self, subjects: Sequence[Subject]) -> SearchPlan:
        """Plan the search for where servers break, one variant after the other.

        A subject that is not available has one trial, with the reason.
        """
        variants = self.axes.variants()
        search = search_between(min(self.axes.connections), self.most_connections, quick=self.quick)

        def choose(_: Subject, seen: Sequence[Trial]) -> NextTrial | None:
            if any(trial.outcome in _WITHOUT_SERVER for trial in seen):
                return None
            for variant in variants:
                own = [t for t in seen if (point := t.get(ServicePoint)) and Variant.of(point) == variant]
                if (step := to_be_tried(search, own)) is not None:
                    connections, why = step
                    return NextTrial(self.condition(self.axes.point(connections, variant)), why)
            return None

        first = self.condition(self.axes.point(search.low, variants[0]))
        # A trial without a result may be repeated.
        most = _TRIES * search.most * len(variants) * len(subjects)
        return SearchPlan(tuple(subjects), first, max(most, 1), choose, self.seed)

    def webs(self) -> tuple[WebIdentity, ...]:
        """Return no web: servers answer themselves."""
        return ()

    def settings(self) -> Mapping[str, Setting]:
        """Return the options that it was made with."""
        threads = ",".join(f"{name}={count}" for name, count in sorted((self.threads_of or {}).items()))
        return {**self.axes.settings(), **settings_of(self), "threads_of": threads or None, "seed": self.seed}

    @classmethod
    def restore(cls, settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path | None = None) -> Self:
        """Rebuild the experiment from the settings of its manifest."""
        with reading_settings():
            texts = {name: settings[name] for name in ("connections", "loop", "threads", "endpoint", *_SINGLE)}
            # Runs of version 0.1.0 have no ``server_cpus``.
            axes = Axes().changed({**texts, "server_cpus": settings.get("server_cpus")})
            seed = int(settings["seed"] or 0)
            pairs = [pair.split("=") for pair in str(settings["threads_of"] or "").split(",") if pair]
            threads = {name: int(count) for name, count in pairs}
        return restored(cls, settings, webs, urls, axes=axes, seed=seed, threads_of=threads or None)


_SEARCH_FROM: Final = 20
_OTHER_FILES: Final = 100
"""Open files of a generator or a server in addition to its connections."""


def begin_service(beginning: Beginning, names: Sequence[str], options: ServiceOptions) -> Begun:
    """Begin a run of the named servers with the options."""
    chosen = choose_servers(beginning.catalogue, names, options)
    beginning.install([*chosen.servers, *([chosen.generator] if chosen.generator else [])])
    cpus, available = beginning.place.pinning.subject_cpus, len(os.sched_getaffinity(0))
    service = make_service(options, chosen, cpus=cpus, available=available)
    require_possible(service, open_files=getrlimit(RLIMIT_NOFILE)[1])
    if merged := merged_words(options.server_cpus, service.axes.cpus, available):
        beginning.tell(merged)
    return Begun(service, chosen.servers)


def merged_words(server_cpus: str | None, cpus: Sequence[int | None], available: int) -> str | None:
    """Describe the points if several of the given numbers of CPUs are the same on this machine; else None."""
    if server_cpus is None or len(cpus) == len(server_cpus.split(",")):
        return None
    return f"--server-cpus {server_cpus}: of the {available} CPUs here that is {', '.join(map(str, cpus))}, once"


@dataclass(frozen=True, slots=True)
class Selected:
    """The chosen servers and generator."""

    servers: tuple[Subject, ...]
    generator: Subject | None = None
    """Another tool than our own."""


def choose_servers(catalogue: Catalogue, names: Sequence[str] | None, options: ServiceOptions) -> Selected:
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
            raise UsageError(f"{server.id} is a {server.kind}: service asks servers, such as rust-axum")
        if not server.unavailable and endpoint not in server.capabilities.endpoints:
            others = " or ".join(server.capabilities.endpoints) or "nothing"
            raise UsageError(
                f"{server.id} has no {endpoint}, only {others}; choose another --endpoint, or leave it out"
            )
    if options.generator in {None, OWN_GENERATOR}:
        return Selected(servers)
    return Selected(servers, _generator(catalogue, str(options.generator), endpoint, search=options.search))


def _generator(catalogue: Catalogue, name: str, endpoint: Endpoint, *, search: bool) -> Subject:
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
    axes = _axes(options, preset, selected.generator, available)
    if options.workloads_ms is not None and axes.endpoint is not Endpoint.WORKLOADS:
        raise UsageError(f"--workloads-ms: /{axes.endpoint} waits for nothing; leave it out, or --endpoint")
    if preset is not None:
        _reject_preset_conflicts(options, axes)
    whole = preset is not None and not options.quick and options.duration_s is None
    repeat = options.repeat or (1 if options.quick else USUAL_REPEAT)
    given = {**stored_options(options), "repeat": repeat, "seed": options.seed}
    return Service(
        **{name: value for name, value in given.items() if value is not None},
        axes=axes,
        send_s=preset.asked["send_s"] if preset is not None and whole else None,
        generator_folder=str(selected.generator.folder) if selected.generator else None,
        threads_of=None if preset is None else preset.asked["threads_of"],
    )


def _axes(options: ServiceOptions, preset: PublishedTable | None, generator: Subject | None, available: int) -> Axes:
    usual = Axes()
    if preset is not None:
        counts = sorted({int(str(row["connections"])) for row in preset.rows})
        usual = Axes(connections=tuple(counts), threads=(preset.asked["threads"],))
    texts = {option.name: getattr(options, option.name) for option in option_fields(ServiceOptions)}
    texts |= {"rate_per_s": options.rate, "generator": generator.id if generator else None}
    if options.search and options.connections is None:
        texts["connections"] = str(_SEARCH_FROM)
    if options.rate is not None and options.loop is None:
        texts["loop"] = Loop.OPEN.value
    return usual.changed(texts, available=available)


def _reject_preset_conflicts(options: ServiceOptions, axes: Axes) -> None:
    """Refuse options that would make a run differ from the published measurement."""
    if len(axes.cpus) > 1:
        raise UsageError(
            "--server-cpus: --preset allows one number only, since the published form has one row for each server"
        )
    for name in ("loop", "rate", "threads", "workers", "endpoint", "workloads_ms", "timeout_ms"):
        if getattr(options, name) is not None:
            raise UsageError(
                f"--{name.replace('_', '-')} conflicts with --preset, a published measurement; leave one out"
            )


def require_possible(service: Service, *, open_files: int) -> None:
    """Refuse more connections than a process may have open files, before anything is measured; -1: it may have any."""
    option, most = "--connections", max(service.axes.connections)
    if service.search:
        option, most = "--most-connections", service.most_connections
    if most > MOST_CONNECTIONS:
        raise InvalidValue(f"{option}: at most {MOST_CONNECTIONS:,}, not {most:,}")
    if 0 <= open_files < most + _OTHER_FILES:
        raise InvalidValue(
            f"{option}: {most:,} connections are more than a process may open here, {open_files:,} files; "
            f"raise that (ulimit -Hn {most + _OTHER_FILES}, as root), or ask for fewer"
        )
