"""The steady stretch of a closed loop, and how many answers came in each second of it.

At the beginning connections are opened, and all requests of the first round are sent at once; at the end fewer and
fewer are in flight. In between, a request is sent when an answer came: what was sent tells when answers came.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from httpdyno.stats import Int64Array

__all__ = ["ClosedStretch", "sampled_stretch", "sent_stretch", "slope_per_s"]


_FEW: Final = 3
"""Of fewer completions nothing is said."""
_ROUNDS_LEFT: Final = 4
"""So many rounds have to be left for the first one to be left out: of fewer it says more than it disturbs."""
_ROUNDS_COMPARED: Final = 2
"""Of fewer rounds there is no time between rounds."""


@dataclass(frozen=True, slots=True)
class ClosedStretch:
    """From the first completion that counts to the last, since the Unix epoch."""

    begin_ns: int
    end_ns: int
    per_s: float
    """Completions for each second of it, right ones or not."""
    is_silent: bool = False
    """Whether nothing came any more at its end, although requests were in flight."""

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.begin_ns


def sampled_stretch(samples: pl.DataFrame, *, concurrency: int, ended_at_ns: int | None = None) -> ClosedStretch | None:
    """Find the stretch in what a client printed: until the list was exhausted, else until its deadline.

    ``samples`` have ``start_ns`` and ``duration_ns``, null where a URL has no line. ``ended_at_ns``: when the client
    ended; None: with its last line. None of fewer than three lines.

    References
    ----------
    Little, A proof for the queuing formula L = lambda W (1961), Operations Research 9(3): no more answers a second come
    than are in flight, divided by the mean time of one.
    """
    printed = samples.select("start_ns", "duration_ns").drop_nulls()
    if len(printed) < _FEW:
        return None
    starts, durations = (printed[name].to_numpy() for name in ("start_ns", "duration_ns"))
    begun_ns, all_ends = int(starts.min()), starts + durations
    stretch = _of_ends(np.sort(all_ends), concurrency, begun_ns=begun_ns, is_exhausted=len(printed) == len(samples))
    if stretch is None:
        return None
    within = durations[(all_ends >= stretch.begin_ns) & (all_ends <= stretch.end_ns)]
    if (mean_ns := float(within.mean())) > 0:
        stretch = replace(stretch, per_s=min(stretch.per_s, concurrency * 1e9 / mean_ns))
    silent_ns = 0 if ended_at_ns is None else ended_at_ns - int(all_ends.max())
    if len(printed) < len(samples) and ended_at_ns is not None and stretch.per_s * silent_ns / 1e9 > concurrency:
        # No request of a closed loop waits longer than a round but where nothing comes any more.
        per_s = len(printed) * 1e9 / (ended_at_ns - begun_ns)
        return ClosedStretch(begun_ns, ended_at_ns, min(stretch.per_s, per_s), is_silent=True)
    return stretch


def _of_ends(ends: Int64Array, concurrency: int, *, begun_ns: int, is_exhausted: bool) -> ClosedStretch | None:
    if is_exhausted and len(ends) >= (1 + _ROUNDS_COMPARED) * concurrency:
        # Those that were followed by another start: with the last of them the list was exhausted.
        ends = ends[: len(ends) - concurrency]
    return _stretch(ends, concurrency, begun_ns=begun_ns)


def sent_stretch(arrivals_ns: Int64Array, *, concurrency: int) -> ClosedStretch | None:
    """Find the stretch in what the origin saw of a tool that sends the next request when an answer came.

    Arrivals come in any order; each after the first round stands for an answer that came half a round trip before. None
    of fewer than three requests beyond the first round.
    """
    arrivals = np.sort(arrivals_ns)
    answers = arrivals[concurrency:]
    return _stretch(answers, concurrency, begun_ns=int(arrivals[0])) if len(answers) >= _FEW else None


def _stretch(ends: Int64Array, concurrency: int, *, begun_ns: int) -> ClosedStretch | None:
    """Count whole rounds of completions, and fit a line through their count over time.

    Where answers are few and long, a count between two moments says when they happened to end: of answers in step (all
    of a round at once, as with a constant think time) a part of a round too many or too few, behind a full queue that
    is shared unfairly a tenth of them. The slope of a line through all of them is exact of answers in step, and of an
    unfair queue three times as sure as the count.
    """
    first = concurrency if len(ends) >= (1 + _ROUNDS_LEFT) * concurrency else 0
    rounds = (len(ends) - first) // concurrency
    if rounds >= _ROUNDS_COMPARED:
        used = ends[first : first + rounds * concurrency]
        if (per_s := slope_per_s(used)) is not None:
            return ClosedStretch(int(used[0]), int(used[-1]), per_s)
    length_ns = int(ends[-1]) - begun_ns
    return ClosedStretch(begun_ns, int(ends[-1]), len(ends) * 1e9 / length_ns) if length_ns > 0 else None


def slope_per_s(times_ns: Int64Array) -> float | None:
    """Return the least-squares slope of a count over the times, ascending, at which it grew; None without two times."""
    if not len(times_ns):
        return None
    times = (times_ns - times_ns[0]) / 1e9
    spread = times - times.mean()
    square = float(spread @ spread)
    return float(spread @ np.arange(len(times), dtype=np.float64)) / square if square > 0 else None
