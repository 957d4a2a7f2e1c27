"""The rules of validity of a load: how the generator fared, by its own report."""

from dataclasses import replace
from typing import Final

import numpy as np

from httpdyno.experiments.load.figures import LoadSummary
from httpdyno.judge.validity import RULES, Evidence, Reading, Rule, rules_for
from httpdyno.judge.validity.readings import NO_ANSWERS, ON_SCHEDULE, drift_of
from httpdyno.judge.validity.stretch import SHORTEST_NS, TOO_SHORT
from httpdyno.model import Trial, Validity, format_time

__all__ = ["LOAD_RULES"]

_ALLOWED_LAG_NS: Final = 100_000
_NOT_COUNTED: Final = "the generator did not count how busy it was"
_SECOND_NS: Final = 1_000_000_000


def _lag(trial: Trial) -> Reading:
    """Return how late the generator sent what it could have sent, as a share of the median response time."""
    load = trial.get(LoadSummary)
    if load is None or not load.open_loop:
        return Reading(None, "a closed loop has no schedule to be late for")
    if load.send_lag is None or load.response is None or not load.response.p50_ns:
        return Reading(None, "nothing was sent on schedule")
    late_ns, median_ns = load.send_lag.p99_ns, load.response.p50_ns
    detail = f"{format_time(late_ns)} in {format_time(median_ns)}"
    return Reading(100 * max(late_ns - _ALLOWED_LAG_NS, 0) / median_ns, detail)


def _busy_on_schedule(trial: Trial) -> Reading:
    """Return how busy the busiest thread of the generator was in an open loop."""
    if (load := trial.get(LoadSummary)) is not None and not load.open_loop:
        return Reading(None, "a closed loop sends when an answer came, and is late for nothing")
    return _busy(trial)


def _busy_in_turns(trial: Trial) -> Reading:
    """Return how busy the busiest thread of the generator was in a closed loop."""
    if (load := trial.get(LoadSummary)) is not None and load.open_loop:
        return Reading(None, "in an open loop the schedule sets the throughput")
    return _busy(trial)


def _busy(trial: Trial) -> Reading:
    load = trial.get(LoadSummary)
    if load is None or load.busy_share is None:
        return Reading(None, _NOT_COUNTED)
    if load.elapsed_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(100 * load.busy_share)


def _waiting(trial: Trial) -> Reading:
    """Return how long others had the CPU that a thread of the generator was ready to run on."""
    load = trial.get(LoadSummary)
    if load is None or load.waiting_share is None:
        return Reading(None, "the kernel did not count how long the generator waited for its CPU")
    if load.elapsed_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(100 * load.waiting_share)


def _checked(trial: Trial) -> Reading:
    """Return the answers that did not meet what ``--check`` asks for."""
    load = trial.get(LoadSummary)
    if load is None or load.checks is None:
        return Reading(None, "no --check says what is right")
    answers = load.checks.right + load.checks.wrong
    wrong = load.checks.wrong
    return Reading(100 * wrong / answers, f"{wrong} of {answers}") if answers else Reading(None, NO_ANSWERS)


def _unverified(_: Trial) -> Reading:
    return Reading(None, "without --check a load does not know which answers are right")


def _drift(trial: Trial) -> Reading:
    """Return the drift of the answers in each whole second of a load, which has no list to be exhausted."""
    load = trial.get(LoadSummary)
    if load is None:
        return drift_of(np.empty(0), 0)
    if load.open_loop:
        return ON_SCHEDULE
    whole = load.elapsed_ns // _SECOND_NS
    answers = [second.requests for second in load.series if second.at_s < whole]
    return drift_of(np.trim_zeros(np.array(answers, dtype=np.float64), "f"), _SECOND_NS)


_READ: Final = {"unverified": _unverified, "wrong_answers": _checked, "drift": _drift}
_GENERATOR: Final = (
    Rule(
        "generator_waiting",
        Validity.GENERATOR_LIMITED,
        10,
        "% of the load",
        "time in which a thread of the generator was ready to run and others had its CPU",
        "a thread of the generator waited for its CPU for {number} of the load (at most {threshold}), which is in "
        "every time that it tells: give it a CPU of its own (--cpus), or end what else runs",
        _waiting,
        Evidence.GENERATOR,
    ),
    Rule(
        "generator_lag",
        Validity.GENERATOR_LIMITED,
        10,
        "% of the median response time",
        "open loop: 99th percentile of the generator's own lag, beyond the 0.1 ms that it may have",
        "the generator itself sent late, by {number} of the median response time ({detail}; at most {threshold}): "
        "give it more CPUs (--cpus), or a lower rate",
        _lag,
        Evidence.GENERATOR,
    ),
    Rule(
        "generator_busy",
        Validity.GENERATOR_LIMITED,
        85,
        "% of the load",
        "open loop: use of the generator's busiest thread",
        "a thread of the generator was busy for {number} of the load; from {threshold} on requests wait for it: "
        "give it more CPUs (--cpus), or a lower rate",
        _busy_on_schedule,
        Evidence.GENERATOR,
    ),
    Rule(
        "generator_saturated",
        Validity.GENERATOR_LIMITED,
        95,
        "% of the load",
        "closed loop: use of the generator's busiest thread",
        "a thread of the generator was busy for {number} of the load, so that the throughput is the generator's limit "
        "and not the server's; give it more CPUs (--cpus), or send at a --rate",
        _busy_in_turns,
        Evidence.GENERATOR,
    ),
)
LOAD_RULES: Final = rules_for(
    *(Evidence.ANSWERS, Evidence.LINK, Evidence.MACHINE, Evidence.PACE),
    own=(*(replace(rule, read=_READ[rule.name]) for rule in RULES if rule.name in _READ), *_GENERATOR),
)
