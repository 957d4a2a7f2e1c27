"""Runs and loops as Python's timeit chooses them, and its figure as IPython prints it: pure, from times of loops."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

import numpy as np

from httpdyno.stats import Int64Array

__all__ = ["RUNS", "Runs", "loop_choices", "per_loop_text", "spread", "timeit_runs", "timeit_text"]


RUNS: Final = 7
"""Runs of a figure, as IPython's ``%timeit`` makes them."""
_LONG_ENOUGH_NS: Final = 200_000_000
"""A try that takes this long has enough loops; the first loops that take this long together are the warm-up."""
_STEPS: Final = (1, 2, 5)
_UNITS: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
_DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class Runs:
    """Seven runs out of a series of loops.

    Attributes
    ----------
    warm_up : int
        Loops at the beginning that are no part of any figure.
    loops : int
        Of each run: as many as timeit would have chosen, or as there were for seven runs.
    loop_ns : tuple of float
        Mean time of a loop in each run.
    """

    warm_up: int
    loops: int
    loop_ns: tuple[float, ...]


def loop_choices() -> Iterator[int]:
    """Return the numbers of loops that timeit tries, one after the other: 1, 2, 5, 10, 20, 50 and so on.

    References
    ----------
    The Python Standard Library, ``timeit.Timer.autorange``.
    """
    return (step * 10**power for power in count() for step in _STEPS)


def timeit_runs(times_ns: Int64Array) -> Runs | None:
    """Pick seven runs out of the times of successive loops, as timeit would have made them.

    The loops of the first 0.2 s warm the process up. Then so many are tried as timeit tries, until one try takes 0.2 s:
    that is the number of loops. The last seven times as many of the series are the runs: by then the process is as warm
    as it gets. Where there are too few, each run has as many of timeit's numbers as the series allows.

    None for fewer than seven loops after the warm-up.
    """
    elapsed = np.cumsum(times_ns)
    warm_up = int(np.searchsorted(elapsed, _LONG_ENOUGH_NS)) + 1
    left = len(times_ns) - warm_up
    if left < RUNS:
        return None
    wanted, begin = 1, warm_up
    for wanted in loop_choices():
        end = begin + wanted
        if end > len(times_ns) or elapsed[end - 1] - elapsed[begin - 1] >= _LONG_ENOUGH_NS:
            break
        begin = end
    enough = begin + (1 + RUNS) * wanted <= len(times_ns)
    loops = wanted if enough else _most(left // RUNS)
    runs = times_ns[-RUNS * loops :].reshape(RUNS, loops)
    means = tuple(float(mean) for mean in runs.mean(axis=1, dtype=np.float64))
    return Runs(warm_up, loops, means)


def _most(limit: int) -> int:
    """Return the largest of timeit's numbers that is not above a limit of 1 or more."""
    best = 1
    for choice in loop_choices():
        if choice > limit:
            break
        best = choice
    return best


def spread(loop_ns: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard deviation of the runs, the latter of a population, as IPython computes it."""
    mean = math.fsum(loop_ns) / len(loop_ns)
    return mean, math.sqrt(math.fsum((one - mean) ** 2 for one in loop_ns) / len(loop_ns))


def timeit_text(time_ns: float) -> str:
    """Write a time with three digits that matter and its unit, as IPython does: ``1.19 ms``, ``70.7 us``, ``18 s``."""
    unit_ns, unit = next(((size, name) for size, name in _UNITS if _rounded(time_ns / size) >= 1), _UNITS[-1])
    return f"{_rounded(time_ns / unit_ns):.{_DIGITS}g} {unit}" if time_ns < 1e12 else f"{time_ns / 1e9:.0f} s"


def _rounded(value: float) -> float:
    """Round to the digits that are shown: 999.7 us is 1 ms then, and not 1e+03 us."""
    return float(f"{value:.{_DIGITS}g}")


def per_loop_text(mean_ns: float, deviation_ns: float, runs: int, loops: int) -> str:
    """Write a figure as ``%timeit`` prints it.

    ``1.19 ms ± 70.7 us per loop (mean ± std. dev. of 7 runs, 1,000 loops each)``
    """
    many_runs, many_loops = "" if runs == 1 else "s", "" if loops == 1 else "s"
    return (
        f"{timeit_text(mean_ns)} ± {timeit_text(deviation_ns)} per loop "
        f"(mean ± std. dev. of {runs} run{many_runs}, {loops:,} loop{many_loops} each)"
    )
