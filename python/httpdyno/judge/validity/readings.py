"""Readings of a trial that several rules share: other programs, and the drift of its pace."""

from typing import Final

import numpy as np

from httpdyno.judge.validity.rule import Reading
from httpdyno.model import ProgramUse, Trial
from httpdyno.stats import FloatArray
from httpdyno.stats.steadiness import FEWEST_VALUES, drift_interval, warm_up_length

_NAMED_FROM: Final = 0.01
"""Share of a CPU below which a program disturbs nothing."""
_NAMED: Final = 2


def busy_programs(trial: Trial) -> tuple[ProgramUse, ...]:
    """Return the other programs that used at least one per cent of a CPU during a trial, the busiest first."""
    wall_ns = trial.counters.wall_ns or 0
    return tuple(used for used in trial.other_programs or () if used.cpu_ns >= _NAMED_FROM * wall_ns)


def names_of_others(trial: Trial) -> str:
    """Name the busiest of the other programs; empty if none is known."""
    return " and ".join(program.name for program in busy_programs(trial)[:_NAMED])


ON_SCHEDULE: Final = Reading(None, "in an open loop the schedule sets the pace")
"""Reading of a trial whose answers do not arrive as fast as the subject can."""
_TIMED_OUT: Final = 0.9
_LONG_WARM_UP: Final = 0.5
_BINS_AT_ONCE: Final = 5
"""Precision of the warm-up, in bins."""


def drift(trial: Trial) -> Reading:
    """Return the difference of throughput between the last and the first third of the steady state.

    It is 0 if it may be chance, at 99 % confidence. Three parts precede the steady state and are left out: the start
    until the first answer; the time until the first URL that never answers frees its slot, which is the timeout; and
    the warm-up according to MSER-5. If the pace rises, as with a just-in-time compiler, the warm-up may be up to half
    of the time, otherwise a quarter.
    """
    answers, bin_ns = _answers(trial)
    warm_up = _warm_up(answers) if len(answers) else 0
    steady = answers[warm_up:]
    if len(steady) < FEWEST_VALUES:
        bins = f"{len(steady)} of {FEWEST_VALUES} bins of {bin_ns / 1e6:.0f} ms" if bin_ns else "no bins"
        return Reading(None, f"too short: {bins} in steady state")
    interval = drift_interval(steady)
    if interval is None:
        return Reading(None, "there are no answers")
    detail = f"{100 * interval.estimate:+.0f} %, between {100 * interval.low:+.0f} and {100 * interval.high:+.0f} %"
    if warm_up:
        detail += f", after a warm-up of {warm_up * bin_ns / 1e9:.0f} s"
    if interval.low <= 0 <= interval.high:
        return Reading(0.0, f"no more than chance: {detail}")
    return Reading(100 * abs(interval.estimate), detail)


def _warm_up(answers: FloatArray) -> int:
    """Return the number of bins of the warm-up; a long one must raise the pace and have ended."""
    usual, long = warm_up_length(answers), warm_up_length(answers, longest=_LONG_WARM_UP)
    ended = long < _LONG_WARM_UP * len(answers) - _BINS_AT_ONCE
    return long if ended and long > usual and answers[:long].mean() < answers[long:].mean() else usual


def _answers(trial: Trial) -> tuple[FloatArray, int]:
    """Return the answers in each whole bin, from the first answer and timeout on; and the length of a bin."""
    bins, wall_ns = trial.counters.throughput or (), trial.counters.wall_ns
    if not bins or not wall_ns or trial.summary is None:
        return np.empty(0), 0
    end_ns = min(trial.summary.exhausted_ns or wall_ns, wall_ns)
    bin_ns = bins[0].elapsed_ns
    timed_out = (trial.summary.max_ns or 0) >= _TIMED_OUT * trial.timeout_ns
    begin_ns = trial.timeout_ns if timed_out else 0
    answers = [point.answers for point in bins if begin_ns + bin_ns <= point.elapsed_ns <= end_ns]
    return np.trim_zeros(np.array(answers, dtype=np.float64), "f"), bin_ns


NO_ANSWERS: Final = "there are no answers"
