"""What a call cost, from the one line of a client that timed its own calls."""

from httpdyno.experiments.latency.figures import LatencyRun, LatencySummary
from httpdyno.experiments.latency.judge.timeit import spread
from httpdyno.judge.reference import Expectations
from httpdyno.model import Tally
from httpdyno.model.timed_calls import TimedAnswer, TimedCalls

__all__ = ["summarise_harness", "tally_harness"]


def summarise_harness(timed: TimedCalls) -> LatencySummary:
    """Put what a client timed itself into figures; nobody knows those of its single calls.

    One that an error ended has no figures.
    """
    if not timed.is_ok:
        return LatencySummary(calls=0)
    mean_ns, deviation_ns = spread(timed.per_loop_ns)
    cpu_ns = timed.cpu_per_call_ns
    return LatencySummary(
        calls=len(timed.runs_ns) * (timed.loops or 0) * timed.calls_per_loop,
        loops=timed.loops,
        runs=tuple(map(LatencyRun, timed.per_loop_ns)),
        mean_ns=mean_ns,
        deviation_ns=deviation_ns,
        cpu_per_call_ns=sum(cpu_ns) / len(cpu_ns),
    )


def tally_harness(timed: TimedCalls, expectations: Expectations, *, requests: int | None) -> Tally:
    """Judge the answers that a client says it got, all to the same URL.

    The first row of ``expectations`` counts. ``requests`` is how many reached the origin, None if nobody counted: calls
    beyond that were never made.
    """
    due = expectations.distinct.row(0, named=True)
    calls = dict.fromkeys(("right", "wrong_status", "wrong_length", "false_error"), 0)
    for answer in timed.answers:
        calls[_verdict(answer, status=due["status"], length=due["length"])] += answer.calls
    unseen = 0 if requests is None else max(timed.calls - requests, 0)
    return Tally(
        right=max(calls["right"] - unseen, 0),
        wrong_status=calls["wrong_status"],
        wrong_length=calls["wrong_length"],
        false_error=calls["false_error"],
        wrong_time=unseen,
    )


def _verdict(answer: TimedAnswer, *, status: int | None, length: int | None) -> str:
    if not answer.code.isdecimal():
        return "false_error"
    if int(answer.code) != status:
        return "wrong_status"
    return "right" if answer.body_length == length else "wrong_length"
