"""The grid of the service question: connections, loops, threads and CPUs, and what all of its points share."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, NamedTuple, Self

from httpdyno.errors import InvalidValue
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.restoring import reading_settings
from httpdyno.experiments.service.figures import DEFAULT_WORKLOADS_MS, Endpoint, ServicePoint
from httpdyno.model import Loop

__all__ = ["OWN_GENERATOR", "UNLIMITED", "Axes", "Variant", "name_of"]

OWN_GENERATOR: Final = "httpdyno-load"
UNLIMITED: Final = "unlimited"
"""As many threads as a server takes by itself."""
_SINGLE: Final = ("rate_per_s", "workers", "timeout_ms")


class Variant(NamedTuple):
    """How a server is run and asked, whatever the number of connections."""

    loop: Loop
    threads: int | None
    """None: as many as it takes by itself."""
    cpus: int | None
    """None: those that all trials of the run have."""

    @classmethod
    def of(cls, point: ServicePoint) -> Self:
        """Read it from a point."""
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
        """Return in which ways each number of connections is tried."""
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
        """Return the axes as settings of a manifest."""
        return {
            "connections": ",".join(map(str, self.connections)),
            "loop": ",".join(self.loops),
            "threads": ",".join(UNLIMITED if count is None else str(count) for count in self.threads),
            "server_cpus": None if self.cpus == (None,) else ",".join(map(str, self.cpus)),
            "endpoint": self.endpoint.value,
            "workloads_ms": self.workloads_ms,
            "generator": self.generator,
            **{name: getattr(self, name) for name in _SINGLE},
        }

    @classmethod
    def restored(cls, settings: Mapping[str, Setting]) -> Self:
        """Make the axes again from the settings of a manifest."""
        with reading_settings():
            return cls(
                connections=tuple(int(part) for part in str(settings["connections"]).split(",")),
                loops=tuple(Loop(part) for part in str(settings["loop"]).split(",")),
                threads=tuple(None if one == UNLIMITED else int(one) for one in str(settings["threads"]).split(",")),
                cpus=_cpus(settings.get("server_cpus")),
                endpoint=Endpoint(str(settings["endpoint"])),
                workloads_ms=str(settings["workloads_ms"]),
                generator=str(settings["generator"]),
                **{name: settings[name] for name in _SINGLE},  # type: ignore[arg-type]  # of the types that were kept
            )


def _cpus(setting: Setting) -> tuple[int | None, ...]:
    """Read the numbers of CPUs; runs that are older than this have no such setting."""
    return (None,) if setting is None else tuple(int(one) for one in str(setting).split(","))


def name_of(point: ServicePoint) -> str:
    """Name a point among those of any grid of the same run."""
    words = [f"{point.connections:,} connections" if point.connections > 1 else "1 connection"]
    if point.loop is Loop.OPEN:
        words.append(f"open loop, {point.rate_per_s:g}/s")
    if point.threads is not None:
        words.append(f"{point.threads} thread{'' if point.threads == 1 else 's'}")
    if point.cpus is not None:
        words.append(f"{point.cpus} CPU{'' if point.cpus == 1 else 's'}")
    if point.endpoint is not Endpoint.WORKLOADS:
        words.append(f"/{point.endpoint}")
    return ", ".join(words)
