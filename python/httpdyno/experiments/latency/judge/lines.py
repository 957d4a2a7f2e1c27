"""What a call cost, from the lines of a client that was handed one batch after the other."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from httpdyno.experiments.latency.figures import LatencyPoint, LatencyRun, LatencySummary
from httpdyno.experiments.latency.judge.timeit import spread, timeit_runs
from httpdyno.judge.cpu_time import CpuSeries
from httpdyno.model import Verdict
from httpdyno.stats import percentile

__all__ = ["Seen", "clock_tells", "summarise_lines"]

_NUMBER: Final = r"(\d+)$"
"""A URL of a series ends with its number."""
_FEWEST_OF_P999: Final = 1000
"""With fewer calls the 99.9th percentile is the longest."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What others than the client saw of its calls.

    Attributes
    ----------
    arrivals : pl.DataFrame | None
        As ``read_arrivals`` gives them; None where nobody stamped them.
    round_trip_ns : int | None
        Of a packet between client and peer and back, with no program in between; None: not measured.
    connections_per_call : float | None
        How many connections a call opens: each costs a round trip of its own. None: not known.
    cpu : CpuSeries | None
        None where it was not sampled.
    clock_bound_ns : int
        By how much the stamps of arrivals may be off: those of another machine are moved to the clock of this one.
    """

    arrivals: pl.DataFrame | None = None
    round_trip_ns: int | None = None
    connections_per_call: float | None = None
    cpu: CpuSeries | None = None
    clock_bound_ns: int = 0


def summarise_lines(samples: pl.DataFrame, point: LatencyPoint, seen: Seen) -> LatencySummary:
    """Put the lines of a client into figures of its loops and its calls.

    A loop is a batch: from the start of its first call to the end of its last. Loops with an answer that is missing or
    not right are left out, as timeit would have stopped there; they count among the wrong ones of the trial. Figures of
    single calls rest on all loops after the warm-up, those of loops on the seven runs (``timeit_runs``).

    What a call takes is its duration as the client claims it. Of this the server has the time from the arrival of the
    request to the end of its answer, the wire a round trip for the request and one for each new connection; what is
    left is the client's. Calls that wait for others of their batch have that in the client's part, too. Nobody has a
    part where another machine's clock is known no better than a call lasts (``clock_tells``).

    ``samples`` have ``url``, whose last digits are its number in the series, ``start_ns``, ``duration_ns`` and
    ``verdict``.
    """
    calls = _calls(samples, point.parallel)
    if calls.is_empty():
        return LatencySummary(calls=0)
    first_ns = int(calls["duration_ns"][0])
    loops = calls.group_by("loop", maintain_order=True).agg(
        begin=pl.col("start_ns").min(), end=(pl.col("start_ns") + pl.col("duration_ns")).max()
    )
    # The clock that durations are taken by is finer than that of the stamps: one call alone is its duration.
    alone = point.parallel == 1
    times = calls["duration_ns"] if alone else loops["end"] - loops["begin"]
    runs = timeit_runs(times.to_numpy())
    if runs is None:
        return LatencySummary(calls=0, first_ns=first_ns)
    warm = calls[runs.warm_up * point.parallel :]
    mean_ns, deviation_ns = spread(runs.loop_ns)
    durations = np.sort(warm["duration_ns"].to_numpy())
    call_ns = float(durations.mean(dtype=np.float64))
    server_ns, wire_ns, client_ns = _shares(warm, call_ns, seen)
    cpu_ns = seen.cpu.between(int(loops["begin"][runs.warm_up]), int(loops["end"][-1])) if seen.cpu else None
    return LatencySummary(
        calls=len(warm),
        loops=runs.loops,
        runs=tuple(map(LatencyRun, runs.loop_ns)),
        mean_ns=mean_ns,
        deviation_ns=deviation_ns,
        call_ns=call_ns,
        p50_ns=percentile(durations, 50),
        p99_ns=percentile(durations, 99),
        p999_ns=percentile(durations, 99.9) if len(durations) >= _FEWEST_OF_P999 else None,
        max_ns=int(durations[-1]),
        first_ns=first_ns,
        cpu_per_call_ns=None if cpu_ns is None else cpu_ns / len(warm),
        server_ns=server_ns,
        wire_ns=wire_ns,
        client_ns=client_ns,
    )


def clock_tells(bound_ns: int, call_ns: float) -> bool:
    """Return whether an origin's stamps can say what of a call was whose.

    The server's part is the difference of two stamps of one clock, which may be ahead as far as it likes. But the clock
    of another machine that is known no better than a call lasts was set or is far away: whether a call that a client
    claims holds the arrival that was stamped is not known then, and a step of the clock is in the difference, too.

    ``bound_ns`` is by how much its stamps may be off on this machine's clock, ``call_ns`` the mean duration of a call.
    """
    return bound_ns < call_ns


def _calls(samples: pl.DataFrame, parallel: int) -> pl.DataFrame:
    """Return the calls of whole loops that are right, in the order of their numbers, each with its loop."""
    numbered = samples.with_columns(number=pl.col("url").str.extract(_NUMBER).cast(pl.Int64))
    right = numbered.filter((pl.col("verdict") == Verdict.RIGHT.value) & pl.col("number").is_not_null())
    looped = right.with_columns(loop=pl.col("number") // parallel).sort("number")
    return looped.filter(pl.len().over("loop") == parallel)


def _shares(warm: pl.DataFrame, call_ns: float, seen: Seen) -> tuple[float | None, float | None, float | None]:
    """Return what of a call's mean duration was the server's, the wire's and the client's own."""
    if not clock_tells(seen.clock_bound_ns, call_ns):
        return None, None, None
    server_ns = None
    if seen.arrivals is not None:
        served = warm.join(seen.arrivals, on="url", how="inner").select(pl.col("done_ns") - pl.col("at_ns"))
        known = served.to_series().drop_nulls().to_numpy()
        server_ns = float(known.mean(dtype=np.float64)) if len(known) else None
    if seen.round_trip_ns is None or seen.connections_per_call is None:
        return server_ns, None, None
    wire_ns = seen.round_trip_ns * (1 + seen.connections_per_call)
    if server_ns is None:
        return None, wire_ns, None
    return server_ns, wire_ns, max(call_ns - server_ns - wire_ns, 0.0)
