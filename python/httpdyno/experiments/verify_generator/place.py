"""Where generators are verified: which CPUs, with which engine, and what a round trip takes there."""

import os
from collections.abc import Collection
from typing import Final

from httpdyno.errors import InvalidValue, NothingMeasured
from httpdyno.experiments.verify_generator.run import Bench
from httpdyno.lab.calibrator import measure_overhead_ns
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.location import find_engine
from httpdyno.model import format_cpus, parse_cpus

__all__ = ["divide_cpus", "make_bench"]

_LEAST_S: Final = 2.0


def make_bench(cpus: str | None, duration_s: float, interruption: Interruption) -> Bench:
    """Find the engine and the CPUs, and measure a round trip."""
    if duration_s < _LEAST_S:
        raise InvalidValue(f"--duration: {duration_s:g} s are too short to tell anything; write {_LEAST_S:g}s or more")
    generator, server = divide_cpus(cpus, os.sched_getaffinity(0))
    engine = find_engine()
    overhead_ns = measure_overhead_ns(engine, server_cpus=server, client_cpus=generator)
    return Bench(engine, server, generator, duration_s, overhead_ns, interruption)


def divide_cpus(cpus: str | None, available: Collection[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the CPUs of the generator and those of the server: none is both's.

    ``cpus`` is as typed: ``1``, ``1:0``, ``2-3:0``. What is not said is chosen: the server has the first CPU that is
    free, the generator the one after it.
    """
    if len(available) == 1:
        raise NothingMeasured(
            "a generator and a server need a CPU each; this process may use one only; give it another"
        )
    named, _, behind = (cpus or "").partition(":")
    if cpus is not None and (not named or cpus.endswith(":")):
        raise InvalidValue(f"--cpus: {cpus!r} is not understood; write it like 1:0 or 2-3:0")
    generator = parse_cpus(named, name="--cpus") if named else None
    server = parse_cpus(behind, name="--cpus") if behind else None
    for part in filter(None, (generator, server)):
        if absent := part - frozenset(available):
            raise InvalidValue(f"--cpus: CPU {min(absent)} is not available here; choose from {format_cpus(available)}")
    rest = sorted(frozenset(available) - (generator or frozenset()) - (server or frozenset()))
    if server is None:
        server = frozenset(rest[:1])
        rest = rest[1:]
    if generator is None:
        generator = frozenset(rest[:1])
    if not generator or not server or generator & server:
        raise InvalidValue("--cpus: the generator and the server need CPUs of their own; write it like 1:0")
    return generator, server
